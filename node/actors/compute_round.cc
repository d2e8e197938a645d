// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/compute_round.h"

#include <utility>

namespace ruvd {

RoundOutcome RunRound(std::span<ComputeTask* const> tasks, size_t most_rows,
                      Transformer& transformer, StepScratch* scratch) {
  RoundOutcome outcome;
  outcome.turns.assign(tasks.size(), Turn::kWaiting);
  std::vector<size_t> batch;
  std::vector<Generation*> generations;
  bool sliced = false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    ComputeTask& task = *tasks[i];
    if (task.EndIfUnwanted()) {
      outcome.turns[i] = Turn::kEnded;
    } else if (Generation* generation = task.generation(); generation != nullptr) {
      const size_t rows = NextRows(*generation);
      if (batch.empty() || outcome.rows + rows <= most_rows) {
        batch.push_back(i);
        generations.push_back(generation);
        outcome.rows += rows;
      }
    } else if (!sliced) {
      sliced = true;
      outcome.turns[i] = task.RunSlice(transformer) ? Turn::kEnded : Turn::kServed;
    }
  }
  outcome.batch = batch.size();
  if (!batch.empty()) {
    std::vector<RoundResult> results = StepTogether(generations, transformer, scratch);
    for (size_t i = 0; i < batch.size(); ++i) {
      const bool ended = tasks[batch[i]]->TakeRound(std::move(results[i]));
      outcome.turns[batch[i]] = ended ? Turn::kEnded : Turn::kServed;
    }
  }
  return outcome;
}

}  // namespace ruvd
