// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/core/gossip_core.h"
#include "node/sharing/dp_centroids.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/own_releases.h"
#include "node/sharing/shared_items.h"
#include "node/sharing/update_layout.h"
#include "storage/consent/consent_book.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// Keeps the offers of this node's own patterns in step with the store. A pattern that was learned
// or made public is offered. A pattern that was deleted, expired or made private is withdrawn,
// together with every update that contains it, and so is a pattern with lessons of a contributor
// whose consent was withdrawn or has ended. Changes are found in the store's log of changes, so
// code that changes a pattern need not report it. A pattern that may leave is offered again before
// its item expires, because only an offered item can be withdrawn from peers. Not thread-safe: the
// federation actor owns it.
//
// Under the tier `public` patterns and plain updates leave. Under `dp` only noised updates and
// noised centroids leave, and each release is charged. Under any other tier nothing leaves from
// here. A noised centroid belongs to no stored pattern. When a contributor to any centroid of a
// release no longer agrees, all centroids of that release are withdrawn together, because a single
// one would reveal where the contributor's lessons lie.
//
// Methods return the actions that the owner of the core has to carry out.
class OwnPatterns {
 public:
  // All borrowed objects must outlive this object. It follows the log from the log's present end.
  // If `consents` is null, patterns have no contributors and no noised update leaves. A pattern
  // with fewer lessons than `least_examples` does not leave, because its embedding reveals too much
  // about their prompts; its core may still be part of updates. If `releases` is null, the
  // contributors of a noised update are unknown after a restart, and the update is withdrawn then.
  OwnPatterns(storage::PatternStore& patterns, UpdateLayout layout, const privacy::NodeId& self,
              const storage::ConsentBook* consents = nullptr, uint32_t least_examples = 1,
              storage::ReleaseSourceStore* releases = nullptr);

  // Removes stored items of this node that may not be offered again under `tier` after a restart:
  // patterns that are gone or may no longer leave, and updates with a contributor who no longer
  // agrees or with unknown contributors. Items of peers stay. RefreshAll withdraws the items of
  // deleted patterns. Returns the removed items.
  std::vector<federation::Item> RemoveWithdrawn(std::vector<federation::Item>* items,
                                                privacy::ConsentTier tier, federation::Instant now);

  // Offers and withdraws patterns according to the changes since the last call. It handles one page
  // of the log; the next call handles the rest. Returns the errors of PatternStore::Changes.
  absl::StatusOr<federation::Actions> FollowChanges(federation::GossipCore& core,
                                                    federation::Instant now);
  // Updates the offer of one pattern at once.
  federation::Actions Refresh(const storage::PatternId& id, federation::GossipCore& core,
                              federation::Instant now);
  // Updates the offers of all patterns: after a start, after a change of consent, or if the log was
  // cut.
  absl::StatusOr<federation::Actions> RefreshAll(federation::GossipCore& core,
                                                 federation::Instant now);

  // Returns the own patterns that peers can get.
  std::set<storage::PatternId> OfferedIds(const federation::GossipCore& core) const;
  // Returns whether the own update differs from the last offered one.
  bool delta_changed() const { return delta_changed_; }
  // Offers the own update without noise under the number `round`. Does nothing under a tier other
  // than `public`, or if nothing was learned.
  absl::StatusOr<federation::Actions> OfferDelta(uint64_t round, federation::GossipCore& core,
                                                 federation::Instant now);
  // Charges for the own update and offers it noised. Does nothing under a tier other than `dp`,
  // before the interval of `release` is over, or if the update contains the same patterns as the
  // last release. `release` notes its refusals itself; a refused update still counts as changed.
  absl::StatusOr<federation::Actions> OfferNoised(uint64_t round, DpRelease& release,
                                                  federation::GossipCore& core,
                                                  federation::Instant now);
  // Records whose lessons are in a contribution that was just offered, before `offered` is
  // performed: if they withdraw their consent, it is withdrawn. If that fails, returns actions that
  // take the contribution back.
  federation::Actions RecordContribution(federation::Actions offered,
                                         std::vector<privacy::Contributor> contributors,
                                         federation::GossipCore& core);
  // Charges for noised centroids of the lessons and offers them instead of the previous ones. Does
  // nothing under a tier other than `dp`, or if no release is due. `centroids` notes its refusals
  // itself.
  absl::StatusOr<federation::Actions> OfferCentroids(DpCentroids& centroids,
                                                     federation::GossipCore& core,
                                                     federation::Instant now);
  // Withdraws the noised centroids that peers can get.
  federation::Actions WithdrawCentroids(federation::GossipCore& core);
  // Returns the update that would be offered next under `tier`.
  absl::StatusOr<OwnCores> NextDelta(privacy::ConsentTier tier, federation::Instant now) const;
  // Visits the patterns that would leave under `public`, in order of id. Returns the errors of the
  // store.
  absl::Status ForEachShareable(
      federation::Instant now,
      const std::function<void(const federation::SharedPattern&)>& visit) const;

 private:
  static void Append(federation::Actions more, federation::Actions* actions);
  bool MayShare(const std::vector<privacy::Contributor>& contributors, privacy::ConsentTier tier,
                federation::Instant now) const;
  bool MayBeShared(const serving::PatternPayload& payload, privacy::ConsentTier tier,
                   federation::Instant now) const;
  bool MayStillBeShared(const federation::Item& item, privacy::ConsentTier tier,
                        federation::Instant now) const;
  // Records the sources of an own update before peers learn of it. If that fails, the update is not
  // offered.
  federation::Actions RecordSources(federation::Actions offered, OwnCores own,
                                    federation::GossipCore& core);
  // Records the sources of the item that `offered` accepts, and forgets those of items that are
  // gone. If that fails, the item is withdrawn and taken out of `offered`. Returns whether there is
  // an item with recorded sources.
  bool Record(storage::ReleaseSources sources, federation::GossipCore& core,
              federation::Actions* offered);
  // Withdraws updates, and updates the view of what peers can get.
  void Withdraw(const std::vector<Digest>& updates, federation::GossipCore& core,
                federation::Actions* actions);
  // The versions of own patterns that peers can get, by updated_ms, with the end times of their
  // items.
  using Offered = std::map<storage::PatternId, std::map<int64_t, int64_t>>;
  Offered OfferedBy(const federation::GossipCore& core) const;
  // Returns whether peers can get this version for as long as if it were offered now.
  static bool IsOffered(const Offered& offered, const federation::SharedPattern& version,
                        const federation::GossipCore& core, federation::Instant now);
  void Refresh(const storage::PatternId& id, const Offered& offered, federation::GossipCore& core,
               federation::Instant now, federation::Actions* actions);
  // Updates the offers of patterns whose items expire soon, or of all patterns if some items have
  // expired. Returns the errors of RefreshAll.
  absl::StatusOr<federation::Actions> RefreshExpiring(federation::GossipCore& core,
                                                      federation::Instant now);
  void Offer(const storage::Pattern& pattern, const Offered& offered, federation::GossipCore& core,
             federation::Instant now, federation::Actions* actions);
  // Marks a public row as private, because peers cannot get the pattern. Does nothing if the
  // pattern changed meanwhile.
  void MarkPrivate(const storage::Pattern& pattern);
  // Does what MarkPrivate does for all patterns, under a tier that lets no pattern leave.
  void MarkAllPrivate();
  // Withdraws a pattern and every update that contains it.
  void StopOffering(const storage::PatternId& id, const Offered& offered,
                    federation::GossipCore& core, federation::Actions* actions);
  void Withdraw(const storage::PatternId& id, const Offered& offered, federation::GossipCore& core,
                federation::Actions* actions);
  // Withdraws the centroids of an earlier release.
  void WithdrawCentroids(federation::GossipCore& core, federation::Actions* actions);
  // Offers a centroid and records its contributors first. If they cannot be recorded, the centroid
  // is not offered.
  absl::Status OfferCentroid(federation::SharedPattern pattern,
                             const std::vector<privacy::Contributor>& contributors,
                             federation::GossipCore& core, federation::Instant now,
                             federation::Actions* actions);

  storage::PatternStore& patterns_;
  const UpdateLayout layout_;
  const privacy::NodeId self_;
  const storage::ConsentBook* const consents_;
  const uint32_t least_examples_;
  uint64_t followed_ = 0;  // number of the last change that was handled
  OwnReleases releases_;
  // Own patterns whose cores are in the newest offered update, with their updated_ms.
  std::map<storage::PatternId, int64_t> in_newest_;
  privacy::ConsentTier tier_ = privacy::ConsentTier::kPrivate;  // tier of the last RefreshAll
  TimePoint next_look_{};                                       // time of the next RefreshExpiring
  size_t offered_before_ = 0;   // number of offered patterns at the last such check
  bool marks_checked_ = false;  // under the present tier
  bool delta_changed_ = true;   // true at first: it is unknown what was offered before the start
};

}  // namespace ruvd::sharing
