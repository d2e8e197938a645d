// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/own_patterns.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/limits.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/pattern_walk.h"
#include "node/sharing/shared_items.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
namespace {

// Changes of the log that one call handles; few, because the actor has to answer peers too.
constexpr size_t kChangesAtOnce = 256;

// Returns whether patterns leave under a tier.
bool Shares(privacy::ConsentTier tier) {
  return tier == privacy::ConsentTier::kPublic;
}

}  // namespace

OwnPatterns::OwnPatterns(storage::PatternStore& patterns, const inference::FrameSet* frame,
                         const privacy::NodeId& self, const storage::ConsentBook* consents,
                         uint32_t least_examples, storage::ReleaseSourceStore* releases)
    : patterns_(patterns),
      frame_(frame),
      self_(self),
      consents_(consents),
      least_examples_(least_examples),
      followed_(patterns.Stats().last_sequence),
      releases_(releases) {}

void OwnPatterns::Append(federation::Actions more, federation::Actions* actions) {
  actions->insert(actions->end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

// A pattern that the operator stored has no contributors. It leaves under `public` with the
// operator's consent alone.
bool OwnPatterns::MayShare(const std::vector<privacy::Contributor>& contributors,
                           privacy::ConsentTier tier, federation::Instant now) const {
  if (contributors.empty() || consents_ == nullptr) {
    return tier == privacy::ConsentTier::kPublic;
  }
  return consents_->MayShare(contributors, tier, now.wall_ms);
}

bool OwnPatterns::MayBeShared(const serving::PatternPayload& payload, privacy::ConsentTier tier,
                              federation::Instant now) const {
  return payload.shareable && MayShare(payload.contributors, tier, now);
}

absl::Status OwnPatterns::ForEachShareable(
    federation::Instant now,
    const std::function<void(const federation::SharedPattern&)>& visit) const {
  return serving::ForEachPatternOf(patterns_, self_, [&](const storage::Pattern& pattern) {
    const absl::StatusOr<federation::SharedPattern> shared = ShareablePattern(pattern, frame_);
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
  if (item.kind == federation::ItemKind::kContribution ||
      item.kind == federation::ItemKind::kVerdict) {
    const storage::ReleaseSources* const sources = releases_.Find(item.id);
    const auto kind = item.kind == federation::ItemKind::kVerdict
                          ? privacy::ShareableKind::kContribution
                          : privacy::ShareableKind::kDpContribution;
    return ruvd::privacy::TierAllows(tier, kind) && sources != nullptr &&
           MayShare(sources->contributors, tier, now);
  }
  if (item.kind == federation::ItemKind::kExpert) {
    const storage::ReleaseSources* const sources = releases_.Find(item.id);
    return ruvd::privacy::TierAllows(tier, privacy::ShareableKind::kPattern) &&
           sources != nullptr && MayShare(sources->contributors, tier, now);
  }
  if (!ruvd::privacy::TierAllows(tier, privacy::ShareableKind::kPattern)) {
    return false;
  }
  const absl::StatusOr<federation::SharedPattern> offered =
      federation::DecodeSharedPattern(AsBytes(*item.payload));
  const absl::StatusOr<storage::Pattern> stored =
      offered.ok() ? patterns_.Get(offered->id) : offered.status();
  if (!stored.ok() || stored->origin != self_ || stored->examples < least_examples_ ||
      !ShareablePattern(*stored, frame_).ok()) {
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
    LogError("the contributors of what this node offers cannot be read: {}", MessageOf(read));
  }
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
  return removed;
}

OwnPatterns::Offered OwnPatterns::OfferedBy(const federation::GossipCore& core) const {
  Offered offered;
  for (const federation::Item& item : core.Items()) {
    if (item.kind == federation::ItemKind::kPattern && item.origin == self_) {
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
    // A damaged pattern is withdrawn, too, because it may have been private.
    StopOffering(id, offered, core, actions);
  }
}

absl::StatusOr<federation::Actions> OwnPatterns::RefreshAll(federation::GossipCore& core,
                                                            federation::Instant now) {
  next_look_ = now.now + limits::kOwnPatternsLook;
  federation::Actions actions;
  if (std::exchange(tier_, core.consent()) != core.consent()) {
    Append(core.WithdrawContributions(),
           &actions);  // they were made under another privacy guarantee
    WithdrawReleases([](const storage::ReleaseSources&) { return true; }, core, &actions);
    marks_checked_ = false;
  }
  WithdrawReleases(
      [&](const storage::ReleaseSources& sources) {
        return !MayShare(sources.contributors, tier_, now);
      },
      core, &actions);
  const Offered offered = OfferedBy(core);
  std::set<storage::PatternId> gone;
  for (const auto& [id, versions] : offered) {
    gone.insert(id);
  }
  if (!Shares(tier_)) {
    for (const storage::PatternId& id : gone) {
      StopOffering(id, offered, core, &actions);
    }
    MarkAllPrivate();
    return actions;
  }
  RETURN_IF_ERROR(serving::ForEachPatternOf(patterns_, self_, [&](const storage::Pattern& pattern) {
    gone.erase(pattern.id);
    Offer(pattern, offered, core, now, &actions);
    return absl::OkStatus();
  }));
  for (const storage::PatternId& id : gone) {
    StopOffering(id, offered, core, &actions);
  }
  return actions;
}

void OwnPatterns::Offer(const storage::Pattern& pattern, const Offered& offered,
                        federation::GossipCore& core, federation::Instant now,
                        federation::Actions* actions) {
  const absl::StatusOr<federation::SharedPattern> shared = ShareablePattern(pattern, frame_);
  if (!shared.ok()) {
    LogDebug("a pattern is not shared: {}", MessageOf(shared.status()));
    MarkPrivate(pattern);
    StopOffering(pattern.id, offered, core, actions);
    return;
  }
  const auto payload = serving::DecodePatternPayload(pattern.payload);
  if (!payload.ok()) {
    StopOffering(pattern.id, offered, core, actions);
    return;
  }
  if (!MayBeShared(*payload, core.consent(), now) || pattern.examples < least_examples_) {
    MarkPrivate(pattern);
    StopOffering(pattern.id, offered, core, actions);
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

void OwnPatterns::WithdrawReleases(const std::function<bool(const storage::ReleaseSources&)>& which,
                                   federation::GossipCore& core, federation::Actions* actions) {
  const std::vector<Digest> items = releases_.ItemsWhere(which);
  if (!items.empty()) {
    Append(core.WithdrawItems(items), actions);
    releases_.Forget(items);
  }
}

federation::Actions OwnPatterns::RecordContribution(federation::Actions offered,
                                                    std::vector<privacy::Contributor> contributors,
                                                    federation::GossipCore& core) {
  const auto accepted = std::ranges::find_if(offered, [](const federation::Action& action) {
    return std::holds_alternative<federation::ItemAccepted>(action);
  });
  if (accepted == offered.end()) {
    return offered;
  }
  const federation::Item& item = std::get<federation::ItemAccepted>(*accepted).item;
  const Digest id = item.id;
  const absl::Status noted = releases_.Record(
      {.item = id, .created_ms = item.created_ms, .contributors = std::move(contributors)});
  if (!noted.ok()) {
    LogError("a contribution is not offered, because its contributors could not be recorded: {}",
             MessageOf(noted));
    std::erase_if(offered, [](const federation::Action& action) {
      return std::holds_alternative<federation::SendFrame>(action) ||
             std::holds_alternative<federation::ItemAccepted>(action);
    });
    Append(core.WithdrawItems({{id}}), &offered);
    return offered;
  }
  std::set<Digest> live;
  for (const federation::Item& one : core.Items()) {
    live.insert(one.id);
  }
  releases_.RetainOnly(live);
  return offered;
}

}  // namespace ruvd::sharing
