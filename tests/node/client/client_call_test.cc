// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "node/client/client.h"
#include "ruvd/adapter/v1/adapter.pb.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "ruvd/witness/v1/witness.pb.h"
#include "tests/node/client/test_server.h"

namespace ruvd::client {
namespace {

using node::v1::GetStatusRequest;
using node::v1::GetStatusResponse;

TEST(MethodPathTest, FindsEveryUnaryMethodByItsMessages) {
  int methods = 0;
  for (const auto* message :
       {node::v1::GetStatusRequest::descriptor(), adapter::v1::GetAdapterRequest::descriptor(),
        cluster::v1::RevokeNodeRequest::descriptor(), inference::v1::EmbedRequest::descriptor(),
        learning::v1::UndoRequest::descriptor(), pattern::v1::GetPatternRequest::descriptor(),
        privacy::v1::GetConsentRequest::descriptor(), witness::v1::GetEntryRequest::descriptor()}) {
    for (int i = 0; i < message->file()->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *message->file()->service(i);
      for (int j = 0; j < service.method_count(); ++j) {
        const google::protobuf::MethodDescriptor& method = *service.method(j);
        if (!method.client_streaming() && !method.server_streaming()) {
          EXPECT_EQ(MethodPath(*method.input_type(), *method.output_type()),
                    fmt::format("/{}/{}", service.full_name(), method.name()));
          ++methods;
        }
      }
    }
  }
  EXPECT_GT(methods, 35);
}

TEST(MethodPathTest, IsEmptyWhereNoMethodHasBothMessages) {
  EXPECT_EQ(
      MethodPath(*GetStatusRequest::descriptor(), *cluster::v1::ListMembersResponse::descriptor()),
      "");
  EXPECT_EQ(MethodPath(*inference::v1::GenerateRequest::descriptor(),
                       *inference::v1::GenerateResponse::descriptor()),
            "")
      << "a stream is no unary method";
}

class OneStatus final : public node::v1::NodeService::Service {
  grpc::Status GetStatus(grpc::ServerContext*, const GetStatusRequest*,
                         GetStatusResponse* response) override {
    response->mutable_node()->set_name("alpha");
    return grpc::Status::OK;
  }
};

class NoUsers final : public node::v1::StoreService::Service {
  grpc::Status EraseUser(grpc::ServerContext*, const node::v1::EraseUserRequest* request,
                         node::v1::EraseUserResponse*) override {
    return {grpc::StatusCode::NOT_FOUND, "no user " + request->user_id()};
  }
};

// A server of C++ sends such a text, and no client can read it.
class UnreadableStatus final : public node::v1::NodeService::Service {
  grpc::Status GetStatus(grpc::ServerContext*, const GetStatusRequest*,
                         GetStatusResponse* response) override {
    response->mutable_node()->set_name("\xFF");
    return grpc::Status::OK;
  }
};

// Sends text, and ends the stream with the last event or without it.
class OneStream final : public inference::v1::InferenceService::Service {
 public:
  explicit OneStream(bool finishes) : finishes_(finishes) {}
  grpc::Status Generate(grpc::ServerContext*, const inference::v1::GenerateRequest*,
                        grpc::ServerWriter<inference::v1::GenerateResponse>* writer) override {
    inference::v1::GenerateResponse event;
    event.mutable_started()->set_prompt_tokens(1);
    writer->Write(event);
    if (finishes_) {
      event.mutable_finished();
      writer->Write(event);
    }
    return grpc::Status::OK;
  }

 private:
  const bool finishes_;
};

// Takes no file at first, as a node does while four others arrive.
class BusyLessons final : public learning::v1::LearningService::Service {
 public:
  explicit BusyLessons(int refusals) : refusals_(refusals) {}
  grpc::Status AddLessons(grpc::ServerContext*,
                          grpc::ServerReader<learning::v1::AddLessonsRequest>* reader,
                          learning::v1::AddLessonsResponse* response) override {
    if (++calls <= refusals_) {
      return ErrorWithReason(grpc::StatusCode::RESOURCE_EXHAUSTED, reasons::kMailboxFull);
    }
    learning::v1::AddLessonsRequest request;
    while (reader->Read(&request)) {
    }
    response->set_added(7);
    return grpc::Status::OK;
  }

  std::atomic<int> calls = 0;

 private:
  const int refusals_;
};

absl::Status GenerateFrom(OneStream& service) {
  TestServer server({&service});
  return server.client().Generate(inference::v1::GenerateRequest(), [](const auto&) {});
}

// Found by review: `ruvd run` ended with success although its answer was cut off.
TEST(NodeClientTest, AStreamWithoutItsLastEventIsAnError) {
  OneStream whole(true);
  EXPECT_EQ(GenerateFrom(whole), absl::OkStatus());
  OneStream cut(false);
  EXPECT_TRUE(absl::IsDataLoss(GenerateFrom(cut)));
}

// The bug: such an answer counted as an empty one, and the call as a success.
TEST(NodeClientTest, AnAnswerThatCannotBeReadIsAnError) {
  UnreadableStatus service;
  TestServer server({&service});
  NodeClient& client = server.client();
  EXPECT_FALSE(client.Call<GetStatusResponse>(GetStatusRequest()).ok());
}

// Found by federate_nodes on a busy machine: a folder of many small files was refused in the
// middle, because the node had not ended the calls before.
TEST(NodeClientTest, AFileWaitsWhileTheNodeTakesNoMore) {
  BusyLessons service(2);
  TestServer server({&service});
  NodeClient& client = server.client();
  learning::v1::LessonFile file;
  file.set_bytes(4);
  const auto added = client.AddLessons(file, "text");
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->added(), 7U);
  EXPECT_EQ(service.calls, 3);
  client.set_timeout(std::chrono::milliseconds(0));
  service.calls = 0;
  EXPECT_FALSE(client.AddLessons(file, "text").ok()) << "it does not wait beyond the timeout";
}

TEST(NodeClientTest, CallsTheMethodOfTheRequest) {
  OneStatus nodes;
  NoUsers users;
  TestServer server({&nodes, &users});
  NodeClient& client = server.client();
  const auto status = client.Call<GetStatusResponse>(GetStatusRequest());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->node().name(), "alpha");
  node::v1::EraseUserRequest erase;
  erase.set_user_id("u");
  const absl::Status refused = client.Call<node::v1::EraseUserResponse>(erase).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  erase.set_user_id("\xFF");
  EXPECT_EQ(ReasonOf(client.Call<node::v1::EraseUserResponse>(erase).status()),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::client
