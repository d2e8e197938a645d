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
#include "inference/adapter/projection_frame.h"
#include "node/serving/pattern_payload.h"

namespace ruvd::sharing {

// The model, frame and banks of this node's updates.
struct UpdateLayout {
  const inference::ProjectionFrame* frame = nullptr;  // must outlive the layout
  Digest model_hash{};                                // of the model package
  // The boundaries of this node's timestep banks, ascending, within 0 to 1. Empty: one bank for all
  // t. Other nodes may have other banks.
  std::vector<float> boundaries = {};

  size_t banks() const { return boundaries.size() + 1; }
  size_t values_per_bank() const {
    return static_cast<size_t>(frame->rank) * static_cast<size_t>(frame->rank);
  }
  size_t values() const { return banks() * values_per_bank(); }
};

// Returns the rules that every update of the cluster must meet, with any banks.
federation::AdapterUpdateRules RulesOf(const UpdateLayout& layout);

// Returns a node's training schedule by tenths of t: maskings are drawn evenly.
federation::TimestepHistogram EvenSchedule();

// Returns an update of all banks of the layout that began from the frozen model. If its norm
// exceeds the largest norm that peers accept, it is scaled down to that. `examples` is the number
// that the node claims; 0 states no number.
federation::AdapterUpdate UpdateOfBanks(const UpdateLayout& layout, federation::BankedValues banks,
                                        uint64_t examples);

// Returns the core of a pattern by bank of the layout, aligned from the banks that it was trained
// for (AlignBanks); nullopt if it has no core in this frame, or a core of another size.
std::optional<federation::BankedValues> CoreByBank(const serving::PatternPayload& payload,
                                                   const UpdateLayout& layout);

// Returns the core of a pattern for all t, which is its mean over t; nullopt as for CoreByBank.
std::optional<std::vector<float>> CoreForAllT(const serving::PatternPayload& payload,
                                              const inference::ProjectionFrame& frame);

}  // namespace ruvd::sharing
