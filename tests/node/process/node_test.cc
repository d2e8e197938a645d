// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/api/rpc_status.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

TEST_F(NodeTest, StreamsACompletionInOrder) {
  Start();
  auto request = Request("The old man walked", 24);
  request.set_stream_frames(true);
  const Completion completion = Generate(request);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_FALSE(completion.text.empty());
  EXPECT_EQ(completion.started.response_id(), completion.finished.response_id());
  EXPECT_GT(completion.started.prompt_tokens(), 0u);
  ASSERT_FALSE(completion.frames.empty());
  EXPECT_FLOAT_EQ(completion.frames.front().t(), 1.0F);
  EXPECT_EQ(Status().store().trajectories(), 1u);
}

TEST_F(NodeTest, EqualSeedsGiveEqualTextAndModesAllWork) {
  Start();
  for (const auto mode :
       {inference::v1::DECODING_MODE_DIFFUSION, inference::v1::DECODING_MODE_BLOCK,
        inference::v1::DECODING_MODE_AUTOREGRESSIVE}) {
    auto request = Request("In the morning", 20);
    request.mutable_sampling()->set_mode(mode);
    request.mutable_sampling()->set_temperature(0.8F);
    request.mutable_sampling()->set_seed(7);
    const Completion first = Generate(request);
    const Completion second = Generate(request);
    ASSERT_TRUE(first.status.ok()) << first.status;
    EXPECT_EQ(first.text, second.text);
    EXPECT_FALSE(first.text.empty());
  }
}

// Found by a hostile review: without a seed two requests at temperature 1 answered the same text.
TEST_F(NodeTest, UnseededRequestsDiffer) {
  Start();
  auto request = Request("In the morning", 24);
  request.mutable_sampling()->set_temperature(1);
  const Completion first = Generate(request);
  const Completion second = Generate(request);
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_NE(first.finished.seed(), second.finished.seed());
  EXPECT_NE(first.text, second.text);
  request.mutable_sampling()->set_seed(first.finished.seed());
  const Completion again = Generate(request);
  EXPECT_EQ(again.text, first.text);
  EXPECT_EQ(again.finished.seed(), first.finished.seed());
  request.mutable_sampling()->set_seed(0);
  EXPECT_EQ(Generate(request).finished.seed(), 0U) << "0 is a seed as any other";
}

TEST_F(NodeTest, FillsGapsAndGivesLogprobs) {
  Start();
  inference::v1::GenerateRequest request;
  inference::v1::Infill& infill = *request.mutable_infill();
  infill.add_parts()->set_text("The capital of");
  infill.add_parts()->set_gap(3);
  infill.add_parts()->set_text(" is");
  infill.add_parts()->set_gap(4);
  infill.add_parts()->set_text(", a large city.");
  request.mutable_sampling()->set_logprobs(2);
  const Completion completion = Generate(request);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_NE(completion.text.find(" is"), std::string::npos) << completion.text;
  ASSERT_EQ(completion.finished.tokens_size(), 7);
  for (const auto& token : completion.finished.tokens()) {
    EXPECT_LE(token.logprob(), 0);
    EXPECT_EQ(token.likeliest_size(), 2);
  }
  request.mutable_sampling()->set_max_tokens(7);  // the gaps say it
  EXPECT_EQ(ReasonOf(Generate(request).status), reasons::kInvalidArgument);
}

TEST_F(NodeTest, RefusesOptionsThatContradictEachOther) {
  Start();
  auto request = Request("A story", 8);
  request.mutable_sampling()->set_sampler("random");
  request.mutable_sampling()->set_entropy_bound(0.5F);
  const absl::Status status = Generate(request).status;
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  EXPECT_NE(MessageOf(status).find("entropy_bound"), std::string::npos) << MessageOf(status);
}

TEST_F(NodeTest, TheLimitOfNewTokensHolds) {
  config_.inference.max_tokens_limit = 16;
  Start();
  EXPECT_TRUE(Generate(Request("A story", 16)).status.ok());
  const absl::Status status = Generate(Request("A story", 17)).status;
  EXPECT_NE(MessageOf(status).find("max_tokens_limit"), std::string::npos) << MessageOf(status);
}

TEST_F(NodeTest, APromptBeyondTheContextIsRefusedByName) {
  Start();
  std::string prompt;
  for (int i = 0; i < 600; ++i) {
    prompt += " house";
  }
  const Completion completion = Generate(Request(prompt, 16));
  EXPECT_EQ(completion.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(completion.status), reasons::kContextTooLong);
  EXPECT_NE(MessageOf(completion.status).find("512"), std::string::npos)
      << MessageOf(completion.status);
}

TEST_F(NodeTest, ADeadlineStopsTheWork) {
  Start();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(1));
  auto reader = inference::v1::InferenceService::NewStub(channel_)->Generate(
      &context, Request("A long story about", 400));
  inference::v1::GenerateResponse response;
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  while (Status().serving().requests_running() > 0) {  // ends only if the node gives the work up
    std::this_thread::yield();
  }
}

TEST_F(NodeTest, CancellationStopsWorkBetweenSteps) {
  Start();
  auto request = Request("A long story about", 400);
  request.set_stream_frames(true);
  const Completion completion = Generate(request, [] { return false; });
  EXPECT_EQ(completion.status.code(), absl::StatusCode::kCancelled);
  while (Status().serving().requests_running() > 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Status().store().trajectories(), 0u) << "an unfinished completion is not a trajectory";
}

TEST_F(NodeTest, AFullQueueIsRefusedWithARetryHint) {
  config_.inference.queue = 1;
  Start();
  auto request = Request("A long story about", 400);
  request.set_stream_frames(true);
  absl::Status second;
  Generate(request, [&] {
    second = Generate(Request("Another", 8)).status;
    return false;
  });
  EXPECT_EQ(second.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(second), reasons::kMailboxFull);
}

TEST_F(NodeTest, WrongDimensionAndBadIdsAreNamed) {
  Start();
  auto stub = pattern::v1::PatternService::NewStub(channel_);
  pattern::v1::SearchPatternsRequest search;
  search.mutable_embedding()->add_values(1);
  pattern::v1::SearchPatternsResponse found;
  grpc::ClientContext first;
  EXPECT_EQ(ReasonOf(api::FromRpcStatus(stub->SearchPatterns(&first, search, &found))),
            reasons::kWrongDimension);
  pattern::v1::GetPatternRequest get;
  get.set_id("xyz");
  pattern::v1::GetPatternResponse pattern;
  grpc::ClientContext second;
  EXPECT_EQ(stub->GetPattern(&second, get, &pattern).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  get.set_id("00112233445566778899aabbccddeeff");
  grpc::ClientContext third;
  EXPECT_EQ(stub->GetPattern(&third, get, &pattern).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(NodeTest, FeedbackForAnUnknownResponseIsNamed) {
  Start();
  learning::v1::SubmitFeedbackRequest request;
  request.set_response_id("nobody");
  request.set_rating(1);
  learning::v1::SubmitFeedbackResponse response;
  EXPECT_EQ(ReasonOf(Rate(request, &response)), reasons::kUnknownResponse);
}

TEST_F(NodeTest, AMessageBeyondTheLimitIsRefused) {
  Start();
  // The requests have more text than a request may carry, and more bytes than any message may have.
  const Completion text = Generate(Request(std::string(2 << 20, 'x'), 8));
  EXPECT_EQ(text.status.code(), absl::StatusCode::kInvalidArgument) << text.status;
  const Completion message = Generate(Request(std::string(11 << 20, 'x'), 8));
  EXPECT_EQ(message.status.code(), absl::StatusCode::kResourceExhausted) << message.status;
}

TEST_F(NodeTest, LearnsFromAnEditAndRemembersItAfterARestart) {
  Start();
  const std::string prompt = "The lighthouse keeper";
  const std::string wanted =
      " counted the ships every evening and wrote their names in a blue book.";
  const Completion completion = Generate(Request(prompt, 24));
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  learning::v1::SubmitFeedbackRequest request;
  request.set_response_id(completion.finished.response_id());
  request.set_edited_text(wanted);
  request.set_idempotency_key("once");
  learning::v1::SubmitFeedbackResponse answer;
  ASSERT_TRUE(Rate(request, &answer).ok());
  EXPECT_TRUE(answer.learned()) << answer.explanation();
  EXPECT_LT(answer.held_out_loss_after(), answer.held_out_loss_before());
  learning::v1::SubmitFeedbackResponse again;
  ASSERT_TRUE(Rate(request, &again).ok());
  EXPECT_EQ(again.adapter_version(), answer.adapter_version()) << "learned once, answered twice";
  EXPECT_LT(Score(prompt, wanted, true), Score(prompt, wanted, false));
  Restart();
  EXPECT_EQ(Status().patterns().stored(), 1u);
  const Completion adapted = Generate(Request(prompt, 24));
  ASSERT_EQ(adapted.finished.adapters_used_size(), 1);
  EXPECT_EQ(adapted.finished.adapters_used(0).pattern_id(), answer.pattern_id());
  EXPECT_LT(Score(prompt, wanted, true), Score(prompt, wanted, false));
}

// Found by use: clustering all lessons again gave a pattern the lessons of another topic and left
// its own lessons without a pattern.
TEST_F(NodeTest, ANewTopicDoesNotTakeAPatternAwayFromItsLessons) {
  Start();
  const std::vector<std::pair<std::string, std::string>> lessons = {
      {"The lighthouse keeper", " counted the ships every evening and wrote it in a blue book."},
      {"The wind in the morning", " was cold and it blew from the north until noon."},
      {"To restart the broker", ", run the service command and wait for the log line."},
  };
  for (const auto& [prompt, wanted] : lessons) {
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(Generate(Request(prompt, 8)).finished.response_id());
    request.set_edited_text(wanted);
    learning::v1::SubmitFeedbackResponse answer;
    ASSERT_TRUE(Rate(request, &answer).ok());
    ASSERT_TRUE(answer.learned()) << answer.explanation();
  }
  for (const auto& [prompt, wanted] : lessons) {
    EXPECT_LT(Score(prompt, wanted, true), Score(prompt, wanted, false) - 0.2) << prompt;
  }
}

TEST_F(NodeTest, AFullDiskCostsLearningNotServing) {
  config_.storage.reserve_bytes = 1ULL << 60;
  auto node = Node::Start(config_);
  if (!node.ok()) {  // a new store cannot even be created, and the error comes at once
    EXPECT_EQ(ReasonOf(node.status()), reasons::kStoreReadOnly) << node.status();
    config_.storage.reserve_bytes = 2 << 20;
    Start();
    config_.storage.reserve_bytes = 1ULL << 60;
    Restart();
  } else {
    node_ = *std::move(node);
    channel_ = grpc::CreateChannel(node_->api_address(), grpc::InsecureChannelCredentials());
  }
  const Completion completion = Generate(Request("The old man walked", 8));
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_FALSE(completion.text.empty());
  EXPECT_EQ(Status().store().health(), node::v1::STORAGE_HEALTH_READ_ONLY);
  EXPECT_EQ(Status().store().trajectories(), 0u);
}

TEST_F(NodeTest, DrainFinishesAStreamThatRuns) {
  Start();
  auto request = Request("The river", 64);
  request.set_stream_frames(true);
  std::thread drain;
  const Completion completion = Generate(request, [&] {
    if (!drain.joinable()) {
      drain = std::thread([&] { EXPECT_TRUE(node_->Drain(kDrain).ok()); });
    }
    return true;
  });
  drain.join();
  EXPECT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_FALSE(completion.finished.response_id().empty());
  EXPECT_EQ(Generate(Request("After", 8)).status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(NodeTest, ASecondDrainHasNothingLeftToDo) {
  Start();
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  EXPECT_TRUE(node_->Drain(kDrain).ok());
}

TEST_F(NodeTest, AMissingModelIsNamed) {
  config_.model.path = folder_ / "nothing.gguf";
  const absl::Status status = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(status), reasons::kFileNotFound);
  EXPECT_NE(MessageOf(status).find("nothing.gguf"), std::string::npos);
}

TEST_F(NodeTest, ACorruptModelIsNamed) {
  config_.model.path = folder_ / "corrupt.gguf";
  auto bytes = ReadFile(kSmallModel, 64 << 20);
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(WriteFileAtomically(config_.model.path, bytes->substr(0, bytes->size() / 2)).ok());
  EXPECT_EQ(ReasonOf(Node::Start(config_).status()), reasons::kModelCorrupt);
}

TEST_F(NodeTest, GeneralTextThatIsMissingOrTooLittleIsNamed) {
  config_.learning.general_text = folder_ / "general.txt";
  const absl::Status missing = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(missing), reasons::kFileNotFound);
  ASSERT_TRUE(WriteFileAtomically(config_.learning.general_text, "A few words.").ok());
  const absl::Status little = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(little), reasons::kInvalidArgument);
  for (const absl::Status& status : {missing, little}) {
    EXPECT_NE(MessageOf(status).find("learning.general_text"), std::string::npos);
    EXPECT_NE(MessageOf(status).find("general.txt"), std::string::npos);
  }
}

// Lessons are text: another model, whose embeddings have another kind, learns them again.
TEST_F(NodeTest, AnotherModelHasItsOwnPatternsAndLearnsTheOldLessons) {
  Start();
  const std::string prompt = "The lighthouse keeper";
  const std::string wanted = " counted the ships every evening and wrote it in a blue book.";
  const auto teach = [&](const std::string& text) {
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(Generate(Request(prompt, 8)).finished.response_id());
    request.set_edited_text(text);
    learning::v1::SubmitFeedbackResponse answer;
    EXPECT_TRUE(Rate(request, &answer).ok());
    return answer;
  };
  ASSERT_TRUE(teach(wanted).learned());
  const std::string first_model = config_.model.path;
  config_.model.path = kOtherModel;
  Restart();
  EXPECT_EQ(Status().patterns().stored(), 0u);
  const auto answer = teach(wanted);
  EXPECT_TRUE(answer.learned()) << answer.explanation();
  EXPECT_EQ(Status().patterns().stored(), 1u);
  config_.model.path = first_model;
  Restart();
  EXPECT_EQ(Status().patterns().stored(), 1u);
  EXPECT_LT(Score(prompt, wanted, true), Score(prompt, wanted, false));
}

TEST_F(NodeTest, ASecondNodeOnTheSameDataIsRefused) {
  Start();
  EXPECT_EQ(ReasonOf(Node::Start(config_).status()), reasons::kStoreLocked);
}

TEST_F(NodeTest, APortInUseIsNamed) {
  Start();
  config::NodeConfig second = config_;
  second.node.data_dir = folder_ / "second";
  second.api.listen = node_->api_address();
  const absl::Status status = Node::Start(second).status();
  EXPECT_EQ(ReasonOf(status), reasons::kConfigInvalid);
  EXPECT_NE(MessageOf(status).find(node_->api_address()), std::string::npos);
}

}  // namespace
}  // namespace ruvd::node
