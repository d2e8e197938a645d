// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/adapter_arms.h"
#include "bench/experiments/federate_texts.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/bank_gate.h"
#include "inference/adapter/talora.h"
#include "inference/numerics/optimizer.h"
#include "inference/train/change.h"
#include "inference/train/network_pass.h"

namespace ruvd::bench {

// The adapters of all nodes: an R-core of the frame for every linear layer but the head in each
// bank of t, and perhaps a private LoRA on top. One bank acts at all t.
struct AdapterShape {
  int rank = 8;
  std::vector<float> boundaries;
  int overlay_rank = 0;  // 0: none
};

// Cores (and a LoRA) in the order of training, and the cores' values in the order of an update.
class TrainableAdapter {
 public:
  // Cores start from zero, LoRA from the seed. Borrows `parts`. Fails as AddCores and AddLoras do.
  static absl::StatusOr<std::unique_ptr<TrainableAdapter>> Create(const ArmParts& parts,
                                                                  const AdapterShape& shape,
                                                                  uint64_t seed);

  inference::train::ChangeSet<float>& changes() { return changes_; }
  // The modules of an update, sorted by target.
  const std::vector<federation::ModuleShape>& modules() const { return modules_; }
  size_t banks() const { return by_bank_.size(); }
  size_t values_per_bank() const;
  // Returns how many parameters are cores; these come first.
  size_t core_parameters() const;

  federation::BankedValues Cores() const;
  void SetCores(const federation::BankedValues& values);

  // Return the cores, or the LoRA, as they are now.
  std::shared_ptr<const inference::Talora> CoresAdapter() const;
  std::shared_ptr<const inference::Talora> OverlayAdapter() const;

 private:
  TrainableAdapter(const ArmParts& parts, const AdapterShape& shape);
  const ArmParts& parts_;
  AdapterShape shape_;
  inference::train::ChangeSet<float> changes_;
  std::vector<federation::ModuleShape> modules_;
  std::vector<std::vector<size_t>> by_bank_;  // entries in the order of modules_
};

// Return a - b, bank by bank; and the values of a, one bank behind the other.
federation::BankedValues Minus(const federation::BankedValues& a,
                               const federation::BankedValues& b);
std::vector<float> Flattened(const federation::BankedValues& values);
// Does the opposite: splits values into `banks` of equal length.
federation::BankedValues InBanks(std::span<const float> values, size_t banks);

struct LocalPlan {
  double learning_rate = 3e-3;
  uint64_t total_steps = 60;  // that the schedule spans
  size_t frozen = 0;          // parameters, the first ones, that stay as they are
};

// Counts of maskings, for each tenth of t
using MaskingCounts = std::array<uint64_t, federation::kScheduleBins>;
// Returns the tenth (i/10, (i+1)/10] that a masked share t is in.
size_t BinOfShare(double t);

// Runs AdamW on one objective in parts, which are a node's rounds. Borrows what it is given.
class LocalTraining {
 public:
  LocalTraining(inference::train::NetworkPass<float>& pass,
                const inference::train::Objective& objective, size_t parameters,
                const LocalPlan& plan);
  // Takes steps [from, to). Fails with INTERNAL where a gradient is not finite.
  absl::Status Run(uint64_t from, uint64_t to, inference::train::ChangeSet<float>* changes);
  // Resets the optimiser.
  void ForgetState();
  const MaskingCounts& maskings() const { return maskings_; }

 private:
  inference::train::NetworkPass<float>& pass_;
  const inference::train::Objective& objective_;
  size_t parameters_;
  LocalPlan plan_;
  inference::train::Optimizer optimizer_;
  MaskingCounts maskings_{};
};

// Returns the seed for the batches of a node.
uint64_t SeedOfNode(uint64_t seed, size_t node);

// Returns the objective of one node, or of all together: a step then has a batch of each node, the
// one that SeedOfNode gives the node alone.
absl::StatusOr<std::unique_ptr<inference::train::Objective>> ObjectiveOf(
    const inference::Model& model, const DomainText& text, int batch, uint64_t seed);
absl::StatusOr<std::unique_ptr<inference::train::Objective>> PooledObjective(
    const inference::Model& model, std::span<const DomainText> texts, int batch, uint64_t seed);

// Returns a learning rate that suits cores of this rank, as it was measured on the 5M model.
double CoreRate(int rank);
inline constexpr double kOverlayRate = 1.25e-3;

}  // namespace ruvd::bench
