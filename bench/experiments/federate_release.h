// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/federate_examples.h"
#include "bench/experiments/federate_guards.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_training.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/bank_gate.h"
#include "privacy/identity/node_key.h"
#include "privacy/masking/clique.h"

namespace ruvd::bench {

// What a node's training of a round changed, as only the node knows it.
struct LocalChange {
  size_t node = 0;
  federation::BankedValues delta;
  MaskingCounts maskings{};
  uint64_t examples = 0;
};

// An update as its receivers decode it.
struct ReceivedUpdate {
  privacy::NodeId origin{};
  federation::AdapterUpdate update;
};

// What left the nodes in a round.
struct ReleasedRound {
  std::vector<ReceivedUpdate> updates;
  std::vector<size_t> bytes;  // by node, to one receiver
};

// What a node spent in all rounds, as its ledger counts, and how much of a release was predicted to
// be signal.
struct PrivacySpent {
  double epsilon = 0;  // infinite: no guarantee
  double delta = 0;
  double snr = 0;  // infinite: no noise
  double sigma = 0;
};

// What all updates of a run have in common.
struct UpdateFormat {
  federation::AdapterUpdateRules rules;
  std::vector<float> boundaries;
};

// A plain update. Values that are zero in all of a bank still count as trained.
federation::AdapterUpdate UpdateOf(const UpdateFormat& format, uint64_t round,
                                   const LocalChange& change);
// Decodes the bytes that a receiver gets.
absl::StatusOr<ReceivedUpdate> Received(const privacy::NodeId& origin, std::string_view bytes);

// Releases updates from their nodes under one tier. Not thread-safe.
class UpdateRelease {
 public:
  virtual ~UpdateRelease() = default;
  // Releases `changes`, one for each node that takes part. Fails as privacy/ does, above all with
  // SIGNAL_TOO_WEAK and PRIVACY_BUDGET_SPENT.
  virtual absl::StatusOr<ReleasedRound> Release(uint64_t round,
                                                std::vector<LocalChange> changes) = 0;
  // Whether receivers see a sum of all updates only, so that attackers can hide in it.
  virtual bool sums() const { return false; }
  virtual absl::StatusOr<PrivacySpent> Spent() const = 0;
};

// Nodes by number, attackers among them; they outlive the release.
using GuardedNodes = std::vector<std::unique_ptr<GuardedNode>>;

// Tier public: version 2 update bytes, after site policy, operator's tier and contributors'
// consent.
std::unique_ptr<UpdateRelease> MakePublicRelease(const UpdateFormat& format,
                                                 const GuardedNodes& nodes);

// Tier dp at the level of examples: what was trained with noise, as version 2 update bytes. Charges
// the whole plan to the ledger of each of the first `honest` nodes, before any noise is drawn.
absl::StatusOr<std::unique_ptr<UpdateRelease>> MakeExampleRelease(const UpdateFormat& format,
                                                                  const GuardedNodes& nodes,
                                                                  size_t honest,
                                                                  const ExamplePlan& plan);

// How nodes' whole updates are clipped and noised in each of `rounds`.
struct NodePlan {
  privacy::masking::MaskLayout layout;
  double delta = 1e-5;
  double signal = 0.5;
  size_t rounds = 1;
};
// Plans within (epsilon, delta) of the settings: for each node's update or, with `clique` members,
// for their sum. Fails with INVALID_ARGUMENT or LIMIT_EXCEEDED.
absl::StatusOr<NodePlan> PlanNodes(const FederateSettings& settings, const UpdateFormat& format,
                                   size_t banks, size_t clique);

// Tier dp at the level of nodes: PrepareRelease of every update.
std::unique_ptr<UpdateRelease> MakeNodeRelease(const UpdateFormat& format,
                                               const GuardedNodes& nodes, const NodePlan& plan);
// Tier masked: PrepareMaskedInput, masks, and the mean of the clique as one update.
std::unique_ptr<UpdateRelease> MakeMaskedRelease(const UpdateFormat& format,
                                                 const GuardedNodes& nodes, const NodePlan& plan);

}  // namespace ruvd::bench
