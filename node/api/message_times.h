// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"

// Times in the messages of the API. The node counts them in milliseconds since 1970.
namespace ruvd::api {

// A time before 1970 becomes 1970, and one after 9999 the end of 9999.
google::protobuf::Timestamp ToTimestamp(int64_t millis);
google::protobuf::Duration ToDuration(Duration duration);
// A value that is not finite becomes 0.
google::protobuf::Duration SecondsToDuration(double seconds);
google::protobuf::Duration MillisToDuration(double millis);

// Sets a time that is absent at 0, as in `SetTime(x, [&] { return m->mutable_expire_time(); })`.
template <typename Mutable>
void SetTime(int64_t millis, const Mutable& field) {
  if (millis != 0) {
    *field() = ToTimestamp(millis);
  }
}

// Returns the milliseconds since 1970, rounded down. A time before 1970 or after 9999 is
// INVALID_ARGUMENT, and the message names `field`.
absl::StatusOr<int64_t> ReadTime(std::string_view field, const google::protobuf::Timestamp& time);
// Returns milliseconds, rounded down. A duration that is negative or longer than 10,000 years is
// INVALID_ARGUMENT, and the message names `field`.
absl::StatusOr<int64_t> ReadDuration(std::string_view field,
                                     const google::protobuf::Duration& duration);

}  // namespace ruvd::api
