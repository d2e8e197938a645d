// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests which thread the calls of ruvd.pattern.v1 run on, and how many of them wait.

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "node/serving/inference.h"
#include "tests/node/async_call.h"
#include "tests/node/holding_executor.h"
#include "tests/node/pattern_service_fixture.h"

namespace ruvd::node {
namespace {

using pattern::v1::DeletePatternRequest;
using pattern::v1::DeletePatternResponse;
using pattern::v1::SearchPatternsRequest;
using pattern::v1::SearchPatternsResponse;

// Embeds at once, on the caller's thread, as the inference thread calls back.
class InstantInference final : public serving::InferenceActor {
 public:
  absl::Status Generate(serving::GenerationJob) override { return absl::UnimplementedError(""); }
  absl::Status Score(serving::ScoreJob,
                     std::function<void(absl::StatusOr<serving::ScoreAnswer>)>) override {
    return absl::UnimplementedError("");
  }
  absl::Status Embed(serving::EmbedJob,
                     std::function<void(absl::StatusOr<serving::EmbedAnswer>)> done) override {
    done(serving::EmbedAnswer{.embedding = {1, 1, 0, 0}});
    return absl::OkStatus();
  }
  absl::Status EmbedList(serving::EmbedListJob,
                         std::function<void(serving::EmbedListAnswer)>) override {
    return absl::UnimplementedError("");
  }
  uint64_t running() const override { return 0; }
};

using Deletion = AsyncCall<DeletePatternRequest, DeletePatternResponse>;
using Upserting = AsyncCall<pattern::v1::UpsertPatternRequest, pattern::v1::UpsertPatternResponse>;
using TextSearch = AsyncCall<SearchPatternsRequest, SearchPatternsResponse>;

// Counts the calls whose end the server has seen.
class EndedCalls {
 public:
  class Interceptor final : public grpc::experimental::Interceptor {
   public:
    explicit Interceptor(EndedCalls* calls) : calls_(calls) {}
    void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
      if (methods->QueryInterceptionHookPoint(
              grpc::experimental::InterceptionHookPoints::POST_RECV_CLOSE)) {
        const std::unique_lock lock(calls_->mutex_);
        ++calls_->count_;
        calls_->changed_.notify_all();
      }
      methods->Proceed();
    }

   private:
    EndedCalls* calls_;
  };
  class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
   public:
    explicit Factory(EndedCalls* calls) : calls_(calls) {}
    grpc::experimental::Interceptor* CreateServerInterceptor(
        grpc::experimental::ServerRpcInfo*) override {
      return new Interceptor(calls_);  // owned by gRPC
    }

   private:
    EndedCalls* calls_;
  };

  void WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t count_ = 0;
};

class PatternLaneTest : public PatternServiceTest {
 protected:
  PatternLaneTest() {
    calls_ = &held_;
    inference_ = &instant_;
  }
  std::unique_ptr<Deletion> AskToDelete(uint64_t n) {
    auto call = std::make_unique<Deletion>();
    call->request.set_id(Id(n));
    stub_->async()->DeletePattern(&call->context, &call->request, &call->response, call->OnEnd());
    return call;
  }

  api::RunningServer Serve(grpc::Service& service) override {
    grpc::ServerBuilder builder;
    api::RunningServer running;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(std::make_unique<EndedCalls::Factory>(&ended_));
    builder.experimental().SetInterceptorCreators(std::move(creators));
    running.server = builder.BuildAndStart();
    running.address = fmt::format("127.0.0.1:{}", port);
    return running;
  }

  HoldingExecutor held_;
  InstantInference instant_;
  EndedCalls ended_;
};

// Regression test: a deletion waits for writers and the disk; on gRPC's threads a few deletions
// stopped everything.
TEST_F(PatternLaneTest, ADeletionWaitsOnTheLaneForTheDisk) {
  ASSERT_TRUE(patterns_->Put({.id = {1}, .embedding = {1, 2, 3, 4}}).ok());
  Deletion call;
  call.request.set_id(ToHex(patterns_->List(1, "")->patterns[0].id));
  stub_->async()->DeletePattern(&call.context, &call.request, &call.response, call.OnEnd());
  held_.WaitFor(1);
  EXPECT_EQ(patterns_->size(), 1u);
  held_.RunAll();
  EXPECT_TRUE(call.End().ok());
  EXPECT_EQ(patterns_->size(), 0u);
}

// Regression test: an import made one fsync for each pattern, and "stored already" was reported for
// a pattern that a power cut then undid.
TEST_F(PatternLaneTest, UpsertsThatComeTogetherShareAnFsync) {
  constexpr size_t kCalls = limits::kMaxWaitingPatternCalls;
  std::vector<std::unique_ptr<Upserting>> calls;
  for (size_t i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<Upserting>());
    auto& call = *calls.back();
    call.request = Some(static_cast<float>(i), Id(i / 2));
    stub_->async()->UpsertPattern(&call.context, &call.request, &call.response, call.OnEnd());
  }
  held_.WaitFor(kCalls);
  held_.RunAll();
  EXPECT_EQ(patterns_->size(), kCalls / 2);
  EXPECT_EQ(held_.size(), 1u) << "one fsync for all of them";
  EXPECT_EQ(ReasonOf(Upsert(Some()).status()), reasons::kMailboxFull) << "they wait still";
  held_.RunAll();
  for (const auto& call : calls) {
    EXPECT_TRUE(call->End().ok());
  }
}

// Regression test: the store was searched on the inference thread, which made no step of a
// completion meanwhile.
TEST_F(PatternLaneTest, ASearchByTextLeavesTheInferenceThread) {
  ASSERT_TRUE(patterns_->Put({.id = {1}, .embedding = {1, 1, 0, 0}}).ok());
  TextSearch call;
  call.request.set_text("a text");
  stub_->async()->SearchPatterns(&call.context, &call.request, &call.response, call.OnEnd());
  held_.WaitFor(1);
  held_.RunAll();
  EXPECT_TRUE(call.End().ok());
  EXPECT_EQ(call.response.hits_size(), 1);
}

TEST_F(PatternLaneTest, OneCallTooManyIsRefusedAndThoseThatNobodyWantsDoNothing) {
  ASSERT_TRUE(patterns_->Put({.id = {1}, .embedding = {1, 2, 3, 4}}).ok());
  const std::string id = ToHex(patterns_->List(1, "")->patterns[0].id);
  std::vector<std::unique_ptr<Deletion>> calls;
  for (size_t i = 0; i < limits::kMaxWaitingPatternCalls; ++i) {
    calls.push_back(std::make_unique<Deletion>());
    calls.back()->request.set_id(id);
    stub_->async()->DeletePattern(&calls.back()->context, &calls.back()->request,
                                  &calls.back()->response, calls.back()->OnEnd());
  }
  held_.WaitFor(limits::kMaxWaitingPatternCalls);
  EXPECT_EQ(ReasonOf(AskToDelete(1)->End()), reasons::kMailboxFull);
  // The deadline has passed already: what waits is cancelled.
  std::thread stop([this] { server_.Shutdown(std::chrono::system_clock::now()); });
  for (const auto& call : calls) {
    EXPECT_FALSE(call->End().ok());
  }
  // The server learns later than the clients that they no longer wait; the refused call has ended
  // as well.
  ended_.WaitFor(calls.size() + 1);
  held_.RunAll();
  stop.join();
  EXPECT_EQ(patterns_->size(), 1u);
}

}  // namespace
}  // namespace ruvd::node
