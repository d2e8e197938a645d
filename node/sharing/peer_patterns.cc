// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/peer_patterns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/manifest.h"
#include "federation/limits.h"
#include "node/log/log.h"
#include "node/reasons.h"
#include "node/sharing/limits.h"
#include "node/sharing/shared_items.h"
#include "privacy/consent/withdrawal.h"

namespace ruvd::sharing {
namespace {

using storage::PatternStanding;

constexpr uint32_t kPage = 256;
// Tries to write a pattern that other code changes between reading and writing.
constexpr int kTries = 5;

// Refusals that say something about the pattern or this node's limits, not about the store.
bool IsRefusal(const std::string& reason) {
  return reason == reasons::kPatternTooWeak || reason == reasons::kPatternTaken ||
         reason == reasons::kPatternTrialsFull || reason == reasons::kPatternRatedBadly;
}

}  // namespace

absl::Status PeerPatterns::Load() {
  std::vector<storage::Pattern> untried;
  followed_ = patterns_.Stats().last_sequence;
  std::string token;
  do {
    ASSIGN_OR_RETURN(const storage::PatternPage page, patterns_.List(kPage, token));
    for (const storage::Pattern& pattern : page.patterns) {
      if (pattern.origin == self_) {
        continue;
      }
      Hold(pattern);
      if (pattern.standing == PatternStanding::kOwn) {
        untried.push_back(pattern);
      }
    }
    token = page.next_page_token;
  } while (!token.empty());
  for (const storage::Pattern& pattern : untried) {
    RETURN_IF_ERROR(SetStanding(
        pattern.id, held_[pattern.id].adapter,
        pattern.adapter_name.empty() ? PatternStanding::kNoAdapter : PatternStanding::kTrial));
  }
  return absl::OkStatus();
}

absl::Status PeerPatterns::FollowChanges() {
  const absl::StatusOr<storage::PatternChangePage> page = patterns_.Changes(followed_, kPage);
  if (absl::IsFailedPrecondition(page.status())) {  // the log was cut
    held_.clear();
    of_origin_.clear();
    on_trial_.clear();
    serving_.clear();
    trials_ = 0;
    return Load();
  }
  RETURN_IF_ERROR(page.status());
  for (const storage::PatternChange& change : page->changes) {
    if (change.kind != storage::PatternChangeKind::kPut && held_.contains(change.id) &&
        absl::IsNotFound(patterns_.GetWithoutPayload(change.id).status())) {
      Forget(change.id);
    }
  }
  followed_ = page->last_sequence;
  return absl::OkStatus();
}

void PeerPatterns::Hold(const storage::Pattern& pattern) {
  Forget(pattern.id);
  const std::string adapter = AdapterLabelOf(pattern);
  held_[pattern.id] = {.origin = pattern.origin,
                       .updated_ms = pattern.updated_ms,
                       .standing = pattern.standing,
                       .adapter = adapter};
  of_origin_[pattern.origin].emplace(pattern.updated_ms, pattern.id);
  if (pattern.standing == PatternStanding::kTrial) {
    on_trial_[pattern.origin].insert(pattern.id);
    ++trials_;
  } else if (pattern.standing == PatternStanding::kServing && !adapter.empty()) {
    serving_[adapter] = pattern.id;
  }
}

void PeerPatterns::Forget(const storage::PatternId& id) {
  const auto known = held_.find(id);
  if (known == held_.end()) {
    return;
  }
  const Held& held = known->second;
  of_origin_[held.origin].erase({held.updated_ms, id});
  trials_ -= on_trial_[held.origin].erase(id);
  if (serving_.erase(held.adapter) > 0) {
    ratings_.Forget(held.adapter);
  }
  retry_ms_.erase(id);
  held_.erase(known);
}

absl::Status PeerPatterns::Store(const federation::SharedPattern& shared,
                                 const privacy::NodeId& origin,
                                 std::optional<int64_t> withdrawn_ms) {
  if (shared.quality < gate_.quality || shared.examples < gate_.examples) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kPatternTooWeak,
        "pattern {} has {} lesson(s) and quality {:.2f}, which is less than this node accepts ({} "
        "lessons, privacy.public_examples, and a quality of {:.2f})",
        ToHex(shared.id), shared.examples, shared.quality, gate_.examples, gate_.quality);
  }
  absl::Status stored = StoreOnce(shared, origin, withdrawn_ms);
  for (int i = 1; i < kTries && absl::IsAborted(stored); ++i) {
    stored = StoreOnce(shared, origin, withdrawn_ms);
  }
  return stored;
}

absl::Status PeerPatterns::Store(const federation::Item& pattern,
                                 const federation::GossipCore& core) {
  ASSIGN_OR_RETURN(const federation::SharedPattern shared,
                   federation::DecodeSharedPattern(AsBytes(*pattern.payload)));
  const absl::Status stored =
      Store(shared, pattern.origin, core.PatternWithdrawn(pattern.origin, shared.id));
  const std::string reason = ReasonOf(stored);
  auto& deferred = deferred_[pattern.origin];
  const bool known = deferred.contains(shared.id);
  if (reason == reasons::kPatternTrialsFull) {
    if (known || deferred.size() < limits::kMaxDeferredPatterns) {
      deferred[shared.id] = shared.created_ms;
    }
    if (known) {  // counted before
      return absl::OkStatus();
    }
  } else {
    deferred.erase(shared.id);
  }
  if (!IsRefusal(reason)) {
    return stored;
  }
  CountRefusal(pattern.origin, reason);
  LogDebug("refused: {} [{}]", MessageOf(stored), reason);
  return absl::OkStatus();
}

void PeerPatterns::CountRefusal(const privacy::NodeId& origin, const std::string& reason) {
  ++refused_[reason];
  // The rows of patterns that were rated badly are counted already, and what waits is no refusal.
  if (reason != reasons::kPatternRatedBadly && reason != reasons::kPatternTrialsFull) {
    ++refused_of_[origin][reason];
  }
}

absl::Status PeerPatterns::StoreDeferred(const federation::GossipCore& core) {
  std::set<privacy::NodeId> retried;
  for (const auto& [origin, waiting] : deferred_) {
    if (!waiting.empty() && MayRetry(origin)) {
      retried.insert(origin);
    }
  }
  if (retried.empty()) {
    return absl::OkStatus();
  }
  absl::Status all;
  std::map<privacy::NodeId, std::set<storage::PatternId>> found;
  for (const federation::Item& item : core.Items()) {
    const auto waiting = deferred_.find(item.origin);
    const auto id = item.kind == federation::ItemKind::kPattern
                        ? federation::SharedPatternId(AsBytes(*item.payload))
                        : std::nullopt;
    if (id && waiting != deferred_.end() && waiting->second.contains(*id)) {
      found[item.origin].insert(*id);
      if (retried.contains(item.origin)) {
        all.Update(Store(item, core));
        if (!MayRetry(item.origin)) {  // the rest waits on
          retried.erase(item.origin);
        }
      }
    }
  }
  for (auto& [origin, waiting] : deferred_) {  // what was withdrawn or expired waits no more
    std::erase_if(waiting, [&](const auto& entry) { return !found[origin].contains(entry.first); });
  }
  return all;
}

absl::Status PeerPatterns::StoreAll(const federation::GossipCore& core, const Digest& model_hash,
                                    const Digest& frame_id) {
  absl::Status all;
  for (const federation::Item& item : core.Items()) {
    if (item.kind == federation::ItemKind::kWithdrawal && item.origin != self_) {
      all.Update(Withdraw(item));
    }
    if (item.kind != federation::ItemKind::kPattern || item.origin == self_) {
      continue;
    }
    const auto manifest = federation::DecodeManifest(AsBytes(item.envelope->body));
    if (manifest.ok() && manifest->model_hash == model_hash && manifest->frame_id == frame_id) {
      all.Update(Store(item, core));
    }
  }
  return all;
}

absl::Status PeerPatterns::Remove(const federation::Item& pattern) {
  ASSIGN_OR_RETURN(const federation::SharedPattern shared,
                   federation::DecodeSharedPattern(AsBytes(*pattern.payload)));
  return RemoveUntil(shared.id, pattern.origin, shared.created_ms);
}

absl::Status PeerPatterns::Withdraw(const federation::Item& withdrawal) {
  ASSIGN_OR_RETURN(const privacy::Withdrawal record,
                   privacy::Withdrawal::Parse(AsBytes(*withdrawal.payload)));
  std::vector<storage::PatternId> named = record.patterns;
  if (record.everything) {
    for (const auto& [updated_ms, id] : of_origin_[withdrawal.origin]) {
      named.push_back(id);
    }
  }
  absl::Status all;
  for (const storage::PatternId& id : named) {
    all.Update(RemoveUntil(id, withdrawal.origin, record.withdrawn_ms));
  }
  return all;
}

absl::Status PeerPatterns::RemoveUntil(const storage::PatternId& id, const privacy::NodeId& origin,
                                       int64_t until_ms) {
  const absl::StatusOr<storage::Pattern> stored = patterns_.GetWithoutPayload(id);
  // What was rated badly holds nothing of its origin any more; without it a newer version would
  // serve again.
  if (stored.ok() && stored->origin == origin && stored->updated_ms <= until_ms &&
      stored->standing != PatternStanding::kRatedBadly) {
    const absl::Status deleted = patterns_.Delete(id, storage::Durability::kProcessCrash);
    if (!deleted.ok() && !absl::IsNotFound(deleted)) {
      return deleted;
    }
    Forget(id);
  }
  return absl::OkStatus();
}

absl::Status PeerPatterns::StoreOnce(const federation::SharedPattern& shared,
                                     const privacy::NodeId& origin,
                                     std::optional<int64_t> withdrawn_ms) {
  const absl::StatusOr<storage::Pattern> existing = patterns_.Get(shared.id);
  if (existing.ok() && existing->origin != origin) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kPatternTaken,
                 "pattern {} belongs to another node", ToHex(shared.id));
  }
  if (!existing.ok() && !absl::IsNotFound(existing.status())) {
    return existing.status();
  }
  ASSIGN_OR_RETURN(const bool deleted, patterns_.WasDeleted(shared.id));
  // If the origin deleted it, this is a newer version. Whether the operator deleted it as well is
  // unknown.
  const bool unwanted = deleted && shared.created_ms <= withdrawn_ms.value_or(shared.created_ms);
  if (unwanted || (existing.ok() && existing->updated_ms >= shared.created_ms)) {
    return absl::OkStatus();
  }
  if (existing.ok() && existing->standing == PatternStanding::kRatedBadly) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kPatternRatedBadly,
                 "users of this node rated completions with pattern {} badly, so no version of it "
                 "serves here; delete it to forget that",
                 ToHex(shared.id));
  }
  if (!existing.ok()) {
    RETURN_IF_ERROR(CheckRatedBadly(origin));
  }
  // Room is asked for first, because making an adapter of cores takes milliseconds.
  const bool has_room = existing.ok() && existing->standing == PatternStanding::kTrial;
  if (frame_ != nullptr && !shared.cores.empty() && !has_room) {
    RETURN_IF_ERROR(CheckRoom(origin));
  }
  const uint32_t version = existing.ok() ? existing->adapter_version + 1 : 1;
  ASSIGN_OR_RETURN(storage::Pattern pattern, PatternFromShared(shared, origin, frame_, version));
  pattern.standing =
      pattern.adapter_name.empty() ? PatternStanding::kNoAdapter : PatternStanding::kTrial;
  std::optional<HybridTime> expected;
  if (existing.ok()) {
    pattern.expires_ms = existing->expires_ms;  // which the operator set
    expected = existing->stamp;
  }
  RETURN_IF_ERROR(patterns_.Update(pattern, expected, storage::Durability::kProcessCrash));
  Hold(pattern);
  return Trim(origin);
}

absl::Status PeerPatterns::CheckRoom(const privacy::NodeId& origin) {
  const size_t waiting = Waiting(origin);
  if (waiting < limits::kSurePatternTrials ||
      (trials_ < limits::kMaxPatternTrials && waiting < limits::kMaxPatternTrialsPerOrigin)) {
    return absl::OkStatus();
  }
  ++trials_full_;
  return Error(absl::StatusCode::kResourceExhausted, reasons::kPatternTrialsFull,
               "{} patterns of peers wait for their trial, {} of this peer; at most {} and {} may, "
               "and {} of each peer always may; this one is taken once fewer wait",
               trials_, waiting, limits::kMaxPatternTrials, limits::kMaxPatternTrialsPerOrigin,
               limits::kSurePatternTrials);
}

size_t PeerPatterns::Waiting(const privacy::NodeId& origin) const {
  const auto own = on_trial_.find(origin);
  return own == on_trial_.end() ? 0 : own->second.size();
}

bool PeerPatterns::MayRetry(const privacy::NodeId& origin) const {
  const size_t waiting = Waiting(origin);
  return waiting < limits::kSurePatternTrials ||
         (trials_ <= limits::kMaxPatternTrials / 2 &&
          waiting <= limits::kMaxPatternTrialsPerOrigin / 2);
}

bool PeerPatterns::IsRatedBadly(const storage::PatternId& id) const {
  const auto held = held_.find(id);
  return held != held_.end() && held->second.standing == PatternStanding::kRatedBadly;
}

absl::Status PeerPatterns::CheckRatedBadly(const privacy::NodeId& origin) const {
  const auto rows = of_origin_.find(origin);
  if (rows == of_origin_.end() || rows->second.size() < limits::kMaxPatternsPerOrigin) {
    return absl::OkStatus();
  }
  const auto bad = static_cast<size_t>(std::ranges::count_if(
      rows->second, [this](const auto& row) { return IsRatedBadly(row.second); }));
  if (bad < limits::kMaxPatternsPerOrigin) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kPatternRatedBadly,
               "users of this node rated completions with {} patterns of peer {} badly, so no "
               "further one is stored; delete some of them to forget that",
               bad, ToHex(origin));
}

std::vector<LimitUse> PeerPatterns::Limits() const {
  return {{"pattern_rows", LimitScope::kOrigin, "patterns", limits::kMaxPatternsPerOrigin,
           held_.size(), trimmed_},
          {"pattern_trials", LimitScope::kSystem, "waiting patterns", limits::kMaxPatternTrials,
           trials_, trials_full_}};
}

absl::Status PeerPatterns::Trim(const privacy::NodeId& origin) {
  const auto& rows = of_origin_[origin];
  while (rows.size() > limits::kMaxPatternsPerOrigin) {
    // Without the row of a pattern that was rated badly, a newer version would get a trial.
    const auto row =
        std::ranges::find_if_not(rows, [this](const auto& r) { return IsRatedBadly(r.second); });
    if (row == rows.end()) {
      break;
    }
    const storage::PatternId oldest = row->second;
    const absl::Status deleted = patterns_.DeleteForRoom(oldest);
    if (!deleted.ok() && !absl::IsNotFound(deleted)) {  // the operator may have deleted it already
      return deleted;
    }
    ++trimmed_;
    Forget(oldest);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::sharing
