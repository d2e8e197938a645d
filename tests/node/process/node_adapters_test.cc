// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests LoRA files (inference.adapters) in a whole node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "tests/inference/text_model.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using inference::v1::AdapterChoice;
using inference::v1::GenerateRequest;
using ::testing::HasSubstr;

class NodeAdaptersTest : public NodeTest {
 protected:
  // Writes a random adapter of the model's attention as a LoRA file.
  std::string AdapterFile(const std::string& name, uint64_t seed) {
    const auto model = inference::Model::Load(kSmallModel).value();
    const std::string target = "blk.1.attn_output.weight";
    inference::Adapter adapter =
        *test::RandomAdapter(*model, {{target, inference::FindMatrix(*model, target)}}, seed);
    adapter.name = name;
    const std::string path = folder_ / (name + ".gguf");
    EXPECT_TRUE(inference::SaveAdapterFile(adapter, *model, path).ok());
    return path;
  }
  static GenerateRequest Plain() {
    GenerateRequest request = Request("The old man walked", 16);
    request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_DIFFUSION);
    return request;
  }
  static AdapterChoice& Choose(GenerateRequest* request, const std::string& name, float weight) {
    AdapterChoice& choice = *request->mutable_adapters()->add_chosen();
    choice.set_name(name);
    choice.set_weight(weight);
    return choice;
  }
  std::string Text(const GenerateRequest& request) {
    const Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    return completion.text;
  }
  std::string BaseText() {
    GenerateRequest request = Plain();
    request.mutable_adapters()->set_disabled(true);
    return Text(request);
  }
  absl::Status StartFailure(const std::vector<std::string>& adapters) {
    config_.inference.adapters = adapters;
    return Node::Start(config_).status();
  }
};

// Found by review: only tests read LoRA files.
TEST_F(NodeAdaptersTest, LoadedFilesActOnRequestsThatChooseNothing) {
  config_.inference.adapters = {AdapterFile("one", 1)};
  Start();
  const Completion adapted = Generate(Plain());
  ASSERT_EQ(adapted.finished.adapters_used_size(), 1);
  EXPECT_EQ(adapted.finished.adapters_used(0).name(), "one");
  EXPECT_EQ(adapted.finished.adapters_used(0).weight(), 1.0F);
  EXPECT_NE(adapted.text, BaseText());
  EXPECT_NE(Score("The sea", " was calm.", true), Score("The sea", " was calm.", false));
  GenerateRequest none = Plain();
  Choose(&none, "one", 0);
  EXPECT_EQ(Text(none), BaseText());
}

TEST_F(NodeAdaptersTest, ARequestChoosesByNameAndWeight) {
  config_.inference.adapters = {AdapterFile("one", 1) + "=0", AdapterFile("two", 2) + "=0"};
  Start();
  EXPECT_EQ(Text(Plain()), BaseText()) << "loaded with weight zero: for those who ask";
  GenerateRequest one = Plain();
  Choose(&one, "one", 1);
  GenerateRequest two = Plain();
  Choose(&two, "two", 1);
  EXPECT_NE(Text(one), BaseText());
  EXPECT_NE(Text(one), Text(two));
  Choose(&one, "two", 0.5F);
  const Completion both = Generate(one);
  ASSERT_EQ(both.finished.adapters_used_size(), 2);
  EXPECT_EQ(both.finished.adapters_used(1).weight(), 0.5F);
}

// Each denoising step has the mix for its t.
TEST_F(NodeAdaptersTest, ARangeOfTimesLimitsTheSteps) {
  config_.inference.adapters = {AdapterFile("one", 1) + "=0"};
  Start();
  GenerateRequest always = Plain();
  Choose(&always, "one", 1);
  GenerateRequest halves = Plain();
  Choose(&halves, "one", 1).set_t_max(0.5F);
  GenerateRequest late = halves;
  Choose(&halves, "one", 1).set_t_min(0.5F);
  GenerateRequest never = Plain();
  Choose(&never, "one", 1).set_t_max(0.01F);
  EXPECT_EQ(Text(halves), Text(always)) << "the two ranges leave no step out";
  EXPECT_NE(Text(late), Text(always));
  EXPECT_NE(Text(late), BaseText());
  EXPECT_EQ(Text(never), BaseText()) << "t is never below one masked position";
}

TEST_F(NodeAdaptersTest, WorksBesideWhatWasLearned) {
  config_.inference.adapters = {AdapterFile("one", 1) + "=0.1"};
  Start();
  learning::v1::SubmitFeedbackRequest lesson;
  lesson.set_response_id(Generate(Request("The lighthouse keeper", 8)).finished.response_id());
  lesson.set_edited_text(" counted the ships every evening and wrote it in a blue book.");
  learning::v1::SubmitFeedbackResponse answer;
  ASSERT_TRUE(Rate(lesson, &answer).ok());
  ASSERT_TRUE(answer.learned()) << answer.explanation();
  const Completion adapted = Generate(Request("The lighthouse keeper", 8));
  ASSERT_EQ(adapted.finished.adapters_used_size(), 2);
  EXPECT_EQ(adapted.finished.adapters_used(0).name(), "one");
  EXPECT_EQ(adapted.finished.adapters_used(1).pattern_id(), answer.pattern_id());
}

TEST_F(NodeAdaptersTest, WhatCannotBeChosenIsNamed) {
  config_.inference.adapters = {AdapterFile("one", 1)};
  Start();
  GenerateRequest unknown = Plain();
  Choose(&unknown, "two", 1);
  const absl::Status status = Generate(unknown).status;
  EXPECT_EQ(ReasonOf(status), reasons::kNotFound);
  EXPECT_THAT(MessageOf(status), HasSubstr("loaded adapters: one"));
  GenerateRequest empty = Plain();
  Choose(&empty, "one", 1).set_t_min(1);
  EXPECT_EQ(ReasonOf(Generate(empty).status), reasons::kInvalidArgument);
  GenerateRequest heavy = Plain();
  Choose(&heavy, "one", 1e9F);
  EXPECT_EQ(ReasonOf(Generate(heavy).status), reasons::kInvalidArgument);
  GenerateRequest both = Plain();
  Choose(&both, "one", 1);
  both.mutable_adapters()->set_disabled(true);
  EXPECT_EQ(ReasonOf(Generate(both).status), reasons::kInvalidArgument);
}

TEST_F(NodeAdaptersTest, FilesAreCheckedAtTheStart) {
  const std::string file = AdapterFile("one", 1);
  EXPECT_EQ(ReasonOf(StartFailure({folder_ / "nothing.gguf"})), reasons::kFileNotFound);
  EXPECT_EQ(ReasonOf(StartFailure({file, file})), reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOf(StartFailure({file + "=1e9"})), reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOf(StartFailure({std::string(kSmallModel)})), reasons::kAdapterInvalid);
  config_.model.path = kOtherModel;
  EXPECT_EQ(ReasonOf(StartFailure({file})), reasons::kAdapterForOtherModel);
}

}  // namespace
}  // namespace ruvd::node
