// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "node/client/client.h"
#include "node/client/client_credentials.h"
#include "ruvd/adapter/v1/adapter.grpc.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"

// What the sources of NodeClient share; only they include it.
namespace ruvd::client {

struct NodeClient::Stubs {
  Stubs(const std::string& server, const ClientCredentials& credentials);

  // Checks that a call with this message may begin, and sets its deadline.
  absl::Status Begin(const google::protobuf::Message& message, std::chrono::milliseconds timeout,
                     grpc::ClientContext* context) const;

  const absl::Status problem;  // of the credentials
  std::shared_ptr<grpc::Channel> channel;
  adapter::v1::AdapterService::Stub adapters;
  inference::v1::InferenceService::Stub inference;
  learning::v1::LearningService::Stub learning;
  pattern::v1::PatternService::Stub patterns;
  node::v1::StoreService::Stub store;
};

// Turns the end of a call into a status with the reason that the node sent.
absl::Status ToStatus(const grpc::Status& status, const std::string& server);

// Returns the error of a stream that ended well, but without its last event.
absl::Status CutOff(const std::string& server);

}  // namespace ruvd::client
