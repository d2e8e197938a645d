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

// Evaluates a window and writes the logits of the given rows (rows.size() x vocabulary), without
// any shift.
using WindowLogits = std::function<absl::Status(
    std::span<const TokenId> tokens, std::span<const int> rows, std::span<float> logits)>;

// The whole window through `transformer` with bidirectional attention. Borrows both.
WindowLogits BidirectionalLogits(Transformer& transformer, const AdapterMix* adapters = nullptr);

enum class DiffusionScheduleKind : uint8_t { kTimestep, kBlock };

// A decoding run as the conformance fixtures describe it: whole-window forwards, greedy candidates.
struct DiffusionRun {
  DiffusionScheduleKind schedule = DiffusionScheduleKind::kTimestep;
  int steps = 0;   // of the whole run; with kBlock, of each block
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
  int forwards = 0;  // steps that commit nothing are recorded but need none
};

// Runs step `step` on `tokens` (prompt, then window) and returns the committed positions,
// ascending. With the tokens of somebody else's run this predicts what they commit next (the
// fixtures' "forced"). INVALID_ARGUMENT for a step outside the schedule or an impossible run.
absl::StatusOr<std::vector<int>> DenoiseStep(const WindowLogits& logits, const DiffusionRun& run,
                                             int prompt_length, int step,
                                             std::vector<TokenId>* tokens);

// Decodes a window of `length` tokens in all, prompt included.
absl::StatusOr<DiffusionTrace> DecodeTrace(const WindowLogits& logits, const DiffusionRun& run,
                                           std::span<const TokenId> prompt, int length);

// The row of the logits that predicts a position.
inline int PredictingRow(int position, bool shift) {
  return shift && position > 0 ? position - 1 : position;
}

}  // namespace ruvd::inference
