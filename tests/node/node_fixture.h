// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "node/admission/identity.h"
#include "node/api/rpc_status.h"
#include "node/process/node.h"
#include "node/process/node_tuning.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/paths.h"

namespace ruvd {

namespace fs = std::filesystem;

inline const std::string kSmallModel = test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
inline const std::string kOtherModel = test::SourceDir() + "/deploy/models/ruvdllm-29m.q8_0.gguf";
// A sanitizer build on a busy machine takes a hundred times as long as a release build.
inline constexpr Duration kDrain = std::chrono::seconds(120);

// Runs a node in this process, with a folder of its own for every test.
class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    config_.node.name = "a";
    config_.node.data_dir = folder_ / "data";
    config_.api.listen = "127.0.0.1:0";
    config_.api.http_listen = "";  // tests of it set it
    config_.model.path = kSmallModel;
    config_.inference.threads = 1;
    config_.storage.reserve_bytes = 2 << 20;
  }
  void TearDown() override {
    node_.reset();
    fs::remove_all(folder_);
  }

  void Start() {
    auto node = node::Node::StartTuned(config_, tuning_);
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
    channel_ = grpc::CreateChannel(node_->api_address(), grpc::InsecureChannelCredentials());
  }
  void Restart() {
    ASSERT_TRUE(node_->Drain(kDrain).ok());
    node_.reset();
    Start();
  }

  struct Completion {
    absl::Status status;
    inference::v1::Started started;
    inference::v1::Finished finished;
    std::string text;
    std::vector<inference::v1::DenoiseFrame> frames;
  };
  // `on_event` returns false to cancel the call.
  Completion Generate(const inference::v1::GenerateRequest& request,
                      const std::function<bool()>& on_event = nullptr) {
    grpc::ClientContext context;
    auto stub = inference::v1::InferenceService::NewStub(channel_);
    auto reader = stub->Generate(&context, request);
    Completion completion;
    inference::v1::GenerateResponse response;
    while (reader->Read(&response)) {
      completion.text += response.text_delta().text();
      if (response.has_started()) {
        completion.started = response.started();
      } else if (response.has_denoise_frame()) {
        completion.frames.push_back(response.denoise_frame());
      } else if (response.has_finished()) {
        completion.finished = response.finished();
      }
      if (on_event != nullptr && !on_event()) {
        context.TryCancel();
      }
    }
    completion.status = api::FromRpcStatus(reader->Finish());
    return completion;
  }
  static inference::v1::GenerateRequest Request(const std::string& prompt, uint32_t tokens) {
    inference::v1::GenerateRequest request;
    request.set_prompt(prompt);
    request.mutable_sampling()->set_max_tokens(tokens);
    return request;
  }
  // Returns a request that fills one gap between two texts.
  static inference::v1::GenerateRequest Infilling(const std::string& before, uint32_t gap,
                                                  const std::string& after) {
    inference::v1::GenerateRequest request;
    request.mutable_infill()->add_parts()->set_text(before);
    request.mutable_infill()->add_parts()->set_gap(gap);
    request.mutable_infill()->add_parts()->set_text(after);
    return request;
  }
  absl::StatusOr<inference::v1::EmbedResponse> Embed(const std::vector<std::string>& texts) {
    inference::v1::EmbedRequest request;
    request.mutable_texts()->Assign(texts.begin(), texts.end());
    inference::v1::EmbedResponse response;
    grpc::ClientContext context;
    RETURN_IF_ERROR(api::FromRpcStatus(
        inference::v1::InferenceService::NewStub(channel_)->Embed(&context, request, &response)));
    return response;
  }
  absl::Status Rate(const learning::v1::SubmitFeedbackRequest& request,
                    learning::v1::SubmitFeedbackResponse* response) {
    grpc::ClientContext context;
    return api::FromRpcStatus(learning::v1::LearningService::NewStub(channel_)->SubmitFeedback(
        &context, request, response));
  }
  double Score(const std::string& prompt, const std::string& completion, bool adapters) {
    inference::v1::ScoreRequest request;
    request.set_prompt(prompt);
    request.set_completion(completion);
    request.set_samples(16);
    request.set_seed(99);
    request.mutable_adapters()->set_disabled(!adapters);
    request.set_without_memory(true);  // which has tests of its own
    inference::v1::ScoreResponse response;
    grpc::ClientContext context;
    const auto status =
        inference::v1::InferenceService::NewStub(channel_)->Score(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.nats_per_token();
  }
  node::v1::GetStatusResponse Status() {
    node::v1::GetStatusResponse response;
    grpc::ClientContext context;
    const auto status = node::v1::NodeService::NewStub(channel_)->GetStatus(
        &context, node::v1::GetStatusRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  // Returns what the status says of a limit; empty if it does not know the limit.
  node::v1::LimitStatus Limit(std::string_view name) {
    const node::v1::GetStatusResponse status = Status();
    const auto found = std::ranges::find(status.limits(), name, &node::v1::LimitStatus::name);
    return found == status.limits().end() ? node::v1::LimitStatus() : *found;
  }
  // Returns what is wrong with a part of the node, "" if it works.
  std::string ProblemOf(std::string_view part) {
    const node::v1::GetStatusResponse status = Status();
    for (const node::v1::PartStatus& known : status.parts()) {
      if (known.name() == part) {
        return known.problem();
      }
    }
    ADD_FAILURE() << "no part " << part;
    return "";
  }
  // Returns what grpc.health.v1 says of a service; "" is the whole node.
  bool Serves(const std::string& service) {
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    grpc::ClientContext context;
    const auto status =
        grpc::health::v1::Health::NewStub(channel_)->Check(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

  fs::path folder_;
  config::NodeConfig config_;
  node::NodeTuning tuning_;
  std::unique_ptr<node::Node> node_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace ruvd
