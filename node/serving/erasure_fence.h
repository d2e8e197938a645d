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

// Users who were erased lately, with the time, so that requests begun before the erasure can be
// told from later ones. Bounded: beyond limits::kMaxErasedUsers the earliest entry is dropped,
// and everything that any user began up to that time counts as covered. Not thread-safe.
class ErasedUsers {
 public:
  void Add(std::string_view user_id, TimePoint now);
  // Returns whether a request that this user began at `begun` falls before an erasure. The empty id
  // (no user) is never erased.
  bool IsErased(std::string_view user_id, TimePoint begun) const;

 private:
  std::map<std::string, TimePoint, std::less<>> users_;
  std::optional<TimePoint> all_until_;
};

// Stands between the erasure of a user and the user's running requests. Without it, a completion
// that was admitted before the erasure and ends after it would be stored under a new key that is
// never destroyed. Thread-safe.
class ErasureFence {
 public:
  // `clock` must outlive this object.
  explicit ErasureFence(const Clock& clock) : clock_(clock) {}

  // Fences off everything that the user began until now, and returns once none of it is being
  // stored. Must be called before the user's keys are destroyed.
  void FenceUser(std::string_view user_id);
  // Runs `store`, which keeps something that the user began at `begun`, unless it is fenced off.
  // Returns whether it ran. `store` must be short and must not call this object. Only one runs at a
  // time, except those of the empty id (no user), which is never erased.
  bool RunUnlessErased(std::string_view user_id, TimePoint begun,
                       const std::function<void()>& store);

 private:
  const Clock& clock_;
  Mutex mutex_;  // held while something is stored
  ErasedUsers forgotten_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::serving
