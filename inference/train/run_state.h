// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/numerics/optimizer.h"

namespace ruvd::inference::train {

// Everything that decides how a training run continues after a step. All random choices of a step
// follow from the run's seed and the step's number, so there is no other random state.
struct RunState {
  Digest task{};  // digest of options and task: a run continues only with equal ones
  uint64_t seed = 0;
  uint64_t step = 0;
  bool evaluated = false;  // whether held_out includes the loss after this step
  std::vector<float> parameters;
  OptimizerState optimizer;
  // Early stopping: the held-out losses so far, one for each evaluation, and the best parameters
  // (empty before the first evaluation).
  std::vector<double> held_out;
  std::vector<float> best;
  std::vector<double> fisher;  // the running Fisher of EWC; empty if it is not followed
  bool operator==(const RunState&) const = default;
};

// Encodes the state, little endian:
//   "RVTR", u32 format 1, 32 bytes task, u64 seed, u64 step, u8 evaluated,
//   u64 optimiser steps,
//   u64 count and f32 parameters; u64 count and f64 first; u64 count and f64 second;
//   u64 count and f64 held-out losses; u64 count and f32 best;
//   u64 count and f64 Fisher;
//   32 bytes SHA-256 of everything before.
std::string EncodeRunState(const RunState& state);

// Decodes the state in `bytes`. Every length is checked before memory is allocated.
// INVALID_ARGUMENT for a broken checksum or structure, a limit, a value that is not finite, or a
// negative Fisher.
absl::StatusOr<RunState> DecodeRunState(std::span<const uint8_t> bytes);

}  // namespace ruvd::inference::train
