// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <vector>

#include "node/actors/federated_rounds.h"
#include "node/actors/peer_learning.h"
#include "node/sharing/masked_sharing.h"

namespace ruvd::actors {

// Offers updates of this node's patterns' cores, plain, noised or as shares of masked sums, and
// combines those of all nodes (FederatedRounds).
class UpdateLearning final : public PeerLearning {
 public:
  // Everything that `options` point to, and `own`, must outlive this object.
  UpdateLearning(const FederationActorOptions& options, sharing::OwnPatterns& own, Perform perform,
                 std::function<std::vector<federation::Item>()> newest);

  absl::Status Restore() override;
  void OnRestored(const federation::GossipCore& core, Context& context) override;
  void OnItem(const federation::Item& item) override;
  void OnDropped(const federation::ItemDropped& dropped) override;
  void OnWithdrawn(const federation::Item& item) override;
  // Rebuilds the adapter without these members. This covers what they gave to masked sums that
  // newer sums replaced, and a crash between learning about a member and acting on it.
  void ExcludeExpelled(const federation::GossipCore& core) override;
  void OnPerformed(Context& context) override;
  void OnTick(federation::GossipCore& core, int64_t consent_since_ms, Context& context) override;
  void OnSharingChanged() override {}
  void OnConsent(federation::GossipCore& core, Context& context) override;
  void OnLessonsWithdrawn(federation::GossipCore&, Context&) override {}
  absl::Status CheckPreview(privacy::ConsentTier) const override { return absl::OkStatus(); }
  void Describe(sharing::FederationView* view) override;

 private:
  federation::Instant Now() const { return federation::Instant::Of(*options_.clock); }
  void TickMasked(federation::GossipCore& core, int64_t consent_since_ms, Context& context);
  void OfferOwnUpdate(federation::GossipCore& core, Context& context);
  // Performs an offer, or logs why nothing was offered.
  void PerformOffer(absl::StatusOr<federation::Actions> offer, Context& context);

  const FederationActorOptions& options_;
  sharing::OwnPatterns& own_;
  const Perform perform_;
  sharing::MaskedSharing masked_;
  FederatedRounds rounds_;
  bool inputs_changed_ = false;  // of the next round, since the last list of actions
  TimePoint next_offer_{};
};

}  // namespace ruvd::actors
