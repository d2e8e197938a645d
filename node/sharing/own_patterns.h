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

// Keeps what peers are offered of this node's own patterns in step with the store: a pattern that
// was learned or made public is offered, one that was deleted, expired or made private is taken
// back, with every delta that it is part of. What peers have by then stays with them. Whoever
// changes a pattern need not say so: the store's log of changes is followed. The same happens when
// somebody whose lessons are in a pattern withdraws a consent or it ends. A pattern that may leave
// is offered anew before its item ends: peers go on to have it, and only what is offered can be
// taken back. Not thread-safe: the federation actor owns it.
//
// Under the tier `public` patterns and plain updates leave, under `dp` noised updates and noised
// centroids only, each release charged; under any other nothing does. Noised centroids are of no
// stored pattern: those of one release are taken back together, when somebody whose lessons are in
// any of them no longer agrees, since which of them it was would tell where those lessons lie.
//
// Methods return what the owner of the core has to do.
class OwnPatterns {
 public:
  // Everything borrowed outlives it. Follows the log from its present end on. `consents` may be
  // null: then patterns are nobody's, and no noised update leaves. A pattern of fewer lessons than
  // `least_examples` stays, as its embedding says too much of their prompts; its core may be part
  // of updates. `releases` may be null: then nobody knows after a restart whose lessons are in a
  // noised update, and it is taken back.
  OwnPatterns(storage::PatternStore& patterns, UpdateLayout layout, const privacy::NodeId& self,
              const storage::ConsentBook* consents = nullptr, uint32_t least_examples = 1,
              storage::ReleaseSourceStore* releases = nullptr);

  // Removes the items of an earlier life of the node that may not be offered again under `tier`:
  // patterns that are gone or may no longer leave, updates of which somebody no longer agrees or
  // nobody knows whose they are. RefreshAll takes back those of patterns that are gone. Those of
  // peers stay. Returns what it removed.
  std::vector<federation::Item> RemoveTakenBack(std::vector<federation::Item>* items,
                                                privacy::ConsentTier tier, federation::Instant now);

  // Offers and takes back what the changes since the last call ask for: a page of the log, the rest
  // in the next call. The errors of PatternStore::Changes.
  absl::StatusOr<federation::Actions> FollowChanges(federation::GossipCore& core,
                                                    federation::Instant now);
  // The same for one pattern at once.
  federation::Actions Refresh(const storage::PatternId& id, federation::GossipCore& core,
                              federation::Instant now);
  // The same for all of them: after a start, a change of consent, or where the log is cut.
  absl::StatusOr<federation::Actions> RefreshAll(federation::GossipCore& core,
                                                 federation::Instant now);

  // The own patterns that peers can get.
  std::set<storage::PatternId> OfferedIds(const federation::GossipCore& core) const;
  // Whether the own delta is another than the one offered last.
  bool delta_changed() const { return delta_changed_; }
  // Offers it plain under the number `round`. Nothing under another tier than `public`, or where
  // nothing was learned.
  absl::StatusOr<federation::Actions> OfferDelta(uint64_t round, federation::GossipCore& core,
                                                 federation::Instant now);
  // Charges for it and offers it noised. Nothing under another tier than `dp`, before the interval
  // of `release` is over, or where the delta is made of what was released last. What `release`
  // refuses it notes itself; such a delta counts as changed.
  absl::StatusOr<federation::Actions> OfferNoised(uint64_t round, DpRelease& release,
                                                  federation::GossipCore& core,
                                                  federation::Instant now);
  // Charges for and offers noised centroids of the lessons, in place of those of the release
  // before. Nothing under another tier than `dp`, or where none is due; what `centroids` refuses it
  // notes itself.
  absl::StatusOr<federation::Actions> OfferCentroids(DpCentroids& centroids,
                                                     federation::GossipCore& core,
                                                     federation::Instant now);
  // Takes back those that peers can get.
  federation::Actions TakeBackCentroids(federation::GossipCore& core);
  // What would be offered next under `tier`.
  absl::StatusOr<OwnCores> NextDelta(privacy::ConsentTier tier, federation::Instant now) const;
  // The patterns that would be under `public`, in order of id. The errors of the store.
  absl::Status ForEachToLeave(
      federation::Instant now,
      const std::function<void(const federation::SharedPattern&)>& visit) const;

 private:
  bool MayShare(const std::vector<privacy::Contributor>& contributors, privacy::ConsentTier tier,
                federation::Instant now) const;
  bool MayLeave(const serving::PatternPayload& payload, privacy::ConsentTier tier,
                federation::Instant now) const;
  bool MayStillLeave(const federation::Item& item, privacy::ConsentTier tier,
                     federation::Instant now) const;
  // Notes what an own update was made of before anybody hears of it. Where that fails, nobody does.
  federation::Actions Note(federation::Actions offered, OwnCores own, federation::GossipCore& core);
  // Takes updates back, and looks anew at what peers have.
  void TakeBack(const std::vector<Digest>& updates, federation::GossipCore& core,
                federation::Actions* actions);
  // The versions of own patterns that peers can get, by updated_ms, and when their items end.
  using Offered = std::map<storage::PatternId, std::map<int64_t, int64_t>>;
  Offered OfferedBy(const federation::GossipCore& core) const;
  // Whether peers can get this version, and as long as if it were offered now.
  static bool IsOffered(const Offered& offered, const federation::SharedPattern& version,
                        const federation::GossipCore& core, federation::Instant now);
  void Refresh(const storage::PatternId& id, const Offered& offered, federation::GossipCore& core,
               federation::Instant now, federation::Actions* actions);
  // The same for those whose items end soon, or of all where some ended. The errors of RefreshAll.
  absl::StatusOr<federation::Actions> RefreshEnding(federation::GossipCore& core,
                                                    federation::Instant now);
  void Offer(const storage::Pattern& pattern, const Offered& offered, federation::GossipCore& core,
             federation::Instant now, federation::Actions* actions);
  // Where its row says that peers get it. OK where another version came between.
  void MarkKept(const storage::Pattern& pattern);
  // The same of all of them, under a tier that no pattern leaves under.
  void MarkAllKept();
  // A pattern itself, and with it the updates that it is part of.
  void StopOffering(const storage::PatternId& id, const Offered& offered,
                    federation::GossipCore& core, federation::Actions* actions);
  void TakeBack(const storage::PatternId& id, const Offered& offered, federation::GossipCore& core,
                federation::Actions* actions);
  // The same of what an earlier release of centroids gave.
  void TakeBackCentroids(federation::GossipCore& core, federation::Actions* actions);
  // Offers one and notes whose lessons are in it. Where that cannot be noted nobody gets it.
  absl::Status OfferCentroid(federation::SharedPattern pattern,
                             const std::vector<privacy::Contributor>& contributors,
                             federation::GossipCore& core, federation::Instant now,
                             federation::Actions* actions);

  storage::PatternStore& patterns_;
  const UpdateLayout layout_;
  const privacy::NodeId self_;
  const storage::ConsentBook* const consents_;
  const uint32_t least_examples_;
  uint64_t followed_ = 0;  // the number of the last change that was looked at
  OwnReleases releases_;
  // Own patterns whose cores are part of the newest offered delta, with their updated_ms.
  std::map<storage::PatternId, int64_t> in_newest_;
  privacy::ConsentTier tier_ =
      privacy::ConsentTier::kPrivate;  // that the last look at all of them was under
  TimePoint next_look_{};              // at what ends soon
  size_t offered_before_ = 0;          // at the last such look, and since then
  bool marks_checked_ = false;         // under the tier
  bool delta_changed_ = true;          // since nobody knows what an earlier life offered
};

}  // namespace ruvd::sharing
