// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Where a sequence of a batch lies among the concatenated rows.
struct BatchSequence {
  const ForwardInput* input = nullptr;
  size_t begin = 0;  // its first row among all tokens
  size_t tokens = 0;
  size_t position = 0;      // of its first token
  size_t suffix = 0;        // cached tokens behind its own
  size_t wanted_begin = 0;  // its first row among the wanted rows
  size_t wanted = 0;

  // The position of its token `row`, which decides the rotary embedding.
  size_t PositionOf(size_t row) const {
    const bool repeats = input->attention.kind == Attention::Kind::kNoisyAndClean;
    return position + (repeats ? row % (tokens / 2) : row);
  }
};

// A checked batch: the tokens of all sequences one after the other.
struct ForwardBatch {
  std::vector<BatchSequence> sequences;
  size_t tokens = 0;
  size_t wanted = 0;
  size_t positions = 0;  // one more than the last position
  // The wanted rows are all rows in their order, so nothing needs to be gathered.
  bool all_wanted = true;
  std::vector<size_t> wanted_rows;       // rows of the batch, in the order of the outputs
  std::vector<size_t> sequence_of_row;   // by row of the batch
  std::vector<size_t> sequence_of_want;  // by wanted row
};

// Checks the inputs as Transformer::Forward promises and lays them out. `layers` of a cache must be
// those of `config`. The result borrows `inputs`.
absl::Status LayOutBatch(const ModelConfig& config, std::span<const ForwardInput> inputs,
                         ForwardBatch* batch);

}  // namespace ruvd::inference
