// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of OwnPatterns that offers noised centroids.

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/status.h"
#include "node/log/log.h"
#include "node/sharing/own_patterns.h"

namespace ruvd {
namespace {

void MoveTo(Actions more, Actions* actions) {
  actions->insert(actions->end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

const Item* AcceptedOf(const Actions& actions) {
  for (const Action& action : actions) {
    if (const auto* const accepted = std::get_if<ItemAccepted>(&action); accepted != nullptr) {
      return &accepted->item;
    }
  }
  return nullptr;
}

}  // namespace

void OwnPatterns::TakeBackCentroids(GossipCore& core, Actions* actions) {
  std::vector<Digest> gone;
  for (const Item& item : core.Items()) {
    if (item.kind == ItemKind::kPattern && item.origin == self_ &&
        releases_.Find(item.id) != nullptr) {
      gone.push_back(item.id);
    }
  }
  MoveTo(core.WithdrawItems(gone), actions);
  releases_.Forget(gone);
}

Actions OwnPatterns::TakeBackCentroids(GossipCore& core) {
  Actions actions;
  TakeBackCentroids(core, &actions);
  return actions;
}

absl::Status OwnPatterns::OfferCentroid(SharedPattern pattern,
                                        const std::vector<Contributor>& contributors,
                                        GossipCore& core, Instant now, Actions* actions) {
  ASSIGN_OR_RETURN(Actions offer, core.OfferPattern(pattern, now, ShareableKind::kDpPattern));
  const Item* const item = AcceptedOf(offer);
  if (item == nullptr) {
    MoveTo(std::move(offer), actions);
    return absl::OkStatus();
  }
  const Digest id = item->id;
  const absl::Status noted = releases_.Note(
      {.item = id, .created_ms = item->created_ms, .patterns = {}, .contributors = contributors});
  if (!noted.ok()) {
    std::erase_if(offer, [](const Action& action) {
      return std::holds_alternative<SendFrame>(action) ||
             std::holds_alternative<ItemAccepted>(action);
    });
    MoveTo(core.WithdrawItems({{id}}), &offer);
  }
  MoveTo(std::move(offer), actions);
  return noted;
}

absl::StatusOr<Actions> OwnPatterns::OfferCentroids(DpCentroids& centroids, GossipCore& core,
                                                    Instant now) {
  if (core.consent() != ConsentTier::kDp || consents_ == nullptr || !centroids.Due()) {
    return Actions();
  }
  const absl::StatusOr<NoisedPatterns> noised =
      centroids.Release(consents_->ForRelease(ConsentTier::kDp, now.wall_ms));
  if (!noised.ok()) {
    return Actions();  // noted; it is tried again
  }
  Actions actions;
  // Peers are told of all: those of a release bear ids of their own.
  TakeBackCentroids(core, &actions);
  for (const SharedPattern& pattern : noised->patterns) {
    const absl::Status offered = OfferCentroid(pattern, noised->contributors, core, now, &actions);
    if (!offered.ok()) {
      LogError("a noised centroid, which is paid for, does not leave: {}", MessageOf(offered));
    }
  }
  return actions;
}

}  // namespace ruvd
