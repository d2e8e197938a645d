// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "node/actors/compute_task.h"

namespace ruvd {

enum class Turn : uint8_t {
  kWaiting,  // its turn comes in a later round
  kServed,
  kEnded,  // it told its caller so
};

struct RoundOutcome {
  std::vector<Turn> turns;  // one for each task
  size_t batch = 0;         // completions that shared a forward
  size_t rows = 0;          // tokens of that forward
};

// One visit to the compute thread for `tasks`, in turn: ends those that nobody waits for, runs one
// slice of the first that takes slices, and steps the completions that have begun, together in one
// forward of at most `most_rows` tokens. The first task is served whatever its size, and later ones
// where they still fit, so a long text neither waits for ever nor holds up the short ones: the
// caller puts the waiting before the served.
RoundOutcome RunRound(std::span<ComputeTask* const> tasks, size_t most_rows,
                      Transformer& transformer, StepScratch* scratch);

}  // namespace ruvd
