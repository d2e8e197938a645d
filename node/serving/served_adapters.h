// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::serving {

// The name of the adapter that deep rounds publish; other adapters of the node may not use it.
inline constexpr char kDeepAdapter[] = "deep";

// Returns the version of the deep adapter that requests get; 0: none.
uint32_t ServedDeepVersion(const AdapterCatalog& catalog);

// The adapters that act beneath those of patterns in requests that choose nothing.
struct ServedAdapters {
  // Adapters of the catalogue with their weights; from one with timestep banks, only the trunk is
  // used: training supports adapters beneath it only for all t, and residuals are small corrections
  // of a trunk.
  inference::AdapterMix mix;
  // The served version of the deep adapter, which is in the mix if the prompt is within its reach;
  // 0: none.
  uint32_t deep_version = 0;

  const inference::AdapterMix* mix_or_null() const { return mix.empty() ? nullptr : &mix; }
};
// Returns the adapters for prompts with about this embedding; a null catalogue gives none. Returns
// the errors of AdapterCatalog::Choose.
absl::StatusOr<ServedAdapters> AdaptersBeneathPatterns(AdapterCatalog* catalog,
                                                       std::span<const float> prompt);
// Returns the adapters that act beneath the deep adapter, that is all others that requests get
// without choosing.
absl::StatusOr<inference::AdapterMix> AdaptersBeneathDeep(AdapterCatalog* catalog);

}  // namespace ruvd::serving
