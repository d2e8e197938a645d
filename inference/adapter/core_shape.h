// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/bank_weights.h"
#include "inference/adapter/frame_set.h"
#include "inference/adapter/talora.h"

namespace ruvd::inference {

// The modules of R-cores in a frame, and their timestep banks: what the values of an update mean.
// The values of one bank are the cores of all modules, one after the other, each rank x rank and
// row major.
struct CoreShape {
  struct Module {
    std::string target;  // base tensor name
    int rank = 0;        // 1 to the rank that the frame has for the target
    size_t values() const { return static_cast<size_t>(rank) * static_cast<size_t>(rank); }
    bool operator==(const Module&) const = default;
  };
  Digest frame_id{};
  Digest model_hash{};            // as in the frame
  std::vector<float> boundaries;  // of the banks (BankSchedule); empty: one bank for all t
  std::vector<Module> modules;    // in ascending order of targets, which is the order of values
  std::vector<float> fisher;      // as FisherOf says

  size_t banks() const { return boundaries.size() + 1; }
  size_t values_per_bank() const;
  // Returns how many values all banks have together.
  size_t values() const { return banks() * values_per_bank(); }
  BankSchedule schedule() const { return {.boundaries = boundaries}; }
  bool operator==(const CoreShape&) const = default;
};

// Returns the shape of cores of `rank` on all linear layers of the frame; where the frame has a
// lower rank, that is the rank of the core. INVALID_ARGUMENT for a rank outside 1 to
// limits::kMaxAdapterRank, a frame without modules, or boundaries that CheckSchedule refuses.
absl::StatusOr<CoreShape> CoreShapeOf(const FrameSet& frame, int rank,
                                      std::vector<float> boundaries = {});

// Returns the frame's Fisher information of each value of a shape that CheckCoreShape accepts, all
// banks one after the other; nothing if the frame has none. A bank has the maskings of its share of
// t only, so its information is the mean over all t times that share.
std::vector<float> FisherOf(const CoreShape& shape, const FrameSet& frame);

// Returns FRAME_MISMATCH for a shape of another frame or model, or with a target or rank that the
// frame does not have; INVALID_ARGUMENT for no modules, modules out of order, or boundaries that
// CheckSchedule refuses.
absl::Status CheckCoreShape(const CoreShape& shape, const FrameSet& frame);

// Returns the adapter of cores as it is served, of kind kCore: a static one if there is one bank,
// else one residual for each bank and no trunk. `banks` holds the values of each bank. Errors:
// those of CheckCoreShape; UPDATE_INVALID for a wrong number of values, or one that is not finite.
absl::StatusOr<std::shared_ptr<const Talora>> TaloraOfCores(
    const FrameSet& frame, const CoreShape& shape, std::span<const std::vector<float>> banks,
    std::string name, uint32_t version);

}  // namespace ruvd::inference
