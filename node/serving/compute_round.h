// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "node/serving/compute_task.h"

namespace ruvd::serving {

// A task on its way through the rounds.
struct RoundTask {
  ComputeTask* task = nullptr;
  uint64_t number = 0;  // of its admission: the lower, the older
  // It gave its keys and values back to older ones and waits until a completion ends. Kept by
  // RunRound, as is the next.
  bool parked = false;
  bool gave_back = false;  // since its last round, with nobody else to make room
};

enum class Turn : uint8_t {
  kWaiting,  // its turn comes in a later round
  kServed,
  kEnded,  // it told its caller so
};

struct ComputeOutcome {
  std::vector<Turn> turns;  // one for each task
  size_t batch = 0;         // completions that shared a forward
  size_t rows = 0;          // tokens of that forward
  size_t preempted = 0;     // completions that gave their keys and values back
};

// One visit to the compute thread for `tasks`, in turn: ends those that nobody waits for, runs one
// slice of the first that takes slices, and steps the completions that have begun, together in one
// forward of at most `most_rows` tokens. The first task is served whatever its size, and later ones
// where they still fit, so a long text neither waits for ever nor holds up the short ones: the
// caller puts the waiting before the served.
//
// Where memory of keys and values runs out, the youngest completion that holds some gives it back
// and is computed again later, with the same result. The oldest one is never made to wait for
// others, and its memory was checked when it began, so all end.
ComputeOutcome RunRound(std::span<RoundTask> tasks, size_t most_rows,
                        inference::Transformer& transformer, inference::StepScratch* scratch);

}  // namespace ruvd::serving
