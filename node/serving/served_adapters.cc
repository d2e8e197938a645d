// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/served_adapters.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "base/status.h"
#include "inference/adapter/bank_weights.h"
#include "node/serving/adapters_by_words.h"

namespace ruvd::serving {
namespace {

// Timesteps over which the weights of banks are averaged, in the middles of equal ranges.
constexpr size_t kTimesteps = 100;

void AddMeanOfBanks(const inference::Talora& talora, float weight, inference::AdapterMix* mix) {
  const inference::BankRouter* const router = talora.router ? &*talora.router : nullptr;
  std::vector<float> shares(talora.residuals.size());
  for (size_t i = 0; i < kTimesteps; ++i) {
    const float t = (static_cast<float>(i) + 0.5F) / kTimesteps;
    const inference::BankWeights weights = WeightsAt(talora.schedule, router, t, {});
    for (size_t bank = 0; bank < shares.size(); ++bank) {
      shares[bank] += weights[bank] / kTimesteps;
    }
  }
  for (size_t bank = 0; bank < shares.size(); ++bank) {
    mix->parts.push_back({.adapter = talora.residuals[bank], .weight = weight * shares[bank]});
  }
}

}  // namespace

inference::AdapterMix MixAt(std::span<const RangedPart> parts, float t,
                            std::span<const float> query) {
  inference::AdapterMix mix;
  for (const RangedPart& part : parts) {
    if (t > part.t_min && t <= part.t_max) {
      AppendMix(*part.adapter, t, query, part.weight, &mix);
    }
  }
  return mix;
}

inference::AdaptersOfStep MixesOf(std::vector<RangedPart> parts) {
  return [parts = std::move(parts),
          mix = inference::AdapterMix()](const inference::ReadingStep& step) mutable {
    mix = MixAt(PartsByWords(parts, step.prompt, step.known, std::nullopt),
                static_cast<float>(step.t));
    return &mix;
  };
}

inference::AdapterMix MixForAllT(std::span<const RangedPart> parts) {
  inference::AdapterMix mix;
  for (const RangedPart& part : parts) {
    // The words of this node's lessons choose the adapter that learned them, and hardly another.
    if (part.evidence != nullptr && part.adapter->name != kDeepAdapter) {
      continue;
    }
    if (part.adapter->trunk != nullptr) {
      mix.parts.push_back({.adapter = part.adapter->trunk, .weight = part.weight});
    } else {
      AddMeanOfBanks(*part.adapter, part.weight, &mix);
    }
  }
  return mix;
}

uint32_t ServedDeepVersion(const AdapterCatalog& catalog) {
  for (const CatalogEntry& entry : catalog.List()) {
    if (entry.info.name == kDeepAdapter && entry.info.served) {
      return entry.info.version;
    }
  }
  return 0;
}

absl::StatusOr<ServedAdapters> AdaptersBeneathPatterns(AdapterCatalog* catalog) {
  ServedAdapters served;
  if (catalog == nullptr) {
    return served;
  }
  served.deep_version = ServedDeepVersion(*catalog);
  ASSIGN_OR_RETURN(const std::vector<RangedPart> parts, catalog->Choose({}));
  served.mix = MixForAllT(parts);
  return served;
}

absl::StatusOr<inference::AdapterMix> AdaptersOfAllNodes(AdapterCatalog* catalog) {
  if (catalog == nullptr) {
    return inference::AdapterMix();
  }
  ASSIGN_OR_RETURN(std::vector<RangedPart> parts, catalog->Choose({}));
  std::erase_if(parts, [](const RangedPart& part) { return part.adapter->name != kGlobalAdapter; });
  return MixForAllT(parts);
}

absl::StatusOr<std::vector<RangedPart>> AdaptersBeside(std::string_view name,
                                                       AdapterCatalog* catalog) {
  ASSIGN_OR_RETURN(std::vector<RangedPart> parts, catalog->Choose({}));
  std::erase_if(parts, [name](const RangedPart& part) { return part.adapter->name == name; });
  return parts;
}

}  // namespace ruvd::serving
