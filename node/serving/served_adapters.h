// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::serving {

// The name of the adapter that deep rounds publish; no other adapter of the node may have it.
inline constexpr char kDeepAdapter[] = "deep";

// The version of it that requests get; 0: none.
uint32_t ServedDeepVersion(const AdapterCatalog& catalog);

// What acts beneath the adapters of patterns in requests that choose nothing.
struct ServedAdapters {
  // Of the catalogue, with their weights. Of one with timestep banks its trunk alone: training
  // knows adapters beneath at all t only, and residuals are small corrections of a trunk.
  inference::AdapterMix mix;
  // The served one, among them where the prompt is within its reach; 0: none.
  uint32_t deep_version = 0;

  const inference::AdapterMix* mix_or_null() const { return mix.empty() ? nullptr : &mix; }
};
// For prompts like one with this embedding. A null catalogue has nothing. The errors of
// AdapterCatalog::Choose.
absl::StatusOr<ServedAdapters> AdaptersBeneathPatterns(AdapterCatalog* catalog,
                                                       std::span<const float> prompt);
// The same without the adapter of deep rounds: what acts beneath that one.
absl::StatusOr<inference::AdapterMix> AdaptersBeneathDeep(AdapterCatalog* catalog);

}  // namespace ruvd::serving
