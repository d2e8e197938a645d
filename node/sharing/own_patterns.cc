// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/own_patterns.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/limits.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/sharing/shared_items.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
namespace {

// Changes of the log that one call handles; few, because the actor has to answer peers too.
constexpr size_t kChangesAtOnce = 256;

// Returns whether patterns or their updates leave under a tier.
bool Shares(privacy::ConsentTier tier) {
  return tier == privacy::ConsentTier::kPublic || tier == privacy::ConsentTier::kDp;
}

}  // namespace

OwnPatterns::OwnPatterns(storage::PatternStore& patterns, UpdateLayout layout,
                         const privacy::NodeId& self, const storage::ConsentBook* consents,
                         uint32_t least_examples, storage::ReleaseSourceStore* releases)
    : patterns_(patterns),
      layout_(std::move(layout)),
      self_(self),
      consents_(consents),
      least_examples_(least_examples),
      followed_(patterns.Stats().last_sequence),
      releases_(releases) {}

void OwnPatterns::Append(federation::Actions more, federation::Actions* actions) {
  actions->insert(actions->end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

// The contributors of patterns from before contributors were recorded are unknown. Such patterns
// leave under `public` with the operator's consent alone.
bool OwnPatterns::MayShare(const std::vector<privacy::Contributor>& contributors,
                           privacy::ConsentTier tier, federation::Instant now) const {
  if (contributors.empty() || consents_ == nullptr) {
    return tier == privacy::ConsentTier::kPublic;
  }
  return consents_->MayShare(contributors, tier, now.wall_ms);
}

bool OwnPatterns::MayBeShared(const serving::PatternPayload& payload, privacy::ConsentTier tier,
                              federation::Instant now) const {
  return !(tier == privacy::ConsentTier::kPublic && payload.holds_others) &&
         MayShare(payload.contributors, tier, now);
}

absl::Status OwnPatterns::ForEachShareable(
    federation::Instant now,
    const std::function<void(const federation::SharedPattern&)>& visit) const {
  return serving::ForEachPatternOf(patterns_, self_, [&](const storage::Pattern& pattern) {
    const absl::StatusOr<federation::SharedPattern> shared =
        ShareablePattern(pattern, *layout_.frame);
    const auto payload = serving::DecodePatternPayload(pattern.payload);
    if (shared.ok() && payload.ok() && pattern.examples >= least_examples_ &&
        MayBeShared(*payload, privacy::ConsentTier::kPublic, now)) {
      visit(*shared);
    }
    return absl::OkStatus();
  });
}

bool OwnPatterns::MayStillBeShared(const federation::Item& item, privacy::ConsentTier tier,
                                   federation::Instant now) const {
  if (item.kind == federation::ItemKind::kAdapterDelta ||
      item.kind == federation::ItemKind::kContribution) {
    const storage::ReleaseSources* const sources = releases_.Find(item.id);
    return ruvd::privacy::TierAllows(tier, privacy::ShareableKind::kDpAdapterDelta) &&
           sources != nullptr && MayShare(sources->contributors, tier, now);
  }
  if (const storage::ReleaseSources* const sources = releases_.Find(item.id); sources != nullptr) {
    return ruvd::privacy::TierAllows(tier, privacy::ShareableKind::kDpPattern) &&
           MayShare(sources->contributors, tier, now);
  }
  if (!ruvd::privacy::TierAllows(tier, privacy::ShareableKind::kPattern)) {
    return false;
  }
  const absl::StatusOr<federation::SharedPattern> offered =
      federation::DecodeSharedPattern(AsBytes(*item.payload));
  const absl::StatusOr<storage::Pattern> stored =
      offered.ok() ? patterns_.Get(offered->id) : offered.status();
  if (!stored.ok() || stored->origin != self_ || stored->examples < least_examples_ ||
      !ShareablePattern(*stored, *layout_.frame).ok()) {
    return false;
  }
  const auto payload = serving::DecodePatternPayload(stored->payload);
  return payload.ok() && MayBeShared(*payload, tier, now);
}

std::vector<federation::Item> OwnPatterns::RemoveWithdrawn(std::vector<federation::Item>* items,
                                                           privacy::ConsentTier tier,
                                                           federation::Instant now) {
  tier_ = tier;
  if (const absl::Status read = releases_.Load(); !read.ok()) {
    LogError("the sources of own updates cannot be read: {}", MessageOf(read));
  }
  const bool has_delta = std::ranges::any_of(*items, [this](const federation::Item& item) {
    return item.origin == self_ && item.kind == federation::ItemKind::kAdapterDelta;
  });
  const absl::StatusOr<OwnCores> own = has_delta ? NextDelta(tier, now) : OwnCores();
  std::vector<federation::Item> removed;
  std::set<Digest> kept;
  std::erase_if(*items, [&](const federation::Item& item) {
    // Items of masked rounds reveal nothing alone, and a node that sends a different one later is
    // taken for a liar. A checkpoint holds nothing that is not out already.
    if (item.origin != self_ || item.kind == federation::ItemKind::kWithdrawal ||
        federation::IsMaskItem(item.kind) || item.kind == federation::ItemKind::kCheckpoint) {
      return false;
    }
    if (!MayStillBeShared(item, tier, now)) {
      removed.push_back(item);
      return true;
    }
    kept.insert(item.id);
    return false;
  });
  releases_.RetainOnly(kept);
  if (const storage::ReleaseSources* const newest = releases_.NewestUpdate();
      newest != nullptr && own.ok()) {
    in_newest_ = newest->patterns;
    delta_changed_ = in_newest_ != own->patterns;
  }
  return removed;
}

OwnPatterns::Offered OwnPatterns::OfferedBy(const federation::GossipCore& core) const {
  Offered offered;
  for (const federation::Item& item : core.Items()) {
    // Noised centroids belong to no stored pattern.
    if (item.kind == federation::ItemKind::kPattern && item.origin == self_ &&
        releases_.Find(item.id) == nullptr) {
      if (const auto pattern = federation::DecodeSharedPattern(AsBytes(*item.payload));
          pattern.ok()) {
        int64_t& ends_ms = offered[pattern->id][pattern->created_ms];
        ends_ms = std::max(ends_ms, item.expires_ms);
      }
    }
  }
  return offered;
}

std::set<storage::PatternId> OwnPatterns::OfferedIds(const federation::GossipCore& core) const {
  std::set<storage::PatternId> ids;
  for (const federation::Item& item : core.Items()) {
    if (item.kind == federation::ItemKind::kPattern && item.origin == self_) {
      if (const auto id = federation::SharedPatternId(AsBytes(*item.payload))) {
        ids.insert(*id);
      }
    }
  }
  return ids;
}

bool OwnPatterns::IsOffered(const Offered& offered, const federation::SharedPattern& version,
                            const federation::GossipCore& core, federation::Instant now) {
  const auto pattern = offered.find(version.id);
  if (pattern == offered.end()) {
    return false;
  }
  const auto item = pattern->second.find(version.created_ms);
  if (item == pattern->second.end()) {
    return false;
  }
  // An item expires with the certificate at the latest.
  const int64_t would_end_ms =
      std::min(now.wall_ms + limits::kItemLifeMillis, core.certificate().not_after_ms);
  return item->second > now.wall_ms + limits::kOfferAgainMillis || item->second >= would_end_ms;
}

absl::StatusOr<federation::Actions> OwnPatterns::FollowChanges(federation::GossipCore& core,
                                                               federation::Instant now) {
  if (now.now >= next_look_) {
    return RefreshExpiring(
        core, now);  // items expire without a change in the log; the next call handles new changes
  }
  const absl::StatusOr<storage::PatternChangePage> page =
      patterns_.Changes(followed_, kChangesAtOnce);
  if (ReasonOf(page.status()) == reasons::kLogTruncated) {
    const uint64_t last = patterns_.Stats().last_sequence;
    ASSIGN_OR_RETURN(federation::Actions actions, RefreshAll(core, now));
    followed_ = last;  // only after all patterns were handled
    return actions;
  }
  RETURN_IF_ERROR(page.status());
  followed_ = page->last_sequence;
  federation::Actions actions;
  if (page->changes.empty() || !Shares(core.consent())) {
    return actions;  // nothing is offered, and a change of consent checks all patterns anyway
  }
  std::set<storage::PatternId> changed;
  for (const storage::PatternChange& change : page->changes) {
    changed.insert(change.id);
  }
  const Offered offered = OfferedBy(core);
  for (const storage::PatternId& id : changed) {
    Refresh(id, offered, core, now, &actions);
  }
  return actions;
}

absl::StatusOr<federation::Actions> OwnPatterns::RefreshExpiring(federation::GossipCore& core,
                                                                 federation::Instant now) {
  next_look_ = now.now + limits::kOwnPatternsLook;
  federation::Actions actions;
  if (!Shares(core.consent())) {
    return actions;
  }
  const Offered offered = OfferedBy(core);
  // Some items expired, for example while the machine slept. If an origin has more patterns than
  // peers keep, items are always missing, because each offered pattern evicts another.
  if (offered.size() < std::exchange(offered_before_, offered.size()) &&
      offered.size() < limits::kMaxPatternsPerOrigin) {
    return RefreshAll(core, now);
  }
  for (const auto& [id, versions] : offered) {
    const bool ending = std::ranges::any_of(versions, [&](const auto& version) {
      return version.second <= now.wall_ms + limits::kOfferAgainMillis;
    });
    if (ending) {
      Refresh(id, offered, core, now, &actions);
    }
  }
  return actions;
}

federation::Actions OwnPatterns::Refresh(const storage::PatternId& id, federation::GossipCore& core,
                                         federation::Instant now) {
  federation::Actions actions;
  if (Shares(core.consent())) {
    Refresh(id, OfferedBy(core), core, now, &actions);
  }
  return actions;
}

void OwnPatterns::Refresh(const storage::PatternId& id, const Offered& offered,
                          federation::GossipCore& core, federation::Instant now,
                          federation::Actions* actions) {
  absl::StatusOr<storage::Pattern> pattern = patterns_.GetWithoutPayload(id);
  if (pattern.ok() && pattern->origin != self_) {
    return;
  }
  if (pattern.ok()) {
    pattern = patterns_.Get(id);
  }
  if (pattern.ok()) {
    Offer(*pattern, offered, core, now, actions);
  } else {
    Withdraw(id, offered, core,
             actions);  // a damaged pattern too, because it may have been private
  }
}

absl::StatusOr<federation::Actions> OwnPatterns::RefreshAll(federation::GossipCore& core,
                                                            federation::Instant now) {
  next_look_ = now.now + limits::kOwnPatternsLook;
  federation::Actions actions;
  if (std::exchange(tier_, core.consent()) != core.consent()) {
    Append(core.WithdrawAdapterDeltas(),
           &actions);  // they were made under another privacy guarantee
    Withdraw(releases_.ItemsWhere([](const storage::ReleaseSources&) { return true; }), core,
             &actions);
    delta_changed_ = true;
    marks_checked_ = false;
  }
  if (!Shares(tier_)) {
    MarkAllPrivate();
    return actions;
  }
  Withdraw(releases_.ItemsWhere([&](const storage::ReleaseSources& sources) {
    return !MayShare(sources.contributors, tier_, now);
  }),
           core, &actions);
  const Offered offered = OfferedBy(core);
  std::set<storage::PatternId> gone;
  for (const auto& [item, sources] : releases_.all()) {
    for (const auto& [id, updated_ms] : sources.patterns) {
      gone.insert(id);
    }
  }
  for (const auto& [id, versions] : offered) {
    gone.insert(id);
  }
  RETURN_IF_ERROR(serving::ForEachPatternOf(patterns_, self_, [&](const storage::Pattern& pattern) {
    gone.erase(pattern.id);
    Offer(pattern, offered, core, now, &actions);
    return absl::OkStatus();
  }));
  for (const storage::PatternId& id : gone) {
    Withdraw(id, offered, core, &actions);
  }
  return actions;
}

void OwnPatterns::Offer(const storage::Pattern& pattern, const Offered& offered,
                        federation::GossipCore& core, federation::Instant now,
                        federation::Actions* actions) {
  const absl::StatusOr<federation::SharedPattern> shared =
      ShareablePattern(pattern, *layout_.frame);
  if (!shared.ok()) {
    LogDebug("a pattern is not shared: {}", MessageOf(shared.status()));
    MarkPrivate(pattern);
    Withdraw(pattern.id, offered, core, actions);
    return;
  }
  const auto payload = serving::DecodePatternPayload(pattern.payload);
  if (!payload.ok()) {
    Withdraw(pattern.id, offered, core, actions);
    return;
  }
  // Updates are handled separately: they have contributors of their own, perhaps from another
  // version of the pattern.
  if (!MayBeShared(*payload, core.consent(), now)) {
    MarkPrivate(pattern);
    StopOffering(pattern.id, offered, core, actions);
    return;
  }
  if (core.consent() == privacy::ConsentTier::kDp || pattern.examples < least_examples_) {
    MarkPrivate(pattern);
    if (offered.contains(pattern.id)) {
      Append(core.WithdrawPattern(pattern.id), actions);
    }
    const auto released = in_newest_.find(pattern.id);
    delta_changed_ |= released == in_newest_.end() || released->second != pattern.updated_ms;
    return;
  }
  federation::SharedPattern version = *shared;
  if (const auto withdrawn = core.PatternWithdrawn(self_, pattern.id)) {
    version.created_ms =
        std::max(version.created_ms, *withdrawn + 1);  // peers accept only newer versions
  }
  if (IsOffered(offered, version, core, now)) {
    return;
  }
  // Only this version is marked, because a client may have made the pattern private meanwhile.
  const absl::Status marked =
      patterns_.SetTier(pattern.id, storage::SharingTier::kPublic, pattern.stamp);
  if (!marked.ok()) {
    if (!absl::IsAborted(marked) && !absl::IsNotFound(marked)) {
      LogError("a pattern's tier could not be stored: {}", MessageOf(marked));
    }
    return;  // the change that came between is in the log
  }
  absl::StatusOr<federation::Actions> offer = core.OfferPattern(version, now);
  if (!offer.ok()) {
    LogError("a pattern could not be offered: {} [{}]", MessageOf(offer.status()),
             ReasonOf(offer.status()));
    return;
  }
  delta_changed_ = true;
  ++offered_before_;
  Append(*std::move(offer), actions);
}

void OwnPatterns::MarkPrivate(const storage::Pattern& pattern) {
  if (pattern.tier != storage::SharingTier::kPublic) {
    return;
  }
  const absl::Status marked =
      patterns_.SetTier(pattern.id, storage::SharingTier::kPrivate, pattern.stamp);
  if (!marked.ok() && !absl::IsAborted(marked) && !absl::IsNotFound(marked)) {
    LogWarning("a pattern's tier could not be stored: {}", MessageOf(marked));
  }
}

void OwnPatterns::MarkAllPrivate() {
  if (std::exchange(marks_checked_, true)) {
    return;
  }
  const absl::Status read =
      serving::ForEachPatternOf(patterns_, self_, [this](const storage::Pattern& pattern) {
        MarkPrivate(pattern);
        return absl::OkStatus();
      });
  if (!read.ok()) {
    LogWarning("some patterns that are not offered may still be listed as public: {}",
               MessageOf(read));
  }
}

void OwnPatterns::StopOffering(const storage::PatternId& id, const Offered& offered,
                               federation::GossipCore& core, federation::Actions* actions) {
  if (offered.contains(id)) {
    LogInfo("pattern {} is no longer offered to peers", ToHex(id));
    Append(core.WithdrawPattern(id), actions);
  }
}

void OwnPatterns::Withdraw(const storage::PatternId& id, const Offered& offered,
                           federation::GossipCore& core, federation::Actions* actions) {
  StopOffering(id, offered, core, actions);
  Withdraw(releases_.ItemsWhere([&id](const storage::ReleaseSources& sources) {
    return sources.patterns.contains(id);
  }),
           core, actions);
}

}  // namespace ruvd::sharing
