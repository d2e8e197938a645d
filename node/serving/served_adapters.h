// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/evaluate/paired.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::serving {

// The name of the adapter that deep rounds publish; other adapters of the node may not use it.
inline constexpr char kDeepAdapter[] = "deep";
// The name of the adapter that the rounds of the cluster make; other adapters of the node may not
// use it.
inline constexpr char kGlobalAdapter[] = "global";

// Returns the version of the deep adapter that requests get; 0: none.
uint32_t ServedDeepVersion(const AdapterCatalog& catalog);

// Returns the mix of a request's adapters for a step at timestep t. `query` is the embedding of the
// prompt, for routers of timestep banks; it may be empty.
inference::AdapterMix MixAt(std::span<const RangedPart> parts, float t,
                            std::span<const float> query = {});

// Returns a function that returns the mix of a step: MixAt of the parts that act by its words
// (PartsByWords). A mix stays valid until the next call.
inference::AdaptersOfStep MixesOf(std::vector<RangedPart> parts);

// Returns one mix for all t, because training supports only such adapters beneath what it trains.
// From an adapter with timestep banks, only the trunk is used, because residuals are small
// corrections of a trunk; without a trunk, the banks are used with the mean over t of their
// weights. Ranges of parts are ignored, and parts with evidence are left out except the deep
// adapter.
inference::AdapterMix MixForAllT(std::span<const RangedPart> parts);

// The adapters that act beneath those of patterns in requests that choose nothing, the global
// adapter included.
struct ServedAdapters {
  // This holds the adapters of the catalogue with their weights (MixForAllT).
  inference::AdapterMix mix;
  // The served version of the deep adapter, which is in the mix; 0: none.
  uint32_t deep_version = 0;
};
// Returns the adapters; a null catalogue gives none. Returns the errors of AdapterCatalog::Choose.
absl::StatusOr<ServedAdapters> AdaptersBeneathPatterns(AdapterCatalog* catalog);
// Returns those among them that all nodes of a cluster serve: the global adapter, or nothing. Its
// version may be another one on a node that is behind, or that holds a version back. Returns the
// errors of AdapterCatalog::Choose.
absl::StatusOr<inference::AdapterMix> AdaptersOfAllNodes(AdapterCatalog* catalog);
// Returns the adapters that act beside the one of this name, that is all others that requests get
// without choosing. Returns the errors of AdapterCatalog::Choose.
absl::StatusOr<std::vector<RangedPart>> AdaptersBeside(std::string_view name,
                                                       AdapterCatalog* catalog);

}  // namespace ruvd::serving
