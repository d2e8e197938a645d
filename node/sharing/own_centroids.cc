// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of OwnPatterns that offers noised centroids.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/status.h"
#include "node/log/log.h"
#include "node/sharing/own_patterns.h"

namespace ruvd::sharing {
namespace {

const federation::Item* AcceptedOf(const federation::Actions& actions) {
  for (const federation::Action& action : actions) {
    if (const auto* const accepted = std::get_if<federation::ItemAccepted>(&action);
        accepted != nullptr) {
      return &accepted->item;
    }
  }
  return nullptr;
}

}  // namespace

void OwnPatterns::WithdrawCentroids(federation::GossipCore& core, federation::Actions* actions) {
  std::vector<Digest> gone;
  for (const federation::Item& item : core.Items()) {
    if (item.kind == federation::ItemKind::kPattern && item.origin == self_ &&
        releases_.Find(item.id) != nullptr) {
      gone.push_back(item.id);
    }
  }
  Append(core.WithdrawItems(gone), actions);
  releases_.Forget(gone);
}

federation::Actions OwnPatterns::WithdrawCentroids(federation::GossipCore& core) {
  federation::Actions actions;
  WithdrawCentroids(core, &actions);
  return actions;
}

absl::Status OwnPatterns::OfferCentroid(federation::SharedPattern pattern,
                                        const std::vector<privacy::Contributor>& contributors,
                                        federation::GossipCore& core, federation::Instant now,
                                        federation::Actions* actions) {
  ASSIGN_OR_RETURN(federation::Actions offer,
                   core.OfferPattern(pattern, now, privacy::ShareableKind::kDpPattern));
  const federation::Item* const item = AcceptedOf(offer);
  if (item == nullptr) {
    Append(std::move(offer), actions);
    return absl::OkStatus();
  }
  const Digest id = item->id;
  const absl::Status noted = releases_.Record(
      {.item = id, .created_ms = item->created_ms, .contributors = contributors});
  if (!noted.ok()) {
    std::erase_if(offer, [](const federation::Action& action) {
      return std::holds_alternative<federation::SendFrame>(action) ||
             std::holds_alternative<federation::ItemAccepted>(action);
    });
    Append(core.WithdrawItems({{id}}), &offer);
  }
  Append(std::move(offer), actions);
  return noted;
}

absl::StatusOr<federation::Actions> OwnPatterns::OfferCentroids(DpCentroids& centroids,
                                                                federation::GossipCore& core,
                                                                federation::Instant now) {
  if (core.consent() != privacy::ConsentTier::kDp || consents_ == nullptr || !centroids.Due()) {
    return federation::Actions();
  }
  const absl::StatusOr<NoisedPatterns> noised =
      centroids.Release(consents_->ForRelease(privacy::ConsentTier::kDp, now.wall_ms));
  if (!noised.ok()) {
    return federation::Actions();  // `centroids` has noted the error; it is tried again
  }
  federation::Actions actions;
  // Peers are told about all centroids, because each release has ids of its own.
  WithdrawCentroids(core, &actions);
  for (const federation::SharedPattern& pattern : noised->patterns) {
    const absl::Status offered = OfferCentroid(pattern, noised->contributors, core, now, &actions);
    if (!offered.ok()) {
      LogError("a noised centroid was charged but is not offered: {}", MessageOf(offered));
    }
  }
  return actions;
}

}  // namespace ruvd::sharing
