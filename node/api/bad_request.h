// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::api {

// Returns INVALID_ARGUMENT about a field of a request, which callers get as
// google.rpc.BadRequest. `field` is its path from the request on.
template <typename... Args>
absl::Status BadField(std::string_view field, fmt::format_string<Args...> format, Args&&... args) {
  return WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
                         std::forward<Args>(args)...),
                   field);
}

// Refuses a number that is not from `low` to `high`, or that is NaN.
inline absl::Status CheckBetween(std::string_view field, double value, double low, double high) {
  return value >= low && value <= high
             ? absl::OkStatus()
             : BadField(field, "{} is {}; it must be from {} to {}", field, value, low, high);
}

// Refuses 0 for an option whose default is another value and for which 0 has no meaning: a caller
// who sends it meant something else than the default.
template <typename T>
absl::Status CheckNotZero(std::string_view field, bool is_set, T value) {
  return is_set && value == 0 ? BadField(field, "{} is 0; leave it out for its default", field)
                              : absl::OkStatus();
}

}  // namespace ruvd::api
