// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a session is taught by feedback changes its next completion at once.

#include <gmock/gmock.h>

#include "tests/node/node_fixture.h"

namespace ruvd {
namespace {

constexpr char kPrompt[] = "The old man walked";

class NodeInstantTest : public NodeTest {
 protected:
  Completion Say(const std::string& session, std::optional<bool> memory) {
    auto request = Request(kPrompt, 8);
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
  // Nobody else is taught, and who does not ask for it is not changed.
  EXPECT_EQ(Say("other", true).text, first.text);
  EXPECT_EQ(Say("s", false).text, first.text);
  EXPECT_EQ(Say("s", std::nullopt).text, first.text);
}

TEST_F(NodeInstantTest, IsOffUnlessAskedForOrConfigured) {
  config_.learning.enabled = false;
  Start();
  EXPECT_EQ(Edit(Say("s", std::nullopt), " another text"), 0U);
  node_.reset();
  config_.learning.instant = true;
  Start();
  EXPECT_GT(Edit(Say("s", std::nullopt), " another text"), 0U);
  EXPECT_EQ(Edit(Say("s", false), " another text"), 0U);
  EXPECT_EQ(Edit(Say("", std::nullopt), " another text"), 0U);
}

}  // namespace
}  // namespace ruvd
