// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

// Periods and times, as users write and read them and as messages have them.
namespace ruvd::cli {

// Returns a period such as "90s", "15m", "2h" or "7d" in milliseconds. Any other text is a USAGE
// error.
absl::StatusOr<int64_t> ParsePeriod(const std::string& text);

// Formats a time as "2026-11-21 19:00:00", in UTC. A time before 1970 or after 9999 is shown as the
// nearest time in that range. A number is a Unix time in milliseconds.
std::string FormatTime(int64_t ms);
std::string FormatTime(const google::protobuf::Timestamp& time);
// Adds " UTC"; returns `otherwise` for a time that is not set.
std::string TimeLabel(const google::protobuf::Timestamp& time, std::string_view otherwise);

double SecondsOf(const google::protobuf::Duration& duration);
double MillisOf(const google::protobuf::Duration& duration);

// Returns a Unix time in milliseconds as a message has it. A time before 1970 or after 9999 becomes
// the nearest time in that range.
google::protobuf::Timestamp ToTimestamp(int64_t ms);
// Sets a time, which 0 leaves out: `SetTime(ms, [&] { return report.mutable_expire_time(); })`.
template <typename Mutable>
void SetTime(int64_t ms, const Mutable& field) {
  if (ms != 0) {
    *field() = ToTimestamp(ms);
  }
}

}  // namespace ruvd::cli
