// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Times and durations of messages, as verbs print them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using google::protobuf::Duration;
using google::protobuf::Timestamp;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Timestamp At(int64_t seconds, int32_t nanos = 0) {
  Timestamp time;
  time.set_seconds(seconds);
  time.set_nanos(nanos);
  return time;
}

Duration Of(int64_t seconds, int32_t nanos) {
  Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return duration;
}

TEST(MessageTimeTest, TimesAreShownInUtcAndWithinRange) {
  EXPECT_EQ(FormatTime(At(1'795'287'600, 999'999'999)), "2026-11-21 19:00:00");
  EXPECT_EQ(FormatTime(int64_t{1'795'287'600'999}), "2026-11-21 19:00:00");
  for (const int64_t before : {kLeast, int64_t{-1}}) {
    EXPECT_EQ(FormatTime(before), "1970-01-01 00:00:00");
    EXPECT_EQ(FormatTime(At(before)), "1970-01-01 00:00:00");
  }
  EXPECT_EQ(FormatTime(kMost), "9999-12-31 23:59:59");
  EXPECT_EQ(FormatTime(At(kMost)), "9999-12-31 23:59:59");
}

TEST(MessageTimeTest, ATimeThatIsNotSetHasAnotherLabel) {
  EXPECT_EQ(TimeLabel(At(1'795'287'600), "never"), "2026-11-21 19:00:00 UTC");
  EXPECT_EQ(TimeLabel(pattern::v1::Pattern().expire_time(), "never"), "never");
  EXPECT_EQ(TimeLabel(At(0, 1'000'000), "never"), "1970-01-01 00:00:00 UTC");
}

TEST(MessageTimeTest, DurationsAreNumbersOfSecondsOrMilliseconds) {
  EXPECT_DOUBLE_EQ(SecondsOf(Of(3, 250'000'000)), 3.25);
  EXPECT_DOUBLE_EQ(MillisOf(Of(3, 250'000'000)), 3250);
  EXPECT_DOUBLE_EQ(MillisOf(Of(0, 1500)), 0.0015);
  EXPECT_DOUBLE_EQ(SecondsOf(Duration()), 0);
}

TEST(MessageTimeTest, AReportLeavesOutATimeThatIsZero) {
  report::v1::RenewReport report;
  SetTime(0, [&] { return report.mutable_expire_time(); });
  EXPECT_FALSE(report.has_expire_time());
  SetTime(1500, [&] { return report.mutable_expire_time(); });
  EXPECT_EQ(report.expire_time().seconds(), 1);
  EXPECT_EQ(report.expire_time().nanos(), 500'000'000);
  EXPECT_EQ(ToTimestamp(kMost).seconds(), 253'402'300'799);
  EXPECT_EQ(ToTimestamp(kLeast).seconds(), 0);
}

TEST(MessageTimeTest, JsonWritesTimesAsTextsAndLeavesOutThoseThatAreNotSet) {
  report::v1::RenewReport report;
  EXPECT_THAT(ToJsonLine(report), Not(HasSubstr("expire_time")));
  *report.mutable_expire_time() = ToTimestamp(1'795'287'600'250);
  EXPECT_THAT(ToJsonLine(report), HasSubstr(R"("expire_time":"2026-11-21T19:00:00.250Z")"));
}

// JSON has no text for such a time, and a node may send one.
TEST(MessageTimeTest, AnInvalidTimeDoesNotEndTheProcess) {
  for (const int64_t seconds : {kLeast, int64_t{-1}, int64_t{0}, int64_t{1}, kMost}) {
    for (const int32_t nanos :
         {std::numeric_limits<int32_t>::min(), -1, 0, 1, std::numeric_limits<int32_t>::max()}) {
      pattern::v1::Pattern pattern;
      *pattern.mutable_create_time() = At(seconds, nanos);
      EXPECT_THAT(ToJsonLine(pattern), HasSubstr("\"create_time\":\""));
      cluster::v1::ListMembersResponse members;
      *members.add_members()->mutable_rtt() = Of(seconds, nanos);
      EXPECT_THAT(ToJsonLine(members), HasSubstr("\"rtt\":\""));
    }
  }
  pattern::v1::Pattern pattern;
  *pattern.mutable_create_time() = At(kMost);
  EXPECT_THAT(ToJsonLine(pattern), HasSubstr("\"9999-12-31T23:59:59Z\""));
}

}  // namespace
}  // namespace ruvd::cli
