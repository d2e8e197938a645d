// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <csignal>
#include <future>
#include <thread>

#include "tests/e2e/cluster_fixture.h"

namespace ruvd::cli {
namespace {

using Durability = ClusterTest;

TEST_F(Durability, AcknowledgedPatternsSurviveAKill) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  const double before = Loss(0, TourLessons()[0]);
  std::vector<std::string> acknowledged;
  for (const TourLesson& lesson : TourLessons()) {
    const std::string pattern = Teach(0, lesson);
    if (!pattern.empty()) {
      acknowledged.push_back(pattern);
    }
  }
  ASSERT_FALSE(acknowledged.empty());
  // The process ends as soon as the last lesson is acknowledged.
  EXPECT_EQ(Stop(0, SIGKILL).signal, SIGKILL);
  Restart(0);
  for (const std::string& id : acknowledged) {
    const auto found = HasPattern(client(0), id);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(*found) << id;
  }
  EXPECT_LT(Loss(0, TourLessons()[0]), before);
}

TEST_F(Durability, AStreamEndsBeforeItsNodeStops) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  std::promise<void> started;
  inference::v1::Finished finished;
  absl::Status streamed;
  std::thread stream([&] {
    bool first = true;
    inference::v1::GenerateRequest request;
    request.set_prompt(std::string(TourLessons()[0].prompt));
    request.mutable_sampling()->set_max_tokens(64);
    streamed = client(0).Generate(request, [&](const auto& event) {
      if (std::exchange(first, false)) {
        started.set_value();
      }
      if (event.has_finished()) {
        finished = event.finished();
      }
    });
    if (first) {
      started.set_value();
    }
  });
  started.get_future().wait();
  const ExitReport report = Stop(0, SIGTERM);
  stream.join();
  EXPECT_TRUE(streamed.ok()) << streamed;
  EXPECT_GT(finished.usage().completion_tokens(), 0U);
  EXPECT_EQ(report.Describe(), "exit code 0");
}

TEST_F(Durability, MembersNoticeAKillAndAReturn) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(2));
  AwaitMembers(0, 2);
  Stop(1, SIGKILL);
  AwaitMembers(0, 1);
  const auto finished = Complete(client(0), TourLessons()[0].prompt, nullptr);
  EXPECT_TRUE(finished.ok()) << finished.status();
  Restart(1);
  AwaitMembers(0, 2);
}

}  // namespace
}  // namespace ruvd::cli
