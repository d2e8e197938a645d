// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/port_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "node/reasons.h"

namespace ruvd::node {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transport::DialResult;
using transport::PortSign;

class PortWatchdogTest : public ::testing::Test {
 protected:
  static constexpr int kFailures = 3;

  WatchedPort Port(std::string name, DialResult& result) {
    return {.name = std::move(name), .dial = [this, &result] {
              ++dials_;
              return result;
            }};
  }
  std::string ProblemOf(const std::string& part) const {
    for (const PartHealth& known : watchdog_.Parts()) {
      if (known.name == part) {
        return known.problem;
      }
    }
    return "no part " + part;
  }

  DialResult api_{PortSign::kAlive, ""};
  DialResult federation_{PortSign::kAlive, ""};
  int dials_ = 0;
  ManualClock clock_;
  PortWatchdog watchdog_{{Port("api", api_), Port("federation", federation_)}, kFailures, clock_};
};

TEST_F(PortWatchdogTest, EveryPortIsDialledAndALivePortHasNoProblem) {
  for (int i = 0; i < 100; ++i) {
    watchdog_.Look();
  }
  EXPECT_EQ(dials_, 200);
  EXPECT_EQ(ProblemOf("port api"), "");
  EXPECT_EQ(ProblemOf("port federation"), "");
  EXPECT_TRUE(watchdog_.failure().ok());
}

TEST_F(PortWatchdogTest, OneFailedDialIsAProblemAndSomeInARowAreAFailure) {
  watchdog_.Look();
  federation_ = {PortSign::kSilent, "a connection was not accepted"};
  watchdog_.Look();
  EXPECT_EQ(ProblemOf("port api"), "");
  EXPECT_THAT(ProblemOf("port federation"),
              AllOf(HasSubstr("deaf since 2023-11-14 22:13:20 UTC"), HasSubstr("not accepted"),
                    HasSubstr("1 so far")));
  EXPECT_TRUE(watchdog_.failure().ok());
  clock_.Advance(seconds(100));
  watchdog_.Look();
  EXPECT_TRUE(watchdog_.failure().ok());
  watchdog_.Look();
  const absl::Status failure = watchdog_.failure();
  EXPECT_EQ(ReasonOf(failure), reasons::kPortDeaf);
  EXPECT_THAT(MessageOf(failure),
              AllOf(HasSubstr("the port federation"), HasSubstr("2023-11-14 22:13:20 UTC"),
                    HasSubstr("not accepted"), HasSubstr("start the node again")));
}

// Regression test: a packet filter between a node and itself had it started again for ever.
TEST_F(PortWatchdogTest, APortThatNeverAnsweredIsAProblemAndNoFailure) {
  api_ = {PortSign::kSilent, "no answer"};
  for (int i = 0; i < 2 * kFailures; ++i) {
    watchdog_.Look();
  }
  EXPECT_THAT(ProblemOf("port api"),
              AllOf(HasSubstr("never answered"), HasSubstr("2023-11-14 22:13:20 UTC")));
  EXPECT_TRUE(watchdog_.failure().ok());
  api_ = {PortSign::kAlive, ""};
  watchdog_.Look();
  EXPECT_EQ(ProblemOf("port api"), "");
  api_ = {PortSign::kSilent, "no answer"};
  for (int i = 0; i < kFailures; ++i) {
    watchdog_.Look();
  }
  EXPECT_EQ(ReasonOf(watchdog_.failure()), reasons::kPortDeaf);
}

TEST_F(PortWatchdogTest, APortThatCannotBeDialledIsNotedOnce) {
  api_ = {PortSign::kUnknown, "no address"};
  for (int i = 0; i < 3 * kFailures; ++i) {
    EXPECT_EQ(watchdog_.TakeNotes().size(), i == kFailures ? 1u : 0u) << i;
    watchdog_.Look();
  }
  api_ = {PortSign::kAlive, ""};
  watchdog_.Look();
  api_ = {PortSign::kUnknown, "no address"};
  for (int i = 0; i < kFailures; ++i) {
    watchdog_.Look();
  }
  EXPECT_THAT(watchdog_.TakeNotes(), ElementsAre(AllOf(HasSubstr("port api"), HasSubstr("3 dials"),
                                                       HasSubstr("no address"))));
}

TEST_F(PortWatchdogTest, ASignOfLifeForgetsFormerFailures) {
  for (int i = 0; i < 10; ++i) {
    api_ = {PortSign::kSilent, "no answer"};
    for (int failed = 1; failed < kFailures; ++failed) {
      watchdog_.Look();
    }
    EXPECT_NE(ProblemOf("port api"), "");
    api_ = {PortSign::kAlive, ""};
    watchdog_.Look();
    EXPECT_EQ(ProblemOf("port api"), "");
  }
  EXPECT_TRUE(watchdog_.failure().ok());
}

// A machine that slept, or a process that was stopped, dialled nothing meanwhile.
TEST_F(PortWatchdogTest, TimeInWhichNothingWasDialledDoesNotCount) {
  api_ = {PortSign::kSilent, "no answer"};
  watchdog_.Look();
  clock_.Advance(seconds(100'000));
  api_ = {PortSign::kAlive, ""};
  watchdog_.Look();
  EXPECT_EQ(ProblemOf("port api"), "");
  EXPECT_TRUE(watchdog_.failure().ok());
}

TEST_F(PortWatchdogTest, ADialThatCouldNotBeMadeSaysNothing) {
  api_ = {PortSign::kUnknown, "no descriptor"};
  for (int i = 0; i < 2 * kFailures; ++i) {
    watchdog_.Look();
  }
  EXPECT_EQ(ProblemOf("port api"), "");
  EXPECT_TRUE(watchdog_.failure().ok());
  api_ = {PortSign::kAlive, ""};
  watchdog_.Look();
  api_ = {PortSign::kSilent, "no answer"};
  watchdog_.Look();
  api_ = {PortSign::kUnknown, "no descriptor"};
  watchdog_.Look();
  EXPECT_THAT(ProblemOf("port api"), HasSubstr("1 so far")) << "what was known stays so";
}

TEST_F(PortWatchdogTest, APortThatNoCallerFindsIsAProblemAndNoFailure) {
  api_ = {PortSign::kGone, "the file is gone"};
  for (int i = 0; i < 2 * kFailures; ++i) {
    watchdog_.Look();
  }
  EXPECT_EQ(ProblemOf("port api"), "the file is gone");
  EXPECT_TRUE(watchdog_.failure().ok());
  api_ = {PortSign::kAlive, ""};
  watchdog_.Look();
  EXPECT_EQ(ProblemOf("port api"), "");
}

TEST_F(PortWatchdogTest, AFailureStaysAndNamesTheFirstDeafPort) {
  watchdog_.Look();
  api_ = federation_ = {PortSign::kSilent, "no answer"};
  for (int i = 0; i < kFailures; ++i) {
    watchdog_.Look();
  }
  EXPECT_THAT(MessageOf(watchdog_.failure()), HasSubstr("the port api"));
  api_ = federation_ = {PortSign::kAlive, ""};
  watchdog_.Look();
  EXPECT_EQ(ReasonOf(watchdog_.failure()), reasons::kPortDeaf);
}

}  // namespace
}  // namespace ruvd::node
