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
#include "node/api/callers.h"

namespace ruvd::api {
namespace {

TEST(CallerTest, TheIdsOfAKeyAreItsOwn) {
  EXPECT_EQ(OwnId({.name = "key:web", .owner = "web"}, "ann"), "web:ann");
  EXPECT_EQ(OwnId({.name = "key:web", .owner = "web"}, ""), "") << "no user";
  EXPECT_EQ(OwnId({.name = "key:boss"}, "web:ann"), "web:ann") << "an admin names the whole id";
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

// Found by review: a program that made up keys or opened connections was a new caller each time.
TEST_F(CallerOfCallTest, WithoutKeysNoConnectionAndNoHeaderMakesANewCaller) {
  const Callers callers(nullptr, SystemClock());
  std::set<std::string> names;
  service_.on_call = [&](const grpc::CallbackServerContext& context) {
    const auto call = AdmitCall(&callers, context);
    ASSERT_TRUE(call.ok()) << call.status();
    EXPECT_EQ((*call)->caller().owner, "");
    names.insert((*call)->caller().name);
  };
  Call("");
  Call("Bearer one");
  Call("Bearer two");
  EXPECT_EQ(names.size(), 1U);
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
