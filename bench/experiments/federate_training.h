// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiments/federate_texts.h"
#include "federation/learner/global_state.h"
#include "inference/train/core_trainer.h"
#include "inference/train/losses.h"

namespace ruvd::bench {

// Returns the values of all banks, one bank behind the other.
std::vector<float> Flattened(const federation::BankedValues& values);
// Does the opposite: splits values into `banks` of equal length.
federation::BankedValues InBanks(std::span<const float> values, size_t banks);
// Returns cores that change nothing.
federation::BankedValues ZeroCores(const inference::CoreShape& shape);

// Returns the seed for the batches of a node.
uint64_t SeedOfNode(uint64_t seed, size_t node);

// Returns the objective of one node, or of all together: a step then has a batch of each node, the
// one that SeedOfNode gives the node alone.
absl::StatusOr<std::unique_ptr<inference::train::Objective>> ObjectiveOf(
    const inference::Model& model, const DomainText& text, int batch, uint64_t seed);
absl::StatusOr<std::unique_ptr<inference::train::Objective>> PooledObjective(
    const inference::Model& model, std::span<const DomainText> texts, int batch, uint64_t seed);

inline constexpr double kOverlayRate = 1.25e-3;

}  // namespace ruvd::bench
