// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Where the rows of a sequence lie among the concatenated rows of a batch.
struct BatchSequence {
  const ForwardInput* input = nullptr;
  size_t begin = 0;  // first row among all tokens
  size_t tokens = 0;
  size_t position = 0;      // of the first token
  size_t suffix = 0;        // cached tokens after its own
  size_t wanted_begin = 0;  // first row among the wanted rows
  size_t wanted = 0;

  // Returns the position of the sequence's token `row`, which decides the rotary embedding.
  size_t PositionOf(size_t row) const {
    const bool repeats = input->attention.kind == Attention::Kind::kNoisyAndClean;
    return position + (repeats ? row % (tokens / 2) : row);
  }
};

// A batch that has been checked: the tokens of all sequences one after the other.
struct ForwardBatch {
  std::vector<BatchSequence> sequences;
  size_t tokens = 0;
  size_t wanted = 0;
  size_t positions = 0;  // one more than the last position
  // True if the wanted rows are all rows in order, so that no rows have to be gathered.
  bool all_wanted = true;
  std::vector<size_t> wanted_rows;       // rows of the batch, in the order of the outputs
  std::vector<size_t> sequence_of_row;   // by row of the batch
  std::vector<size_t> sequence_of_want;  // by wanted row
};

// Checks the inputs as Transformer::Forward promises, and lays them out. The layers of a cache must
// be those of `config`. The inputs must outlive the result.
absl::Status LayOutBatch(const ModelConfig& config, std::span<const ForwardInput> inputs,
                         ForwardBatch* batch);

}  // namespace ruvd::inference
