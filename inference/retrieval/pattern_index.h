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

// A stored pattern near a query, and the adapter it brings.
struct RetrievedPattern {
  std::string pattern_id;
  float similarity = 0;  // cosine, -1 to 1
  std::string adapter;   // name
  uint32_t version = 0;
};

// What inference needs to know of the pattern store. Declared here so that inference and storage do
// not know each other; node implements it. Thread-safe.
class PatternIndex {
 public:
  virtual ~PatternIndex() = default;
  // The `k` patterns of `bank` nearest to a normalised embedding, best first.
  virtual absl::StatusOr<std::vector<RetrievedPattern>> Search(std::span<const float> embedding,
                                                               TimestepBank bank, int k) const = 0;
};

struct SelectionOptions {
  float threshold = 0.6F;  // hits below this cosine are ignored
  int max_adapters = 2;
  // Total weight of the mix. Adapters were each trained to act alone at weight 1.
  float total_weight = 1.0F;
  // Weights are softmax(similarity / temperature) over the selected hits; 0 gives the best hit
  // everything.
  float temperature = 0.05F;
};

// The mix for a request and which hit each part came from (same order as mix.parts).
struct Selection {
  AdapterMix mix;
  std::vector<RetrievedPattern> hits;
};

// Turns hits into an adapter mix: those at or above the threshold whose adapter the registry has,
// best first (ties by pattern id), each adapter once, weighted by similarity. The mix pins the
// adapters' versions.
Selection SelectAdapters(std::span<const RetrievedPattern> hits, AdapterRegistry& adapters,
                         const SelectionOptions& options);

}  // namespace ruvd::inference
