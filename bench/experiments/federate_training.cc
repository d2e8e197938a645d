// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_training.h"

#include <utility>

#include "base/status.h"

namespace ruvd::bench {

std::vector<float> Flattened(const federation::BankedValues& values) {
  std::vector<float> flat;
  for (const std::vector<float>& bank : values) {
    flat.insert(flat.end(), bank.begin(), bank.end());
  }
  return flat;
}

federation::BankedValues InBanks(std::span<const float> values, size_t banks) {
  federation::BankedValues banked;
  const size_t each = values.size() / banks;
  for (size_t bank = 0; bank < banks; ++bank) {
    const auto own = values.subspan(bank * each, each);
    banked.emplace_back(own.begin(), own.end());
  }
  return banked;
}

federation::BankedValues ZeroCores(const inference::CoreShape& shape) {
  return federation::BankedValues(shape.banks(), std::vector<float>(shape.values_per_bank()));
}

absl::StatusOr<std::unique_ptr<inference::train::Objective>> ObjectiveOf(
    const inference::Model& model, const DomainText& text, int batch, uint64_t seed) {
  return inference::train::MakeObjective(model, text.train, {.batch = batch, .seed = seed});
}

absl::StatusOr<std::unique_ptr<inference::train::Objective>> PooledObjective(
    const inference::Model& model, std::span<const DomainText> texts, int batch, uint64_t seed) {
  std::vector<inference::train::ObjectivePart> parts;
  for (size_t node = 0; node < texts.size(); ++node) {
    inference::train::ObjectivePart& part = parts.emplace_back();
    ASSIGN_OR_RETURN(part.objective,
                     ObjectiveOf(model, texts[node], batch, SeedOfNode(seed, node)));
    part.weight = 1.0 / static_cast<double>(texts.size());
  }
  return inference::train::MixObjectives(std::move(parts));
}

uint64_t SeedOfNode(uint64_t seed, size_t node) {
  return seed * 64 + node;
}

}  // namespace ruvd::bench
