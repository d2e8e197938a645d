// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/period.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {
namespace {

constexpr int64_t kMaxPeriodMs = int64_t{36'500} * 86'400'000;  // a hundred years
constexpr int64_t kLastSecond = 253'402'300'799;                // 9999-12-31 23:59:59

std::string FormatSeconds(int64_t seconds) {
  return fmt::format(
      "{:%Y-%m-%d %H:%M:%S}",
      fmt::gmtime(static_cast<std::time_t>(std::clamp<int64_t>(seconds, 0, kLastSecond))));
}

}  // namespace

absl::StatusOr<int64_t> ParsePeriod(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  static const auto* const units = new std::map<std::string_view, int64_t>{
      {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  const auto found = units->find(unit);
  if (error != std::errc() || number <= 0 || found == units->end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUsage,
                 "\"{}\" is not a period; write a number and s, m, h or d, for example 2h", text);
  }
  if (number > kMaxPeriodMs / found->second) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUsage,
                 "\"{}\" is longer than 36500d, the longest period that is allowed", text);
  }
  return number * found->second;
}

std::string FormatTime(int64_t ms) {
  return FormatSeconds(ms / 1000);
}

std::string FormatTime(const google::protobuf::Timestamp& time) {
  return FormatSeconds(time.seconds());
}

std::string TimeLabel(const google::protobuf::Timestamp& time, std::string_view otherwise) {
  return time.seconds() == 0 && time.nanos() == 0 ? std::string(otherwise)
                                                  : FormatTime(time) + " UTC";
}

double SecondsOf(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + 1e-9 * duration.nanos();
}

double MillisOf(const google::protobuf::Duration& duration) {
  return 1e3 * static_cast<double>(duration.seconds()) + 1e-6 * duration.nanos();
}

google::protobuf::Timestamp ToTimestamp(int64_t ms) {
  return google::protobuf::util::TimeUtil::MillisecondsToTimestamp(
      std::clamp<int64_t>(ms, 0, 1000 * kLastSecond));
}

}  // namespace ruvd::cli
