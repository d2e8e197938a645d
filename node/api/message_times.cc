// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/message_times.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/status.h"
#include "node/api/bad_request.h"

namespace ruvd::api {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kNanosOfMilli = 1'000'000;

}  // namespace

google::protobuf::Timestamp ToTimestamp(int64_t millis) {
  // Protobuf throws for other times, such as that of a certificate without an end.
  constexpr int64_t kLast = TimeUtil::kTimestampMaxSeconds * 1000 + 999;
  return TimeUtil::MillisecondsToTimestamp(std::clamp<int64_t>(millis, 0, kLast));
}

google::protobuf::Duration ToDuration(Duration duration) {
  return TimeUtil::NanosecondsToDuration(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

google::protobuf::Duration SecondsToDuration(double seconds) {
  constexpr double kLongest = 1e9;  // of what the node measures; nanoseconds fit 64 bits
  const bool fits = std::isfinite(seconds) && std::fabs(seconds) < kLongest;
  return TimeUtil::NanosecondsToDuration(
      fits ? static_cast<int64_t>(std::llround(seconds * static_cast<double>(kNanos))) : 0);
}

google::protobuf::Duration MillisToDuration(double millis) {
  return SecondsToDuration(millis / 1000);
}

absl::StatusOr<int64_t> ReadTime(std::string_view field, const google::protobuf::Timestamp& time) {
  if (time.seconds() < 0 || time.seconds() > TimeUtil::kTimestampMaxSeconds || time.nanos() < 0 ||
      time.nanos() >= kNanos) {
    return BadField(field, "{} is {} s and {} ns after 1970; it must be a time from 1970 to 9999",
                    field, time.seconds(), time.nanos());
  }
  return time.seconds() * 1000 + time.nanos() / kNanosOfMilli;
}

absl::StatusOr<int64_t> ReadDuration(std::string_view field,
                                     const google::protobuf::Duration& duration) {
  if (duration.seconds() < 0 || duration.seconds() > TimeUtil::kDurationMaxSeconds ||
      duration.nanos() < 0 || duration.nanos() >= kNanos) {
    return BadField(field, "{} is {} s and {} ns; it must be 0 s to 10,000 years", field,
                    duration.seconds(), duration.nanos());
  }
  return duration.seconds() * 1000 + duration.nanos() / kNanosOfMilli;
}

}  // namespace ruvd::api
