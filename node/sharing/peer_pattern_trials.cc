// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file has the methods of PeerPatterns that decide which patterns serve.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "base/status.h"
#include "node/log/log.h"
#include "node/reasons.h"
#include "node/sharing/peer_patterns.h"

namespace ruvd::sharing {
namespace {

using storage::PatternStanding;

// Tries to write a pattern that other code changes between reading and writing.
constexpr int kTries = 5;

// The quality of a row whose pattern was dropped: a constant, so that it tells nothing of the
// peer's. With 0 the store would evict the row first and forget that the pattern was dropped.
constexpr float kDroppedQuality = 0.5F;

// Removes what came from the peer. The row stays, so that this version does not come back, and
// keeps only what identifies it (the id, the origin, the bank, the tier, the version and the times)
// and what this node counted.
void Empty(storage::Pattern* pattern) {
  pattern->payload.clear();
  pattern->adapter_name.clear();
  pattern->task.clear();
  pattern->quality = kDroppedQuality;
  pattern->examples = 0;
  std::ranges::fill(pattern->embedding, 0.0F);
  pattern->embedding.front() = 1;
}

}  // namespace

std::string AdapterLabelOf(const storage::Pattern& pattern) {
  return pattern.adapter_name.empty()
             ? std::string()
             : fmt::format("{}@{}", pattern.adapter_name, pattern.adapter_version);
}

std::string RefusalReasonOf(PatternStanding standing) {
  switch (standing) {
    case PatternStanding::kLessonsWorse:
      return reasons::kPatternLessonsWorse;
    case PatternStanding::kGeneralTextWorse:
      return reasons::kPatternGeneralTextWorse;
    case PatternStanding::kRatedBadly:
      return reasons::kPatternRatedBadly;
    default:
      return reasons::kPatternUnusable;
  }
}

absl::StatusOr<std::optional<storage::Pattern>> PeerPatterns::NextTrial(int64_t now_ms) {
  const std::set<storage::PatternId>* waiting = nullptr;
  privacy::NodeId origin{};
  const auto is_due = [&](const storage::PatternId& id) {
    const auto retry = retry_ms_.find(id);
    return retry == retry_ms_.end() || retry->second <= now_ms;
  };
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  for (const auto& [peer, ids] : on_trial_) {
    const auto tried = tried_.find(peer);
    const uint64_t count = tried == tried_.end() ? 0 : tried->second;
    if (count < fewest && std::ranges::any_of(ids, is_due)) {
      fewest = count;
      waiting = &ids;
      origin = peer;
    }
  }
  if (waiting == nullptr) {
    return std::nullopt;
  }
  const storage::PatternId id = *std::ranges::find_if(*waiting, is_due);
  ++tried_[origin];
  absl::StatusOr<storage::Pattern> pattern = patterns_.Get(id);
  if (absl::IsNotFound(pattern.status())) {  // deleted since
    Forget(id);
    return std::nullopt;
  }
  if (!pattern.ok()) {
    PostponeTrial(id, std::numeric_limits<int64_t>::max());  // a damaged row; deleting it helps
    return pattern.status();
  }
  if (pattern->standing != PatternStanding::kTrial) {  // the operator stored it anew
    Hold(*pattern);
    return std::nullopt;
  }
  return *std::move(pattern);
}

absl::Status PeerPatterns::EndTrial(const storage::Pattern& judged, PatternStanding standing) {
  const auto held = held_.find(judged.id);
  if (held == held_.end() || held->second.standing != PatternStanding::kTrial ||
      held->second.adapter != AdapterLabelOf(judged)) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(SetStanding(judged.id, AdapterLabelOf(judged), standing));
  if (storage::IsRefused(standing)) {
    ++refused_[RefusalReasonOf(standing)];
  }
  return absl::OkStatus();
}

absl::Status PeerPatterns::SetStanding(const storage::PatternId& id, const std::string& adapter,
                                       PatternStanding standing) {
  absl::Status stored = absl::AbortedError("");
  for (int i = 0; i < kTries && absl::IsAborted(stored); ++i) {
    absl::StatusOr<storage::Pattern> pattern = patterns_.Get(id);
    if (absl::IsNotFound(pattern.status())) {
      Forget(id);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(pattern.status());
    if (AdapterLabelOf(*pattern) != adapter) {  // another version, about which nothing is known
      Hold(*pattern);
      return absl::OkStatus();
    }
    const HybridTime expected = pattern->stamp;
    pattern->standing = standing;
    if (storage::IsRefused(standing)) {
      Empty(&*pattern);
    }
    stored = patterns_.Update(*pattern, expected, storage::Durability::kProcessCrash);
    if (stored.ok()) {
      Hold(*pattern);
    }
  }
  return stored;
}

absl::Status PeerPatterns::OnRated(const RatedUse& use) {
  absl::Status all;
  for (const std::string& adapter : use.adapters) {
    const auto serving = serving_.find(adapter);
    if (serving == serving_.end()) {
      continue;
    }
    ratings_.Add(adapter, use.response_id, use.rating);
    if (ratings_.AreBad(adapter)) {
      const storage::PatternId rated = serving->second;  // the drop forgets the entry
      all.Update(DropRatedBadly(rated, adapter));
    }
  }
  return all;
}

absl::Status PeerPatterns::DropRatedBadly(const storage::PatternId& id,
                                          const std::string& adapter) {
  const privacy::NodeId origin = held_[id].origin;
  RETURN_IF_ERROR(SetStanding(id, adapter, PatternStanding::kRatedBadly));
  if (IsRatedBadly(id)) {  // neither deleted nor replaced meanwhile
    ++refused_[RefusalReasonOf(PatternStanding::kRatedBadly)];
    LogInfo("pattern {} of {} is dropped: users rated completions that used it badly", ToHex(id),
            ToHex(origin).substr(0, 16));
  }
  return absl::OkStatus();
}

std::map<privacy::NodeId, PeerPatternCounts> PeerPatterns::Counts() const {
  std::map<privacy::NodeId, PeerPatternCounts> counts;
  for (const auto& [id, held] : held_) {
    PeerPatternCounts& own = counts[held.origin];
    if (held.standing == PatternStanding::kTrial) {
      ++own.on_trial;
      own.newest_waiting_ms = std::max(own.newest_waiting_ms, held.updated_ms);
    } else if (storage::IsRefused(held.standing)) {
      ++own.refused[RefusalReasonOf(held.standing)];
    } else {
      ++(held.standing == PatternStanding::kNoAdapter ? own.without_adapter : own.serving);
    }
  }
  for (const auto& [origin, waiting] : deferred_) {
    for (const auto& [id, created_ms] : waiting) {
      PeerPatternCounts& own = counts[origin];
      ++own.deferred;
      own.newest_waiting_ms = std::max(own.newest_waiting_ms, created_ms);
    }
  }
  for (const auto& [origin, reasons] : refused_of_) {
    for (const auto& [reason, count] : reasons) {
      counts[origin].refused[reason] += count;
    }
  }
  return counts;
}

std::map<PatternStanding, size_t> PeerPatterns::Standings() const {
  std::map<PatternStanding, size_t> standings;
  for (const auto& [id, held] : held_) {
    ++standings[held.standing];
  }
  return standings;
}

}  // namespace ruvd::sharing
