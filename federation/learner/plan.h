// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "federation/daf/outer_optimizer.h"
#include "federation/daf/strategy.h"
#include "federation/daf/timestep_histogram.h"
#include "privacy/dp/grid_release.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::federation {

// What a contribution holds. All contributions of a cluster are of one kind: a delta is larger than
// a gradient by orders of magnitude and needs other outer options.
enum class ContributionKind : uint8_t {
  kDelta = 1,     // change of the adapter by several local steps
  kGradient = 2,  // minus the mean clipped gradient at the global adapter, noised or not
};

// Returns the kind named "delta" or "gradient"; nullopt for any other name.
std::optional<ContributionKind> ContributionKindByName(std::string_view name);

// The histogram of maskings that are even over all t.
TimestepHistogram EvenHistogram();

// What all members of a cluster must have in common in order to learn one adapter. Contributions
// and states name it by its hash; nothing that names another plan is combined.
struct LearnerPlan {
  Digest frame_id{};
  uint32_t rank = 8;              // of the cores in the frame
  std::vector<float> boundaries;  // of t, ascending within (0, 1); empty: one bank for all t
  uint32_t values_per_bank = 0;   // follows from frame and rank, and is not hashed
  // The frame's Fisher information of each value, all banks one after the other, each with its
  // share of t. It follows from frame, rank and boundaries, and is not hashed; null: unknown
  std::shared_ptr<const std::vector<float>> fisher;
  ContributionKind kind = ContributionKind::kDelta;
  int64_t round_ms = 600'000;  // round k lasts from k * round_ms on, in Unix time
  uint32_t window = 16;        // rounds after which a contribution is too late

  // Strategies that count quality need verdicts (RoundVerdict), which are statistics of lessons and
  // would cost a privacy budget of their own. So Check refuses them together with kGradient, the
  // kind of the private tiers.
  StrategyOptions strategy;
  std::string rule = "default";  // RuleByName; there is never an own update
  double faulty = 0.25;          // share of contributions against which the rule defends
  // The share of the nodes with a part in the last `window` rounds that must contribute, up to
  // limits::kLargestQuorum of them. A round of fewer makes a step that is shorter in proportion; 0:
  // every round makes a whole step
  double quorum = 0.5;
  OuterOptions outer;    // kPlain is the mean; kMomentum; kAdam is FedAdam
  double max_norm = 16;  // of one contribution; longer ones are scaled down
  // What contributions of private tiers say that they trained on: it depends on no lesson
  TimestepHistogram schedule = EvenHistogram();

  // kDelta: what a node does in a round. FedProx (Li et al. 2020, "Federated optimization in
  // heterogeneous networks") is prox above 0: it adds prox * (w - w_begin) to the gradient. Elastic
  // weight consolidation (arXiv 1612.00796) is hold above 0: it adds hold * F * w, where F is the
  // frame's Fisher information, and needs a frame that has it. A plan of kGradient uses the hold
  // alone: each round adds it to the mean of the gradients, so that it depends on no lesson
  // and no node can leave it out.
  struct Local {
    double learning_rate = 3e-3;
    uint32_t steps = 12;
    uint32_t batch = 8;
    double prox = 0;
    double hold = 0;
  } local;

  // kGradient: the norm to which every unit is clipped, and the grid and noise of a whole sum. A
  // node meets its own epsilon by its own sampling rate.
  double clip_norm = 2;
  privacy::dp::NoiseGrid grid;
  uint32_t nominal_batch = 128;  // divisor of every node's sum; not the size of a sample
  privacy::PrivacyUnit unit = privacy::PrivacyUnit::kLesson;

  size_t banks() const { return boundaries.size() + 1; }
  // Returns how many values a running mean of a node has in each bank (GlobalState::running_means).
  size_t RunningMeanValues() const;
  // Returns INVALID_ARGUMENT, naming the field, for a value out of range.
  absl::Status Check() const;
  // Returns the SHA-256 over all hashed fields; docs/wire-format.md has the bytes.
  Digest Id() const;
};

// Whether verdicts change the weights of contributions.
bool CountsQuality(const StrategyOptions& strategy);

// Returns the round that is running at `wall_ms`, Unix time; 0 before 1970.
uint64_t RoundAt(const LearnerPlan& plan, int64_t wall_ms);

// Returns how long a contribution or checkpoint lives, in milliseconds: all contributions behind a
// checkpoint live until every member has the next one, so that a newcomer finds them.
int64_t LearnerLifeMillis(const LearnerPlan& plan);

// Returns the newest round whose state all members offer as a checkpoint while `now_round` is
// running: a multiple of the window that no contribution can reach any more; 0: no round is so old.
uint64_t CheckpointRound(const LearnerPlan& plan, uint64_t now_round);

}  // namespace ruvd::federation
