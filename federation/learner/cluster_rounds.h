// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/events/item.h"
#include "federation/events/state_digest.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "federation/learner/round_history.h"
#include "federation/learner/round_set.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The rounds of a cluster as one member sees them: a function of the items that it holds and of the
// time. It has no I/O: the owner passes on items and the clock, offers the checkpoints and saves
// the state.
//
// Members that hold equal items have equal states. What a member missed for longer than the plan's
// window it cannot compute again, so every member that is not new offers its state at the same
// rounds (CheckpointRound), signed by its item. A member whose own digest has fewer votes than
// another one takes that state and applies the later contributions to it; of equal votes the
// smaller digest counts. A new member has no vote: it takes the state with the most votes, and
// counts as a founder if no other member has a state at the first round of checkpoints that it
// passes.
// Not thread-safe.
class ClusterRounds {
 public:
  struct Options {
    LearnerPlan plan;
    privacy::NodeId self{};
  };
  // A state that this node has to offer to its peers.
  struct Checkpoint {
    uint64_t round = 0;
    std::string bytes;  // EncodeState
  };

  // `saved` is what SavedState returned before the restart; empty: this node is new. A saved state
  // of another plan or with damage is not used: then the node is new, and `unused` says why.
  // Returns INVALID_ARGUMENT for a plan that is not valid.
  static absl::StatusOr<ClusterRounds> Create(const Options& options, std::string_view saved,
                                              int64_t wall_ms, absl::Status* unused);

  // ---- Events

  // Takes an accepted contribution, verdict or checkpoint; items of other kinds have no effect.
  // Returns the errors of DecodeContribution, DecodeVerdict and RoundHistory::Add, ROUND_SEALED
  // among them, or those of DecodeState. A verdict may come before what it judges, and changes its
  // round whenever it comes until the round is settled.
  absl::Status OnItem(const Item& item);
  // Adds the masked sum of a clique: its id and origin are the set's hash, and it has members. A
  // sum with an expelled member has no effect. It is kept as long as contributions live, so that it
  // counts again after another state was taken. Returns UPDATE_INVALID for a contribution that is
  // no sum, and the errors of RoundHistory::Add, ROUND_SEALED among them.
  absl::Status AddSum(RoundContribution sum);
  // A contribution, verdict or checkpoint was withdrawn, or a sum with this id is no longer one. If
  // a settled round contains it, the round stays as it is.
  void OnWithdrawn(const Digest& id);
  // An item expired or made room for others: what it gave to a round stays, and a vote counts until
  // this node passes the next round of checkpoints.
  void OnDropped(const Digest& id) { live_.erase(id); }
  // The member is no longer in good standing: it has no part in any round from now on. If the
  // checkpoint contains a part of it, the adapter begins anew from the newest round of checkpoints.
  // Returns whether a state contained a part of it.
  bool OnExpelled(const privacy::NodeId& member);
  // Moves on to the round at `wall_ms`. If it leaves out rounds, because the process was paused or
  // the clock leapt, this node settles nothing for a window, and compares the states of those
  // rounds with its peers' but offers none. A clock that goes back by a round has no effect. After
  // one that goes back further, because it was wrong before or is now, the round at `wall_ms` runs;
  // if rounds were settled that are running or still to come, this node is new again and takes a
  // peer's state.
  void OnTime(int64_t wall_ms);

  // ---- What follows from them

  const LearnerPlan& plan() const { return history_.plan(); }
  uint64_t now_round() const { return now_round_; }
  // Returns the state before `round`; valid until the next call of a method that is not const.
  const GlobalState& StateBefore(uint64_t round) { return history_.StateBefore(round); }
  // Names the state that members compare: the one before the round before the running one. What it
  // is made of was due a whole round ago, so members that hold equal items name equal digests, and
  // it is not settled yet, so a member that lacks an item can still add it. Only a state that
  // changed is computed and hashed again.
  const StateDigest& ComparedState();
  // Returns whether the state before the running round may have changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // Returns a checkpoint to offer, each once.
  std::optional<Checkpoint> TakeCheckpoint() { return std::exchange(to_offer_, std::nullopt); }
  // Returns the bytes to save, if they changed since the last call.
  std::optional<std::string> TakeSavedState();
  // Whether a contribution of this node to the round is among the items, or in a sum
  bool HasOwn(uint64_t round) const;
  // Whether a verdict of this node on the round is among the items
  bool HasOwnVerdict(uint64_t round) const;
  // Returns the contributions and sums of a round that is not settled, by id; valid until the next
  // call of a method that is not const.
  std::vector<const RoundContribution*> ContributionsOf(uint64_t round) const {
    return history_.ContributionsOf(round);
  }
  // Returns the report of the newest round before the running one in which a contribution counted,
  // and which is not settled; null if no round has these properties. It is valid for as long as
  // what ContributionsOf returns.
  const RoundReport* NewestReport();
  // Returns the oldest round whose contributions and sums may be needed: all that are not settled,
  // and those that a state of others may lack.
  uint64_t FirstLiveRound() const;
  // How many contributions and sums are not settled: of all members, and of this node
  size_t contributions() const { return history_.contributions(); }
  size_t own_contributions() const;
  // Whether this node has no state of its own yet
  bool is_new() const { return new_; }

 private:
  // A vote for a state: a checkpoint that a peer offers.
  struct Vote {
    privacy::NodeId voter{};
    uint64_t round = 0;
    Digest state{};  // SHA-256 of the payload
    std::shared_ptr<const std::string> payload;
    int64_t created_ms = 0;
  };
  // The state that this node has at the newest round of checkpoints.
  struct Boundary {
    uint64_t round = 0;
    Digest state{};
  };

  ClusterRounds(const privacy::NodeId& self, RoundHistory history, bool is_new, uint64_t now_round);
  // A part of `round` came or went; 0: it is not known of which round.
  void NoteChange(uint64_t round);
  absl::Status AddContribution(const Item& item);
  absl::Status AddVerdict(const Item& item);
  // Returns whether an item of this node and kind for the round is alive.
  bool HasLive(ItemKind kind, uint64_t round) const;
  absl::Status AddVote(const Item& item);
  // Forgets the votes that cannot count any more.
  void ForgetVotes();
  void GoBack(uint64_t round);
  void PassBoundary(uint64_t round);
  // Counts the votes for the newest boundary, and adopts the winner if it is another state.
  void CountVotes();
  // Returns the vote for the state that most members have; null if this node has it, too.
  const Vote* Winner(uint64_t round) const;
  void Adopt(GlobalState state);
  // Adds all live contributions and verdicts after the checkpoint.
  void AddLive();

  privacy::NodeId self_;
  RoundHistory history_;
  bool new_ = false;
  uint64_t begin_round_ = 0;  // in which this object was made
  uint64_t now_round_ = 0;
  std::map<Digest, Item> live_;               // contributions and verdicts, also settled ones
  std::map<Digest, RoundContribution> sums_;  // also settled ones
  // The newest vote of every member and its vote for the newest boundary: gossip keeps only the
  // newest, and members whose clocks are ahead offer the next one earlier.
  std::map<Digest, Vote> votes_;
  std::set<privacy::NodeId> expelled_;
  std::optional<Boundary> boundary_;
  // The state that this node computed at the newest round of checkpoints; it counts also after the
  // node took another one. nullopt: it computed none, or one without participants
  std::optional<Vote> own_vote_;
  std::optional<Checkpoint> to_offer_;
  // Nothing is settled before this round, because what a state of others does not contain may still
  // be on its way.
  uint64_t settle_from_ = 0;
  // The newest round that began after rounds were left out: states up to it are not offered,
  // because the clock may be wrong.
  uint64_t leapt_to_ = 0;
  uint64_t saved_round_ = 0;
  bool save_ = true;
  bool changed_ = true;
  std::optional<StateDigest> compared_;  // nullopt: it may have changed
};

}  // namespace ruvd::federation
