// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace ruvd::serving {

// Users who were erased lately, and when, so that what they had begun before is told apart from
// what they say afterwards. Bounded: of more than limits::kMaxForgottenUsers the earliest goes, and
// what anybody began until then counts as covered. Not thread-safe.
class ForgottenUsers {
 public:
  void Add(std::string_view user_id, TimePoint now);
  // Whether what this user began then is of before an erasure. Nobody ("") is never erased.
  bool Cover(std::string_view user_id, TimePoint begun) const;

 private:
  std::map<std::string, TimePoint, std::less<>> users_;
  std::optional<TimePoint> all_until_;
};

// Stands between the erasure of a user and what is under way of the user's: completions that were
// admitted before and end afterwards would be stored under a new key, which nobody destroys.
// Thread-safe.
class ErasureFence {
 public:
  // `clock` outlives this.
  explicit ErasureFence(const Clock& clock) : clock_(clock) {}

  // Fences off all that the user began until now; returns once nothing of it is being stored. To be
  // called before the user's keys are destroyed.
  void Forget(std::string_view user_id);
  // Runs `store`, which keeps something that the user began then, unless it is fenced off; says
  // whether it ran. `store` is short, and calls nothing of this.
  bool Store(std::string_view user_id, TimePoint begun, const std::function<void()>& store);

 private:
  const Clock& clock_;
  Mutex mutex_;  // held while something is stored
  ForgottenUsers forgotten_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::serving
