// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/withdrawal_pauses.h"

#include <algorithm>

#include "node/limits.h"

namespace ruvd::sharing {

void WithdrawalPauses::RecordWithdrawal(const privacy::NodeId& origin, TimePoint now) {
  std::erase_if(pauses_, [now](const auto& entry) {
    return entry.second.until + limits::kLongestWithdrawalPause <= now;
  });
  Pause& pause = pauses_[origin];
  pause.length = pause.length == Duration{}
                     ? Duration(limits::kWithdrawalPause)
                     : std::min<Duration>(2 * pause.length, limits::kLongestWithdrawalPause);
  pause.until = now + pause.length;
}

bool WithdrawalPauses::IsPaused(const privacy::NodeId& origin, TimePoint now) const {
  const auto found = pauses_.find(origin);
  return found != pauses_.end() && now < found->second.until;
}

std::optional<TimePoint> WithdrawalPauses::NextEnd(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [origin, pause] : pauses_) {
    if (now < pause.until && (!next || pause.until < *next)) {
      next = pause.until;
    }
  }
  return next;
}

}  // namespace ruvd::sharing
