// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/registry.h"

namespace ruvd::inference {

// A stored pattern near a query, and the adapter that belongs to it.
struct RetrievedPattern {
  std::string pattern_id;
  float similarity = 0;  // cosine, -1 to 1
  std::string adapter;   // name
  uint32_t version = 0;
};

// The part of the pattern store that inference needs. It is declared here so that inference and
// storage do not depend on each other; node implements it. Thread-safe.
class PatternIndex {
 public:
  virtual ~PatternIndex() = default;
  // Returns the `k` patterns of `bank` nearest to a normalised embedding, best first.
  virtual absl::StatusOr<std::vector<RetrievedPattern>> Search(std::span<const float> embedding,
                                                               TimestepBank bank, int k) const = 0;
};

struct SelectionOptions {
  float threshold = 0.6F;  // hits below this cosine are ignored
  int max_adapters = 2;
  // Total weight of the mix. Each adapter was trained to act alone with weight 1.
  float total_weight = 1.0F;
  // Weights are softmax(similarity / temperature) over the selected hits; 0 gives the best hit the
  // whole weight.
  float temperature = 0.05F;
};

// The mix for a request, and the hit that each part came from (in the order of mix.parts).
struct Selection {
  AdapterMix mix;
  std::vector<RetrievedPattern> hits;
};

// Turns hits into an adapter mix. It takes hits at or above the threshold whose adapter is in the
// registry, best first (ties by pattern id), uses each adapter once, and weights them by
// similarity. The mix pins the versions of its adapters.
Selection SelectAdapters(std::span<const RetrievedPattern> hits, AdapterRegistry& adapters,
                         const SelectionOptions& options);

}  // namespace ruvd::inference
