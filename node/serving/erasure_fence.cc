// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/erasure_fence.h"

#include <algorithm>

#include "node/limits.h"

namespace ruvd::serving {

void ErasedUsers::Add(std::string_view user_id, TimePoint now) {
  users_.insert_or_assign(std::string(user_id), now);
  if (users_.size() > limits::kMaxErasedUsers) {
    const auto earliest =
        std::ranges::min_element(users_, {}, [](const auto& entry) { return entry.second; });
    all_until_ = std::max(all_until_.value_or(earliest->second), earliest->second);
    users_.erase(earliest);
  }
}

bool ErasedUsers::IsErased(std::string_view user_id, TimePoint begun) const {
  if (user_id.empty()) {
    return false;
  }
  const auto found = users_.find(user_id);
  return begun <= all_until_ || (found != users_.end() && begun <= found->second);
}

void ErasureFence::FenceUser(std::string_view user_id) {
  const MutexLock lock(mutex_);
  forgotten_.Add(user_id, clock_.Now());
}

bool ErasureFence::RunUnlessErased(std::string_view user_id, TimePoint begun,
                                   const std::function<void()>& store) {
  if (user_id.empty()) {
    // No user is never erased, so whatever this stores need not wait for others, nor they for it.
    store();
    return true;
  }
  const MutexLock lock(mutex_);
  if (forgotten_.IsErased(user_id, begun)) {
    return false;
  }
  store();
  return true;
}

}  // namespace ruvd::serving
