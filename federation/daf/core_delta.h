// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/core_grid.h"
#include "inference/adapter/limits.h"

namespace ruvd::federation {

// The trained core R (rank x rank, row major) of one linear layer and one timestep bank, in a
// shared frame: y += P R Q x.
struct CoreDelta {
  std::string target;  // base tensor name, e.g. blk.7.attn_output.weight
  uint32_t bank = 0;
  uint32_t rank = 0;
  inference::GridValues values;  // rank * rank, canonical

  bool operator==(const CoreDelta&) const = default;
};

// The required shape of the cores of an item. The node derives it from its model's frame.
struct UpdateRules {
  std::map<std::string, uint32_t> rank_of_target;
  uint32_t banks = 1;
  // Largest L2 norm over all cores together, so a single clip norm covers all banks
  double max_norm = limits::kMaxCoreNorm;
};

// Sorts the cores in the order that the encoding needs.
void SortCores(std::vector<CoreDelta>& cores);

// Returns the L2 norm over all values of all cores, summed in double in order.
double NormOf(std::span<const CoreDelta> cores);

// Checks shape, order and norm. UPDATE_INVALID names the core.
absl::Status CheckCores(std::span<const CoreDelta> cores, const UpdateRules& rules);

// Write and read the list of cores inside a payload (docs/wire-format.md). The cores must be
// sorted. Reading returns UPDATE_INVALID for bytes that are not a list; lengths are checked before
// memory is allocated, which stays below twice the size of the input.
void WriteCores(std::span<const CoreDelta> cores, ByteWriter& writer);
absl::StatusOr<std::vector<CoreDelta>> ReadCores(ByteReader& reader);

}  // namespace ruvd::federation
