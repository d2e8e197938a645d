// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/core/gossip_core.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/plan.h"
#include "federation/masked/masked_rounds.h"
#include "node/sharing/local_contributor.h"
#include "node/sharing/lost_shares.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/masking/clique.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::sharing {

struct MaskedContributionsOptions {
  std::shared_ptr<const federation::LearnerPlan> plan;  // of kind kGradient
  privacy::ClusterId cluster{};
  privacy::NodeId self{};
  ShareMaker noise;
  SharePayer pay;
  std::function<void(uint64_t reservation)> sent;  // a charged share has left
  std::function<uint64_t()> last_reservation;      // of the privacy ledger
  privacy::dp::RandomBytes random;                 // for keys: SecureRandomBytes, except in tests
};

// Returns the times of masked rounds of a plan: the gradient is computed while keys and sets are
// exchanged, so most of an attempt is for it.
federation::MaskedRoundsConfig MaskedRoundsOf(const MaskedContributionsOptions& options);

// A node's part in the masked sums of the cluster's rounds.
//
// Under any tier it finds the sums in the items that gossip holds (MaskedSumsOf) and adds them to
// ClusterRounds, so members that hold equal items have equal sums, also of rounds that they missed.
// If a share is withdrawn, or a member contradicts itself, the sum is taken out again.
//
// Under the tier `masked` it takes part in a round if the operator's consent is older than the
// round and lessons may leave. Its owner computes the sum of gradients while the members exchange
// keys. Until then this node signs no set, so members that are too slow cost the others no charge.
// It pays when all members committed to their shares; if an attempt fails before, the same sum gets
// other noise in the next one. It gives one share in a round at most, whatever becomes of it,
// because a second one would release the same sample again. After kMaxLostShares of its shares came
// to nothing it takes no part for a while, because somebody spoils the sums.
//
// It has no threads and no clock. Not thread-safe: NodeRounds owns it.
class MaskedContributions {
 public:
  // If no masked sums are possible under the plan, none are found or made, and View says why.
  explicit MaskedContributions(MaskedContributionsOptions options);

  // ---- Events

  // Takes an item that gossip accepted, of this node or another one, for the next OnTick.
  void OnItem(const federation::Item& item);
  // An item was withdrawn by its sender, or its sender is no longer trusted.
  void OnWithdrawn(const federation::Item& item);
  // Advances the round, adds new sums to `rounds`, whose OnTime was called, and returns what `core`
  // has to send. Call it every 100 to 500 ms. `consent_since_ms` is the time at which the operator
  // chose the core's tier.
  federation::Actions OnTick(federation::GossipCore& core, federation::ClusterRounds& rounds,
                             int64_t consent_since_ms, federation::Instant now);

  // Adds the sums that the items of `core` have given since the last call, and takes out those that
  // are no longer sums. OnTick does it, too. Call it also before ClusterRounds::OnTime, which may
  // settle a round: otherwise a share that was withdrawn since the last OnTick would stay in it.
  void CountSums(const federation::GossipCore& core, federation::ClusterRounds& rounds);

  // ---- What the owner has to compute for a round, on another thread

  struct Work {
    bool sum = false;  // MakeSum, then SetSum; otherwise CheckLessons, then SetChecked
    // The running round; for a check the next one, because lessons that came since may take part
    // in it
    uint64_t round = 0;
    size_t members = 0;    // of the group, or expected ones
    size_t max_batch = 0;  // for ContributionRequest: so large a sample is ready in time
  };
  // Returns work, each once.
  std::optional<Work> TakeWork();
  // The answer to work: whether this node has something to give. If so, it announces itself for the
  // next round.
  void SetChecked(const absl::Status& checked);
  // The answer to work: the sum of a round, or why there is no sum, and how long that took. After
  // the round the sum is dropped; the next samples are so small that they are ready in time. How
  // small they are depends on this machine's speed in powers of two.
  void SetSum(uint64_t round, absl::StatusOr<PreparedSum> sum, Duration took);

  // Writes the fields of a masked contribution.
  void Write(cluster::v1::RoundsStatus* view) const;

 private:
  struct TickContext {
    federation::GossipCore& core;
    int64_t consent_since_ms;
    uint64_t first_live;  // the first round whose sums are looked at
    federation::Instant now;
    federation::Actions actions = {};
  };
  // This node's part in the running round.
  struct Part {
    size_t members = 0;
    bool ordered = false;   // its work was taken
    bool answered = false;  // it committed to a share, or could not
    std::optional<PreparedSum> sum;
    std::optional<NoisedShare> share;  // that it committed to, without the input
  };
  // What this node gave last.
  struct Given {
    uint64_t round = 0;
    uint64_t reservation = 0;
    size_t lessons = 0;
    double epsilon = 0;
    size_t bytes = 0;
  };

  void Follow(TickContext& turn);
  void Announce(TickContext& turn);
  void Perform(federation::MaskedSteps steps, TickContext& turn);
  void Offer(federation::OfferMaskItem offer, TickContext& turn);
  absl::StatusOr<federation::MaskedSteps> Answer(const federation::MaskInputWanted& wanted,
                                                 TickContext& turn);
  absl::StatusOr<federation::MaskedSteps> Pay(const federation::MaskPaymentWanted& wanted,
                                              TickContext& turn);
  // Takes what follows from a step, or gives up the round.
  void Continue(absl::StatusOr<federation::MaskedSteps> more,
                std::deque<federation::MaskedStep>* waiting);
  void End(const federation::MaskedRoundEnded& ended);
  bool Participates(const TickContext& turn);
  absl::Status CheckParticipates(const TickContext& turn) const;
  void LimitBatch(const PreparedSum& sum, Duration took);
  void Refuse(const absl::Status& why);
  void Recount(uint64_t round, std::span<const federation::Item> items,
               federation::ClusterRounds& rounds);
  void Add(const federation::MaskedOutcome& outcome, federation::ClusterRounds& rounds);

  const MaskedContributionsOptions options_;
  LostShares lost_;
  privacy::masking::MaskLayout layout_;
  std::optional<federation::MaskedRounds> rounds_;  // nullopt: the plan allows no masked sums
  std::vector<federation::Item> inbox_;
  bool masked_ = false;           // the tier in the previous turn
  int64_t consent_since_ms_ = 0;  // of the previous turn
  int64_t next_look_ms_ = 0;      // time of the next check whether to announce
  size_t alive_ = 0;              // members that count, this node included
  std::optional<Part> part_;      // nullopt: this node takes no part in the running round
  absl::Status available_;        // whether this node has something to give
  size_t max_batch_ = 0;          // units that are ready in time; 0: any number, as far as is known
  uint64_t checked_ = 0;          // the last round for which that was asked
  Given unsent_;                  // a charged share that is not offered yet
  Given given_;
  absl::Status waits_;     // why this node takes part in no round; OK: it does or announced it
  absl::Status no_group_;  // why the running round has no group
  absl::Status refusal_;   // why the last attempt gave no share
  // Sums: rounds whose items changed, the newest round looked at, and the sums that were added, by
  // round and set hash, with their attempts
  std::set<uint64_t> changed_;
  uint64_t looked_at_ = 0;
  std::map<uint64_t, std::map<Digest, uint8_t>> known_;
  uint64_t last_sum_ = 0;  // the last round with a sum that contains this node
  size_t last_members_ = 0;
};

}  // namespace ruvd::sharing
