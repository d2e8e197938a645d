// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the instant, the background and the deep loop beside requests, feedback, undo, pauses and an
// erasure, all at once, so that ThreadSanitizer sees the whole of learning.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ruvd/node/v1/node.grpc.pb.h"
#include "tests/node/node_fixture.h"
#include "tests/node/stream_result.h"

namespace ruvd::node {
namespace {

constexpr int kClients = 3;
constexpr int kRequests = 8;  // of each client
constexpr int kTeachers = 5;  // users whose lessons exist from the beginning
// More undos would leave deep rounds too few lessons, since what was undone is not taught again.
constexpr int kMaxUndone = 3;

using learning::v1::LearningService;

class LoopsUnderLoadTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.experimental.session_memory = true;
    tuning_.round_after_ratings = 3;
    tuning_.round_after = std::chrono::seconds(1);
    tuning_.background.training.steps = 2;
    tuning_.deep.steps = 3;
    tuning_.deep.rank = 2;
    config_.experimental.dgr = "entropy";
  }

  // Sends requests of a session and edits the answers; another thread undoes some of these changes.
  void BeAUser(int number) {
    for (int i = 0; i < kRequests; ++i) {
      auto request = Request("The ship left the harbour of town " + std::to_string(i), 8);
      request.set_session_id("session-" + std::to_string(number));
      request.set_user_id("user-" + std::to_string(number));
      request.mutable_sampling()->set_steps(4);
      const Completion completion = Generate(request);
      Expect(completion.status, {});
      learning::v1::SubmitFeedbackRequest feedback;
      feedback.set_response_id(completion.finished.response_id());
      feedback.set_idempotency_key(request.session_id() + std::to_string(i));
      if (i % 2 == 0) {
        feedback.set_edited_text(" and sailed to the islands in the north.");
      } else {
        feedback.set_rating(i % 4 == 1 ? 1.0F : 0.0F);
      }
      learning::v1::SubmitFeedbackResponse answer;
      // The completions of an erased user are gone, and a pause ends a round that feedback waits
      // for.
      Expect(Rate(feedback, &answer), {absl::StatusCode::kNotFound, absl::StatusCode::kCancelled});
      answers_.fetch_add(1);
    }
  }

  template <typename Response, typename Call>
  absl::Status Ask(const Call& call, Response* response) {
    grpc::ClientContext context;
    const auto stub = LearningService::NewStub(channel_);
    return api::FromRpcStatus(call(*stub, context, response));
  }

  void LearnDeep() {
    while (!ended_) {
      grpc::ClientContext context;
      const auto stub = LearningService::NewStub(channel_);
      const auto result = test::ResultOf(stub->RunDeep(&context, learning::v1::RunDeepRequest()));
      Expect(result.status(), {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kCancelled,
                               absl::StatusCode::kAborted});
      deep_rounds_.fetch_add(result.ok() && result->steps() > 0 ? 1 : 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  void LearnInBackground() {
    while (!ended_) {
      learning::v1::RunBackgroundRequest request;
      request.set_replay(true);
      grpc::ClientContext context;
      const auto stub = LearningService::NewStub(channel_);
      Expect(test::ResultOf(stub->RunBackground(&context, request)).status(),
             {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kCancelled});
      background_rounds_.fetch_add(1);
    }
  }

  learning::v1::ListChangesResponse ListChanges() {
    learning::v1::ListChangesResponse changes;
    Expect(Ask(
               [](LearningService::Stub& stub, grpc::ClientContext& context, auto* out) {
                 return stub.ListChanges(&context, learning::v1::ListChangesRequest(), out);
               },
               &changes),
           {});
    return changes;
  }

  void UndoNewest() {
    const learning::v1::ListChangesResponse changes = ListChanges();
    const auto newest =
        std::ranges::find_if(changes.changes(), &learning::v1::Change::can_be_undone);
    if (newest == changes.changes().end()) {
      return;
    }
    learning::v1::UndoRequest request;
    request.set_undo_token(newest->undo_token());
    learning::v1::UndoResponse undone;
    const absl::Status status = Ask([&](LearningService::Stub& stub, grpc::ClientContext& context,
                                        auto* out) { return stub.Undo(&context, request, out); },
                                    &undone);
    Expect(status, {absl::StatusCode::kNotFound, absl::StatusCode::kFailedPrecondition});
    undone_ += status.ok() ? 1 : 0;
  }

  // Undoes the newest change, reads everything, pauses and resumes.
  void Operate() {
    for (int i = 0; !ended_; ++i) {
      if (undone_ < kMaxUndone) {
        UndoNewest();
      }
      ListChanges();
      Status();
      if (i % 32 == 31 && !served_) {
        learning::v1::PauseLearningResponse paused;
        Expect(Ask(
                   [](LearningService::Stub& stub, grpc::ClientContext& context, auto* out) {
                     return stub.PauseLearning(&context, learning::v1::PauseLearningRequest(), out);
                   },
                   &paused),
               {});
        Resume();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  void Resume() {
    learning::v1::ResumeLearningResponse resumed;
    Expect(Ask(
               [](LearningService::Stub& stub, grpc::ClientContext& context, auto* out) {
                 return stub.ResumeLearning(&context, learning::v1::ResumeLearningRequest(), out);
               },
               &resumed),
           {});
  }

  // Keeps the first status that is neither OK nor one of these.
  void Expect(const absl::Status& status, const std::vector<absl::StatusCode>& allowed) {
    if (!status.ok() && std::ranges::count(allowed, status.code()) == 0) {
      const std::lock_guard lock(mutex_);
      unexpected_.Update(status);
    }
  }

  std::atomic<bool> served_{false};  // true: no thread pauses any more, so rounds end
  std::atomic<bool> ended_{false};
  std::atomic<int> answers_{0};
  std::atomic<int> deep_rounds_{0};
  std::atomic<int> background_rounds_{0};
  std::atomic<int> undone_{0};
  std::mutex mutex_;
  absl::Status unexpected_;
};

TEST_F(LoopsUnderLoadTest, AllLoopsLearnWhileTheNodeServesUndoesAndErases) {
  Start();
  // There are enough lessons for deep rounds from the beginning.
  learning::v1::PauseLearningResponse paused;
  ASSERT_TRUE(Ask(
                  [](LearningService::Stub& stub, grpc::ClientContext& context, auto* out) {
                    return stub.PauseLearning(&context, learning::v1::PauseLearningRequest(), out);
                  },
                  &paused)
                  .ok());
  for (int number = 0; number < kTeachers; ++number) {
    BeAUser(kClients + number);
  }
  ASSERT_TRUE(unexpected_.ok()) << unexpected_;
  Resume();

  std::vector<std::thread> loops;
  loops.emplace_back([this] { LearnDeep(); });
  loops.emplace_back([this] { LearnInBackground(); });
  loops.emplace_back([this] { Operate(); });
  std::vector<std::thread> users;
  for (int number = 0; number < kClients; ++number) {
    users.emplace_back([this, number] { BeAUser(number); });
  }
  node::v1::EraseUserRequest erase;
  erase.set_user_id("user-" + std::to_string(kClients));  // a user who taught
  node::v1::EraseUserResponse erased;
  grpc::ClientContext context;
  Expect(api::FromRpcStatus(
             node::v1::StoreService::NewStub(channel_)->EraseUser(&context, erase, &erased)),
         {});
  for (std::thread& user : users) {
    user.join();
  }
  served_ = true;
  for (int i = 0; i < 600 && (deep_rounds_ == 0 || background_rounds_ == 0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  ended_ = true;
  Resume();
  for (std::thread& loop : loops) {
    loop.join();
  }
  EXPECT_TRUE(unexpected_.ok()) << unexpected_;
  EXPECT_EQ(answers_, (kClients + kTeachers) * kRequests);
  EXPECT_GT(deep_rounds_, 0);
  EXPECT_GT(background_rounds_, 0);
  EXPECT_GT(undone_, 0);
  EXPECT_TRUE(node_->Drain(kDrain).ok());
}

}  // namespace
}  // namespace ruvd::node
