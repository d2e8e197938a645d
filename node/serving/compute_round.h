// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "node/serving/compute_task.h"

namespace ruvd::serving {

// A task in the compute rounds.
struct ComputeRoundTask {
  ComputeTask* task = nullptr;
  uint64_t number = 0;  // order of admission; a lower number is older
  // The task gave its keys and values back to an older one and waits until a completion ends.
  // RunRound maintains this and the next field.
  bool parked = false;
  bool gave_back =
      false;  // it gave its pages back since its last round, as no other task could make room
};

enum class TaskProgress : uint8_t {
  kWaiting,  // its turn comes in a later round
  kServed,
  kEnded,  // the task ended and told its caller
};

struct ComputeRoundOutcome {
  std::vector<TaskProgress> turns;  // one for each task
  size_t batch = 0;                 // number of completions that shared a forward
  size_t rows = 0;                  // number of tokens in that forward
  size_t preempted = 0;             // number of completions that gave their keys and values back
};

// Runs one round on the compute thread, over `tasks` in order: ends tasks that no caller waits for,
// runs one slice of the first task that takes slices, and steps the running completions together in
// one forward of at most `most_rows` tokens. The first completion is served whatever its size,
// later ones if they still fit. The caller puts waiting tasks before served ones, so a long text
// neither waits for ever nor delays the short ones.
//
// When memory for keys and values runs out, the youngest completion that holds some gives it back
// and is computed again later, with the same result. The oldest completion never waits for others,
// and its memory was checked when it began, so all completions end.
ComputeRoundOutcome RunComputeRound(std::span<ComputeRoundTask> tasks, size_t most_rows,
                                    inference::Transformer& transformer,
                                    inference::StepScratch* scratch);

}  // namespace ruvd::serving
