// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

// What an error says to programs, besides its code and reason. base/retry_delay.h has the time
// after which to try again.
namespace ruvd {

namespace limits {
inline constexpr size_t kMaxErrorFieldBytes = 200;
}  // namespace limits

// Sets the path of the field of a request that an error is about, such as "filter.bank". A long
// path is cut, and an empty one changes nothing. OK stays OK.
absl::Status WithField(absl::Status status, std::string_view path);
// Puts `parent` and a dot in front of the path, if there is one.
absl::Status InField(absl::Status status, std::string_view parent);
// Returns the path that was added; empty if none was.
std::string FieldOf(const absl::Status& status);

// A limit that something was beyond.
struct ExceededLimit {
  uint64_t limit = 0;
  uint64_t value = 0;  // what was asked for or was there
};

// Adds the limit that an error is about. OK stays OK.
absl::Status WithLimit(absl::Status status, ExceededLimit limit);
std::optional<ExceededLimit> LimitOf(const absl::Status& status);

}  // namespace ruvd
