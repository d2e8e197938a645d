// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/retry_delay.h"
#include "node/client/limits.h"

namespace ruvd::client {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Returns the result of `call`. If the node is busy and names a time to try again, `call` is
// repeated then, at most limits::kBusyTries times in total.
template <typename Call>
auto RetryWhileBusy(const Call& call) {
  auto result = call();
  for (int tries = 1; tries < limits::kBusyTries; ++tries) {
    const auto delay = RetryDelayOf(StatusOf(result));
    if (!delay) {
      break;
    }
    std::this_thread::sleep_for(*delay);
    result = call();
  }
  return result;
}

}  // namespace ruvd::client
