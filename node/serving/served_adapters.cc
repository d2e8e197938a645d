// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/served_adapters.h"

#include <vector>

#include "base/status.h"

namespace ruvd::serving {
namespace {

void AddTrunk(const RangedPart& part, inference::AdapterMix* mix) {
  if (part.adapter->trunk != nullptr) {
    mix->parts.push_back({.adapter = part.adapter->trunk, .weight = part.weight});
  }
}

}  // namespace

uint32_t ServedDeepVersion(const AdapterCatalog& catalog) {
  for (const CatalogEntry& entry : catalog.List()) {
    if (entry.info.name == kDeepAdapter && entry.info.served) {
      return entry.info.version;
    }
  }
  return 0;
}

absl::StatusOr<ServedAdapters> AdaptersBeneathPatterns(AdapterCatalog* catalog,
                                                       std::span<const float> prompt) {
  ServedAdapters served;
  if (catalog == nullptr) {
    return served;
  }
  served.deep_version = ServedDeepVersion(*catalog);
  ASSIGN_OR_RETURN(const std::vector<RangedPart> parts, catalog->Choose({}, prompt));
  for (const RangedPart& part : parts) {
    AddTrunk(part, &served.mix);
  }
  return served;
}

absl::StatusOr<inference::AdapterMix> AdaptersBeneathDeep(AdapterCatalog* catalog) {
  inference::AdapterMix mix;
  ASSIGN_OR_RETURN(const std::vector<RangedPart> parts, catalog->Choose({}));
  for (const RangedPart& part : parts) {
    if (part.adapter->name != kDeepAdapter) {
      AddTrunk(part, &mix);
    }
  }
  return mix;
}

}  // namespace ruvd::serving
