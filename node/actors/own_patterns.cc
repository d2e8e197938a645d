// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/own_patterns.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/shared_items.h"
#include "storage/reasons.h"

namespace ruvd {
namespace {

// Of the log in one call: the actor has peers to answer, too.
constexpr size_t kChangesAtOnce = 256;

void Append(Actions more, Actions* actions) {
  actions->insert(actions->end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

bool SameDelta(const Item& item, const AdapterDelta& delta) {
  AdapterDelta sorted = delta;
  SortCores(sorted.cores);
  return !sorted.cores.empty() && EncodeAdapterDelta(sorted) == *item.payload;
}

}  // namespace

OwnPatterns::OwnPatterns(PatternStore& patterns, const Frame& frame, const NodeId& self)
    : patterns_(patterns), frame_(frame), self_(self), followed_(patterns.Stats().last_sequence) {}

bool OwnPatterns::MayStillLeave(const Item& item, const absl::StatusOr<OwnCores>& own) const {
  if (item.kind != ItemKind::kPattern) {
    return own.ok() && SameDelta(item, own->delta);
  }
  const absl::StatusOr<SharedPattern> offered = DecodeSharedPattern(AsBytes(*item.payload));
  const absl::StatusOr<Pattern> stored =
      offered.ok() ? patterns_.Get(offered->id) : offered.status();
  return stored.ok() && stored->origin == self_ && ShareablePattern(*stored, frame_).ok();
}

std::vector<Digest> OwnPatterns::RemoveTakenBack(std::vector<Item>* items) {
  const bool has_delta = std::ranges::any_of(*items, [this](const Item& item) {
    return item.origin == self_ && item.kind == ItemKind::kAdapterDelta;
  });
  const absl::StatusOr<OwnCores> own = has_delta ? OwnDelta(patterns_, self_, frame_) : OwnCores();
  std::vector<Digest> removed;
  std::erase_if(*items, [&](const Item& item) {
    if (item.origin != self_) {
      return false;
    }
    if (!MayStillLeave(item, own)) {
      removed.push_back(item.id);
      return true;
    }
    if (item.kind == ItemKind::kAdapterDelta) {
      in_deltas_ = own->patterns;
      delta_changed_ = false;
    }
    return false;
  });
  return removed;
}

OwnPatterns::Offered OwnPatterns::OfferedBy(const GossipCore& core) const {
  Offered offered;
  for (const Item& item : core.Items()) {
    if (item.kind == ItemKind::kPattern && item.origin == self_) {
      if (const auto pattern = DecodeSharedPattern(AsBytes(*item.payload)); pattern.ok()) {
        offered[pattern->id].insert(pattern->created_ms);
      }
    }
  }
  return offered;
}

absl::StatusOr<Actions> OwnPatterns::FollowChanges(GossipCore& core, Instant now) {
  const absl::StatusOr<PatternChangePage> page = patterns_.Changes(followed_, kChangesAtOnce);
  if (ReasonOf(page.status()) == reasons::kLogTruncated) {
    const uint64_t last = patterns_.Stats().last_sequence;
    ASSIGN_OR_RETURN(Actions actions, RefreshAll(core, now));
    followed_ = last;  // not before all were looked at
    return actions;
  }
  RETURN_IF_ERROR(page.status());
  followed_ = page->last_sequence;
  Actions actions;
  if (page->changes.empty() || core.consent() != ConsentTier::kPublic) {
    return actions;  // nothing is offered, and a change of consent looks at all
  }
  std::set<PatternId> changed;
  for (const PatternChange& change : page->changes) {
    changed.insert(change.id);
  }
  const Offered offered = OfferedBy(core);
  for (const PatternId& id : changed) {
    Refresh(id, offered, core, now, &actions);
  }
  return actions;
}

Actions OwnPatterns::Refresh(const PatternId& id, GossipCore& core, Instant now) {
  Actions actions;
  if (core.consent() == ConsentTier::kPublic) {
    Refresh(id, OfferedBy(core), core, now, &actions);
  }
  return actions;
}

void OwnPatterns::Refresh(const PatternId& id, const Offered& offered, GossipCore& core,
                          Instant now, Actions* actions) {
  absl::StatusOr<Pattern> pattern = patterns_.GetWithoutPayload(id);
  if (pattern.ok() && pattern->origin != self_) {
    return;
  }
  if (pattern.ok()) {
    pattern = patterns_.Get(id);
  }
  if (pattern.ok()) {
    Offer(*pattern, offered, core, now, actions);
  } else {
    TakeBack(id, offered, core, actions);  // a damaged one, too: it may have been private
  }
}

absl::StatusOr<Actions> OwnPatterns::RefreshAll(GossipCore& core, Instant now) {
  Actions actions;
  if (core.consent() != ConsentTier::kPublic) {
    in_deltas_.clear();
    return actions;
  }
  const Offered offered = OfferedBy(core);
  std::set<PatternId> gone = in_deltas_;
  for (const auto& [id, versions] : offered) {
    gone.insert(id);
  }
  RETURN_IF_ERROR(ForEachPatternOf(patterns_, self_, [&](const Pattern& pattern) {
    gone.erase(pattern.id);
    Offer(pattern, offered, core, now, &actions);
    return absl::OkStatus();
  }));
  for (const PatternId& id : gone) {
    TakeBack(id, offered, core, &actions);
  }
  return actions;
}

void OwnPatterns::Offer(const Pattern& pattern, const Offered& offered, GossipCore& core,
                        Instant now, Actions* actions) {
  const absl::StatusOr<SharedPattern> shared = ShareablePattern(pattern, frame_);
  if (!shared.ok()) {
    spdlog::debug("a pattern stays here: {}", MessageOf(shared.status()));
    TakeBack(pattern.id, offered, core, actions);
    return;
  }
  const auto found = offered.find(pattern.id);
  if (found != offered.end() && found->second.contains(pattern.updated_ms)) {
    return;
  }
  // Of this version only: a client may have made it private meanwhile.
  const absl::Status marked = patterns_.SetTier(pattern.id, SharingTier::kPublic, pattern.stamp);
  if (!marked.ok()) {
    if (!absl::IsAborted(marked) && !absl::IsNotFound(marked)) {
      spdlog::error("a pattern's tier could not be stored: {}", MessageOf(marked));
    }
    return;  // what came between is in the log of changes
  }
  absl::StatusOr<Actions> offer = core.OfferPattern(*shared, now);
  if (!offer.ok()) {
    spdlog::error("a pattern could not be offered: {} [{}]", MessageOf(offer.status()),
                  ReasonOf(offer.status()));
    return;
  }
  delta_changed_ = true;
  Append(*std::move(offer), actions);
}

void OwnPatterns::TakeBack(const PatternId& id, const Offered& offered, GossipCore& core,
                           Actions* actions) {
  if (offered.contains(id)) {
    spdlog::info("pattern {} is no longer offered to peers", ToHex(id));
    Append(core.WithdrawPattern(id), actions);
  }
  if (in_deltas_.contains(id)) {
    Append(core.WithdrawAdapterDeltas(), actions);
    in_deltas_.clear();
    delta_changed_ = true;
  }
}

absl::StatusOr<Actions> OwnPatterns::OfferDelta(uint64_t round, GossipCore& core, Instant now) {
  if (core.consent() != ConsentTier::kPublic) {
    return Actions();
  }
  ASSIGN_OR_RETURN(OwnCores own, OwnDelta(patterns_, self_, frame_));
  if (own.delta.cores.empty()) {
    delta_changed_ = false;
    return Actions();
  }
  ASSIGN_OR_RETURN(Actions actions, core.OfferAdapterDelta(round, std::move(own.delta), now));
  delta_changed_ = false;
  in_deltas_.merge(own.patterns);
  return actions;
}

}  // namespace ruvd
