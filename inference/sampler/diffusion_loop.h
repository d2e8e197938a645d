// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/sampler/proposal.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Evaluates a window and writes the logits of the given rows (rows.size() x vocabulary). The rows
// are not shifted.
using WindowLogits = std::function<absl::Status(
    std::span<const TokenId> tokens, std::span<const int> rows, std::span<float> logits)>;

// Evaluates the whole window with `transformer` and bidirectional attention. Borrows both
// arguments.
WindowLogits BidirectionalLogits(Transformer& transformer, const AdapterMix* adapters = nullptr);

enum class DiffusionScheduleKind : uint8_t { kTimestep, kBlock };

// A decoding run as the conformance fixtures describe it: forwards over the whole window, greedy
// candidates.
struct DiffusionRun {
  DiffusionScheduleKind schedule = DiffusionScheduleKind::kTimestep;
  int steps = 0;   // for the whole run; with kBlock, for each block
  double eps = 0;  // kTimestep
  int block = 0;   // kBlock: length of the blocks, counted from the end of the prompt
  CommitOrder order = CommitOrder::kConfidence;
  int vocabulary = 0;
  TokenId mask = 0;
  bool shift = true;  // the prediction for position i is in row i - 1 (row 0 for position 0)
};

struct DiffusionTrace {
  struct Step {
    int step = 0;
    std::vector<TokenId> before;  // all tokens before the step
    std::vector<int> committed;   // positions, ascending
  };
  std::vector<Step> steps;
  std::vector<TokenId> final;
  int forwards = 0;  // a step that commits nothing is recorded but needs no forward
};

// Runs step `step` on `tokens` (prompt, then window) and returns the committed positions,
// ascending. When the tokens come from another implementation's run, this predicts what that run
// commits next (the "forced" part of the fixtures). INVALID_ARGUMENT for a step outside the
// schedule or an impossible run.
absl::StatusOr<std::vector<int>> DenoiseStep(const WindowLogits& logits, const DiffusionRun& run,
                                             int prompt_length, int step,
                                             std::vector<TokenId>* tokens);

// Decodes a window of `length` tokens in total, prompt included.
absl::StatusOr<DiffusionTrace> DecodeTrace(const WindowLogits& logits, const DiffusionRun& run,
                                           std::span<const TokenId> prompt, int length);

// Returns the row of the logits that predicts a position.
inline int PredictingRow(int position, bool shift) {
  return shift && position > 0 ? position - 1 : position;
}

}  // namespace ruvd::inference
