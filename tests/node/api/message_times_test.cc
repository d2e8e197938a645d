// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/message_times.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error_details.h"
#include "base/status.h"

namespace ruvd::api {
namespace {

google::protobuf::Timestamp Time(int64_t seconds, int32_t nanos) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  time.set_nanos(nanos);
  return time;
}

google::protobuf::Duration Period(int64_t seconds, int32_t nanos) {
  google::protobuf::Duration period;
  period.set_seconds(seconds);
  period.set_nanos(nanos);
  return period;
}

TEST(MessageTimesTest, TimesSurvive) {
  for (const int64_t millis : {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{1'764'500'000'123}}) {
    EXPECT_EQ(ReadTime("x", ToTimestamp(millis)).value(), millis);
  }
}

TEST(MessageTimesTest, TimesOutsideTheCalendarAreRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& time : {Time(-1, 0), Time(kMost, 0), Time(0, -1), Time(0, 1'000'000'000),
                           Time(253'402'300'800, 0)}) {
    const absl::Status status = ReadTime("filter.from", time).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << time.DebugString();
    EXPECT_EQ(FieldOf(status), "filter.from");
  }
  EXPECT_TRUE(ReadTime("x", Time(253'402'300'799, 999'999'999)).ok());
}

// A certificate without an end has the last time that 64 bits hold.
TEST(MessageTimesTest, ATimeWithoutEndIsTheEndOfTheCalendar) {
  EXPECT_EQ(ToTimestamp(std::numeric_limits<int64_t>::max()).seconds(), 253'402'300'799);
  EXPECT_EQ(ToTimestamp(std::numeric_limits<int64_t>::min()).seconds(), 0);
}

TEST(MessageTimesTest, PeriodsAreNotNegative) {
  EXPECT_EQ(ReadDuration("x", Period(1, 500'000'000)).value(), 1500);
  for (const auto& period : {Period(-1, 0), Period(0, -1), Period(0, 1'000'000'000),
                             Period(std::numeric_limits<int64_t>::max(), 0)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadDuration("x", period).status()))
        << period.DebugString();
  }
}

TEST(MessageTimesTest, MeasuredSecondsKeepTheirNanoseconds) {
  EXPECT_EQ(SecondsToDuration(0.25).nanos(), 250'000'000);
  EXPECT_EQ(MillisToDuration(1500).seconds(), 1);
  for (const double odd :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e300}) {
    EXPECT_EQ(SecondsToDuration(odd).seconds(), 0);
  }
}

TEST(MessageTimesTest, ATimeOfZeroIsNotSet) {
  google::protobuf::Timestamp time;
  bool touched = false;
  const auto field = [&] {
    touched = true;
    return &time;
  };
  SetTime(0, field);
  EXPECT_FALSE(touched);
  SetTime(5, field);
  EXPECT_EQ(time.nanos(), 5'000'000);
}

}  // namespace
}  // namespace ruvd::api
