// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedback teaches a session, which changes its next completion at once.

#include <gmock/gmock.h>

#include <sstream>

#include "node/program/program.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

constexpr char kInstantPrompt[] = "The old man walked";

class NodeInstantTest : public NodeTest {
 protected:
  Completion Say(const std::string& session, std::optional<bool> memory) {
    auto request = Request(kInstantPrompt, 8);
    request.set_session_id(session);
    request.mutable_sampling()->set_ignore_end_of_text(true);
    request.mutable_adapters()->set_disabled(true);  // a background round may learn it as well
    if (memory.has_value()) {
      request.set_session_memory(*memory);
    }
    Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    return completion;
  }
  uint32_t Edit(const Completion& completion, const std::string& text) {
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(completion.finished.response_id());
    request.set_edited_text(text);
    learning::v1::SubmitFeedbackResponse response;
    EXPECT_TRUE(Rate(request, &response).ok());
    return response.session_lessons();
  }
};

TEST_F(NodeInstantTest, AnEditTeachesTheSessionAtOnce) {
  config_.learning.enabled = false;
  Start();
  const Completion first = Say("s", true);
  const std::string wanted = " straight into the red kitchen again tonight";
  ASSERT_GT(Edit(first, wanted), 0U);
  const Completion again = Say("s", true);
  EXPECT_NE(again.text, first.text);
  // No other session is taught, and a request that does not ask for it is not changed.
  EXPECT_EQ(Say("other", true).text, first.text);
  EXPECT_EQ(Say("s", false).text, first.text);
  EXPECT_EQ(Say("s", std::nullopt).text, first.text);
}

// Found by review: the tokens of a stop string were taught or rejected, although no user saw them.
TEST_F(NodeInstantTest, WhatAStopStringCutAwayTeachesNothing) {
  config_.learning.enabled = false;
  Start();
  const std::string text = Say("s", true).text;
  const size_t space = text.find(' ', text.size() / 2);
  ASSERT_NE(space, std::string::npos);
  auto request = Request(kInstantPrompt, 8);
  request.set_session_id("s");
  request.set_session_memory(true);
  request.mutable_adapters()->set_disabled(true);
  request.mutable_sampling()->set_ignore_end_of_text(true);
  request.mutable_sampling()->add_stop(text.substr(space, 3));
  const Completion completion = Generate(request);
  ASSERT_EQ(completion.finished.reason(), inference::v1::FINISH_REASON_STOP);
  ASSERT_FALSE(completion.text.empty());
  const uint32_t lessons = Edit(completion, completion.text);
  EXPECT_GT(lessons, 0U);
  EXPECT_LT(lessons, completion.finished.usage().completion_tokens());
}

TEST_F(NodeInstantTest, IsOffUnlessAskedForOrConfigured) {
  config_.learning.enabled = false;
  Start();
  EXPECT_EQ(Edit(Say("s", std::nullopt), " another text"), 0U);
  node_.reset();
  config_.experimental.session_memory = true;
  Start();
  EXPECT_GT(Edit(Say("s", std::nullopt), " another text"), 0U);
  EXPECT_EQ(Edit(Say("s", false), " another text"), 0U);
  EXPECT_EQ(Edit(Say("", std::nullopt), " another text"), 0U);
}

// Regression test: `ruvd run` sent false where neither flag was passed, so the configuration had no
// effect.
TEST_F(NodeInstantTest, ARunWithoutTheFlagLeavesSessionMemoryToTheNode) {
  config_.learning.enabled = false;
  config_.experimental.session_memory = true;
  Start();
  const auto run = [this](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {
        "run",     kInstantPrompt, "--server", node_->api_address(), "--no-adapters",
        "--quiet", "--max-tokens", "8",        "--ignore-end",       "--session",
        "s"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::ostringstream out;
    std::ostringstream err;
    cli::CommandContext context{.out = out, .err = err, .environment = {}};
    EXPECT_EQ(RunProgram(arguments, context), 0) << err.str();
    return out.str();
  };
  const std::string untaught = run({});
  ASSERT_GT(Edit(Say("s", std::nullopt), " straight into the red kitchen again tonight"), 0U);
  EXPECT_NE(run({}), untaught);
  EXPECT_NE(run({"--session-memory"}), untaught);
  EXPECT_EQ(run({"--no-session-memory"}), untaught);
}

}  // namespace
}  // namespace ruvd::node
