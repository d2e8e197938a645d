// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/limit_use.h"
#include "federation/core/gossip_core.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/frame_set.h"
#include "node/sharing/use_ratings.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// The least that a peer's pattern must claim. A claim is not a proof: what passes here gets a trial
// (PatternTrial), and serves only if it passes that, too.
struct PatternGate {
  float quality = 0;  // 0 to 1
  uint32_t examples = 1;
};

// What this node has of one peer's patterns.
struct PeerPatternCounts {
  size_t serving = 0;
  size_t on_trial = 0;
  size_t without_adapter = 0;               // without a core for this node: nothing to serve
  size_t deferred = 0;                      // left for later because too many wait
  std::map<std::string, uint64_t> refused;  // by error reason
  int64_t newest_waiting_ms = 0;            // when the newest of those that wait was made; 0: none
};

// Returns "name@version" of a pattern's adapter, as trajectories name it; empty if it has none.
std::string AdapterLabelOf(const storage::Pattern& pattern);
// Returns the error reason of a standing for which IsRefused is true.
std::string RefusalReasonOf(storage::PatternStanding standing);

// Stores the shared patterns of peers: at most kMaxPatternsPerOrigin rows per origin and only the
// newest version of each pattern. A pattern with an adapter is stored on trial and serves only
// after EndTrial; limits bound how many wait. Patterns that this node's operator deleted, patterns
// below the gate and patterns that were rated badly are not stored. A version that was refused does
// not come back; a newer one gets another trial, unless users rated the pattern badly. The row of a
// pattern that was rated badly stays until the operator deletes it or the store evicts it. An
// origin all of whose rows are such rows gets no further one. The format, the model (which defines
// the embedding space) and the frame must have been checked before. No change waits for an fsync,
// because peers send again what a power cut undoes; the maintenance actor makes changes durable
// within seconds. Only one thread may use an object.
class PeerPatterns {
 public:
  // `patterns` and `frame` must outlive this object. If `frame` is null, patterns get no adapter.
  PeerPatterns(storage::PatternStore& patterns, const inference::FrameSet* frame,
               const privacy::NodeId& self, const PatternGate& gate = {})
      : patterns_(patterns), frame_(frame), self_(self), gate_(gate) {}

  // Reads which rows of which peers are stored. Rows that this node
  // learned under another identity get a trial. Call it before the first Store.
  absl::Status Load();
  // Notices patterns that were deleted, expired or evicted since the last call. Returns the errors
  // of the store.
  absl::Status FollowChanges();

  // Stores a checked pattern of `origin`. An expiry time that the operator set is kept. A version
  // older than the stored one changes nothing (peers forward items in any order), and neither does
  // a deleted pattern. A pattern above the limit removes the origin's oldest that is not rated
  // badly. `withdrawn_ms` is the creation time up to which the origin withdrew versions: a newer
  // version is stored although the pattern was deleted. Returns PATTERN_TOO_WEAK, PATTERN_TAKEN for
  // an id that belongs to another node, PATTERN_TRIALS_FULL, PATTERN_RATED_BADLY if the pattern or
  // kMaxPatternsPerOrigin others of the origin were rated badly, and the errors of
  // PatternStore::Put.
  absl::Status Store(const federation::SharedPattern& shared, const privacy::NodeId& origin,
                     std::optional<int64_t> withdrawn_ms = std::nullopt);

  // Stores an item that `core` accepted. Refusals are counted and are not errors here, because the
  // sender may not know this node's limits. What is refused because too many patterns wait is
  // remembered for StoreDeferred.
  absl::Status Store(const federation::Item& pattern, const federation::GossipCore& core);
  // Stores the items of `core` that were left for later, as far as fewer patterns wait now. An
  // origin is considered if fewer than limits::kSurePatternTrials of its patterns wait, or if half
  // of its places and half of all places are free.
  absl::Status StoreDeferred(const federation::GossipCore& core);
  // Stores all items of `core` of this model and frame, and does what its withdrawals say, after a
  // restart: a crash, a power cut or a limit may have kept some from having an effect.
  absl::Status StoreAll(const federation::GossipCore& core, const Digest& model_hash,
                        const Digest& frame_id);
  // Returns the limits of the patterns of one origin.
  std::vector<LimitUse> Limits() const;
  // Returns the refused patterns since the start of the node, counted by reason.
  const std::map<std::string, uint64_t>& refused() const { return refused_; }

  // Removes a pattern if the stored version is the one in the item. Returns the errors of
  // PatternStore::Delete.
  absl::Status Remove(const federation::Item& pattern);
  // Removes all patterns of its sender that a checked withdrawal covers, even if their items are
  // gone. Returns the errors of PatternStore::Delete.
  absl::Status Withdraw(const federation::Item& withdrawal);

  // Returns the pattern whose trial is next, with its payload; nullopt if none waits at `now_ms`.
  // Origins take turns: the one with the fewest trials is first. Call EndTrial or PostponeTrial
  // before the next call. Returns the errors of the store.
  absl::StatusOr<std::optional<storage::Pattern>> NextTrial(int64_t now_ms);
  // Lets a judged pattern serve, or drops it. Does nothing if another version was stored meanwhile.
  // Returns the errors of PatternStore::Update.
  absl::Status EndTrial(const storage::Pattern& judged, storage::PatternStanding standing);
  // A trial could not be made; it is tried again at `retry_ms`.
  void PostponeTrial(const storage::PatternId& id, int64_t retry_ms) { retry_ms_[id] = retry_ms; }

  // Counts the rating for the peers' patterns that served the completion, and drops those that are
  // rated badly. Patterns with one label have one adapter, so they are dropped together. Returns
  // the errors of PatternStore::Update.
  absl::Status OnRated(const RatedUse& use);

  // Returns the state of every peer of which this node has or refused patterns.
  std::map<privacy::NodeId, PeerPatternCounts> Counts() const;
  // Returns how many patterns of peers have each standing.
  std::map<storage::PatternStanding, size_t> Standings() const;

 private:
  struct Held {
    privacy::NodeId origin{};
    int64_t updated_ms = 0;
    storage::PatternStanding standing = storage::PatternStanding::kTrial;
    std::string adapter;  // name@version; empty: none
  };
  void Hold(const storage::Pattern& pattern);
  void Forget(const storage::PatternId& id);
  // Returns ABORTED if the pattern changed between reading and writing.
  absl::Status StoreOnce(const federation::SharedPattern& shared, const privacy::NodeId& origin,
                         std::optional<int64_t> withdrawn_ms);
  absl::Status CheckRoom(const privacy::NodeId& origin);
  // Returns how many patterns of `origin` wait for their trial.
  size_t Waiting(const privacy::NodeId& origin) const;
  // Returns whether StoreDeferred tries the patterns of `origin` again. Except for the first few it
  // waits until half of the places are free, because it reads all items.
  bool MayRetry(const privacy::NodeId& origin) const;
  bool IsRatedBadly(const storage::PatternId& id) const;
  // Returns PATTERN_RATED_BADLY if the rows of patterns that were rated badly take all places of
  // `origin`.
  absl::Status CheckRatedBadly(const privacy::NodeId& origin) const;
  void CountRefusal(const privacy::NodeId& origin, const std::string& reason);
  // Drops a pattern whose adapter is rated badly.
  absl::Status DropRatedBadly(const storage::PatternId& id, const std::string& adapter);
  // Writes a standing if the stored version is still the one with this adapter.
  absl::Status SetStanding(const storage::PatternId& id, const std::string& adapter,
                           storage::PatternStanding standing);
  // Removes the pattern if the stored version belongs to `origin` and was created no later than
  // `until_ms`.
  absl::Status RemoveUntil(const storage::PatternId& id, const privacy::NodeId& origin,
                           int64_t until_ms);
  // Removes the oldest rows of `origin` above the limit, except those that were rated badly.
  absl::Status Trim(const privacy::NodeId& origin);

  storage::PatternStore& patterns_;
  const inference::FrameSet* const frame_;
  const privacy::NodeId self_;
  const PatternGate gate_;
  uint64_t followed_ = 0;  // number of the last change of the store that was handled
  std::map<storage::PatternId, Held> held_;
  // The same by origin, oldest first
  std::map<privacy::NodeId, std::set<std::pair<int64_t, storage::PatternId>>> of_origin_;
  std::map<privacy::NodeId, std::set<storage::PatternId>> on_trial_;
  // Which pattern serves with an adapter; its label holds the whole id, so it is of one pattern
  std::map<std::string, storage::PatternId> serving_;
  size_t trials_ = 0;                               // in on_trial_
  std::map<privacy::NodeId, uint64_t> tried_;       // trials since the start
  std::map<storage::PatternId, int64_t> retry_ms_;  // of those that were postponed
  // The versions that were left for later, by the time when they were made
  std::map<privacy::NodeId, std::map<storage::PatternId, int64_t>> deferred_;
  std::map<std::string, uint64_t> refused_;
  // Refusals that leave no row, since the start
  std::map<privacy::NodeId, std::map<std::string, uint64_t>> refused_of_;
  uint64_t trials_full_ = 0;  // patterns that found no room for a trial, since the start
  uint64_t trimmed_ = 0;      // rows that made room for newer ones of their origin, since the start
  UseRatings ratings_;
};

}  // namespace ruvd::sharing
