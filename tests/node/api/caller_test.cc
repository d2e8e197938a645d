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
#include <set>
#include <string>

#include "base/clock.h"

namespace ruvd::api {
namespace {

TEST(CallerTest, TokensTellCallersApart) {
  EXPECT_EQ(HolderOf("Bearer one"), HolderOf("Bearer one"));
  EXPECT_NE(HolderOf("Bearer one"), HolderOf("Bearer two"));
  EXPECT_EQ(HolderOf("Bearer one").find("one"), std::string::npos) << "a name holds no token";
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

class CallerOfCallTest : public ::testing::Test {
 protected:
  // Makes a call over a connection of its own, with the header unless it is empty.
  void Call(const std::string& authorization) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    grpc::GenericStub stub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                     grpc::InsecureChannelCredentials(), own));
    grpc::ClientContext context;
    if (!authorization.empty()) {
      context.AddMetadata("authorization", authorization);
    }
    const grpc::Slice nothing("");
    grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<void> done;
    stub.UnaryCall(&context, "/any/Method", grpc::StubOptions(), &request, &response,
                   [&done](const grpc::Status&) { done.set_value(); });
    done.get_future().get();
  }
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override { server_->Shutdown(); }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

// Found by review: a program that made up tokens or opened connections was a new caller each time.
TEST_F(CallerOfCallTest, WithoutTokensNoConnectionAndNoHeaderMakesANewCaller) {
  std::set<std::string> without_tokens;
  std::set<std::string> with_tokens;
  service_.on_call = [&](const grpc::CallbackServerContext& context) {
    without_tokens.insert(CallerOf(context, /*has_tokens=*/false));
    with_tokens.insert(CallerOf(context, /*has_tokens=*/true));
  };
  Call("");
  Call("Bearer one");
  Call("Bearer two");
  EXPECT_EQ(without_tokens.size(), 1U);
  EXPECT_EQ(with_tokens.size(), 3U);
}

TEST_F(CallerOfCallTest, ACallIsUnwantedAfterTheLongestTimeThatItMayCompute) {
  ManualClock clock;
  bool at_first = true;
  bool before = true;
  bool after = false;
  service_.on_call = [&](const grpc::CallbackServerContext& context) {
    const auto unwanted = UnwantedOf(context, clock);
    at_first = unwanted();
    clock.Advance(limits::kMaxComputeTime - Duration(1));
    before = unwanted();
    clock.Advance(Duration(1));
    after = unwanted();
  };
  Call("");
  EXPECT_FALSE(at_first);
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

}  // namespace
}  // namespace ruvd::api
