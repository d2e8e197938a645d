// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/caller.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"

namespace ruvd::api {
namespace {

TEST(CallerTest, TokensTellCallersApartAndConnectionsThoseWithoutOne) {
  EXPECT_EQ(CallerOf("Bearer one", "ipv4:127.0.0.1:1"), CallerOf("Bearer one", "ipv4:127.0.0.1:2"));
  EXPECT_NE(CallerOf("Bearer one", "ipv4:127.0.0.1:1"), CallerOf("Bearer two", "ipv4:127.0.0.1:1"));
  EXPECT_NE(CallerOf("", "ipv4:127.0.0.1:1"), CallerOf("", "ipv4:127.0.0.1:2"));
  EXPECT_EQ(CallerOf("Bearer one", "x").find("one"), std::string::npos) << "a name holds no token";
}

// Shows each call to a test and answers it.
class Service final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    struct Reactor final : grpc::ServerGenericBidiReactor {
      void OnDone() override { delete this; }
    };
    on_call(*context);
    auto* reactor = new Reactor;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  std::function<void(const grpc::CallbackServerContext&)> on_call;
};

TEST(CallerTest, ACallIsUnwantedAfterTheLongestTimeThatItMayCompute) {
  Service service;
  ManualClock clock;
  bool at_first = true;
  bool before = true;
  bool after = false;
  service.on_call = [&](const grpc::CallbackServerContext& context) {
    const auto unwanted = UnwantedOf(context, clock);
    at_first = unwanted();
    clock.Advance(limits::kMaxComputeTime - Duration(1));
    before = unwanted();
    clock.Advance(Duration(1));
    after = unwanted();
  };
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const grpc::Slice nothing("");
  grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  std::promise<void> done;
  stub.UnaryCall(&context, "/any/Method", grpc::StubOptions(), &request, &response,
                 [&done](const grpc::Status&) { done.set_value(); });
  done.get_future().get();
  EXPECT_FALSE(at_first);
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
  server->Shutdown();
}

}  // namespace
}  // namespace ruvd::api
