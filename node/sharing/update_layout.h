// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/bank_gate.h"
#include "inference/adapter/frame.h"
#include "node/serving/pattern_payload.h"

namespace ruvd::sharing {

// What the updates of this node are of.
struct UpdateLayout {
  const inference::Frame* frame = nullptr;  // outlives the layout
  Digest model_hash{};                      // of the model package
  // Of this node's timestep banks, ascending within 0 to 1; none: one bank for all t. Those of
  // other nodes may differ.
  std::vector<float> boundaries = {};

  size_t banks() const { return boundaries.size() + 1; }
  size_t values_per_bank() const {
    return static_cast<size_t>(frame->rank) * static_cast<size_t>(frame->rank);
  }
  size_t values() const { return banks() * values_per_bank(); }
};

// What an update of the cluster must look like, whatever its banks.
federation::AdapterUpdateRules RulesOf(const UpdateLayout& layout);

// What a node's training looks like by tenth of t: maskings are drawn evenly.
federation::TimestepHistogram EvenSchedule();

// An update of all banks of the layout that began from the frozen model, scaled to the largest norm
// that peers take where it is longer. `examples`: as the node claims, 0: it does not say.
federation::AdapterUpdate UpdateOfBanks(const UpdateLayout& layout, federation::BankedValues banks,
                                        uint64_t examples);

// The core of a pattern by bank of the layout, whatever banks it was trained for (AlignBanks);
// nullopt where it has none in this frame or one of another size.
std::optional<federation::BankedValues> CoreByBank(const serving::PatternPayload& payload,
                                                   const UpdateLayout& layout);

// The same as one core for all t: its mean over t.
std::optional<std::vector<float>> CoreForAllT(const serving::PatternPayload& payload,
                                              const inference::Frame& frame);

}  // namespace ruvd::sharing
