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
#include "inference/adapter/frame_set.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/own_releases.h"
#include "storage/consent/consent_book.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// Keeps the offers of this node's own patterns in step with the store, and remembers whose lessons
// are in what this node offers. A pattern that was learned or made public is offered. A pattern
// that was deleted, expired or made private is withdrawn, and so is a pattern or a contribution
// with lessons of a contributor whose consent was withdrawn or has ended. Changes are found in the
// store's log of changes, so code that changes a pattern need not report it. A pattern that may
// leave is offered again before its item expires, because only an offered item can be withdrawn
// from peers. Not thread-safe: the federation actor owns it.
//
// Patterns leave under the tier `public` alone.
//
// Methods return the actions that the owner of the core has to carry out.
class OwnPatterns {
 public:
  // All borrowed objects must outlive this object. It follows the log from the log's present end.
  // If `frame` is null, no pattern leaves.
  // If `consents` is null, patterns have no contributors. A pattern with fewer lessons than
  // `least_examples` does not leave, because its embedding reveals too much about their prompts. If
  // `releases` is null, the contributors of a contribution are unknown after a restart, and it is
  // withdrawn then.
  OwnPatterns(storage::PatternStore& patterns, const inference::FrameSet* frame,
              const privacy::NodeId& self, const storage::ConsentBook* consents = nullptr,
              uint32_t least_examples = 1, storage::ReleaseSourceStore* releases = nullptr);

  // Removes stored items of this node that may not be offered again under `tier` after a restart:
  // patterns that are gone or may no longer leave, and contributions with a contributor who no
  // longer agrees or with unknown contributors. Items of peers stay. RefreshAll withdraws the items
  // of deleted patterns. Returns the removed items.
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

  // Returns whether what has lessons of these people may leave under a tier now.
  bool MayShare(const std::vector<privacy::Contributor>& contributors, privacy::ConsentTier tier,
                federation::Instant now) const;
  // Returns the own patterns that peers can get.
  std::set<storage::PatternId> OfferedIds(const federation::GossipCore& core) const;
  // Records whose lessons are in a contribution, verdict or expert that was just offered, before
  // `offered` is performed: if they withdraw their consent, it is withdrawn. If that fails, returns
  // actions that take the item back.
  federation::Actions RecordContribution(federation::Actions offered,
                                         std::vector<privacy::Contributor> contributors,
                                         federation::GossipCore& core);
  // Visits the patterns that would leave under `public`, in order of id. Returns the errors of the
  // store.
  absl::Status ForEachShareable(
      federation::Instant now,
      const std::function<void(const federation::SharedPattern&)>& visit) const;

 private:
  static void Append(federation::Actions more, federation::Actions* actions);
  bool MayBeShared(const serving::PatternPayload& payload, privacy::ConsentTier tier,
                   federation::Instant now) const;
  bool MayStillBeShared(const federation::Item& item, privacy::ConsentTier tier,
                        federation::Instant now) const;
  // Withdraws the contributions, verdicts and experts with such sources.
  void WithdrawReleases(const std::function<bool(const storage::ReleaseSources&)>& which,
                        federation::GossipCore& core, federation::Actions* actions);
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
  // Withdraws a pattern if it is offered.
  static void StopOffering(const storage::PatternId& id, const Offered& offered,
                           federation::GossipCore& core, federation::Actions* actions);

  storage::PatternStore& patterns_;
  const inference::FrameSet* const frame_;
  const privacy::NodeId self_;
  const storage::ConsentBook* const consents_;
  const uint32_t least_examples_;
  uint64_t followed_ = 0;  // number of the last change that was handled
  OwnReleases releases_;
  privacy::ConsentTier tier_ = privacy::ConsentTier::kPrivate;  // tier of the last RefreshAll
  TimePoint next_look_{};                                       // time of the next RefreshExpiring
  size_t offered_before_ = 0;   // number of offered patterns at the last such check
  bool marks_checked_ = false;  // under the present tier
};

}  // namespace ruvd::sharing
