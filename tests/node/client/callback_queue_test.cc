// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/callback_queue.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "node/client/client.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"

namespace ruvd::client {
namespace {

using pattern::v1::UpsertPatternRequest;
using pattern::v1::UpsertPatternResponse;

class TakesAnyPattern final : public pattern::v1::PatternService::Service {
  grpc::Status UpsertPattern(grpc::ServerContext*, const UpsertPatternRequest*,
                             UpsertPatternResponse*) override {
    return grpc::Status::OK;
  }
};

// Regression test: PatternTransferTest.ANodeThatDoesNotTellItsCapacityTakesAnImport, and with it
// `ruvd pattern import`, sometimes aborted at the end: gRPC ended its queue of callbacks with the
// last channel that used it. The server here answers without callbacks, like one of another
// process.
TEST(CallbackQueueTest, OutlivesTheLastChannelThatUsedIt) {
  for (int round = 0; round < 100; ++round) {
    TakesAnyPattern service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    NodeClient client("127.0.0.1:" + std::to_string(port));
    std::vector<std::promise<bool>> answers(8);
    for (std::promise<bool>& answer : answers) {
      client.StartUpsertPattern(std::make_shared<const UpsertPatternRequest>(),
                                [&answer](const absl::StatusOr<UpsertPatternResponse>& response) {
                                  answer.set_value(response.ok());
                                });
    }
    for (std::promise<bool>& answer : answers) {
      EXPECT_TRUE(answer.get_future().get());
    }
  }
}

}  // namespace
}  // namespace ruvd::client
