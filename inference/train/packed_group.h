// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "inference/train/network.h"

namespace ruvd::inference::train {

// Sequences that run together; their rows are stored one after the other. `wanted` are the rows
// that a prediction reads: the last layer computes only what these need.
template <typename T>
struct PackedGroup {
  // Rows [begin, end) with one masked share and one destination of their gradient (null: no
  // gradient).
  struct Range {
    size_t begin = 0;
    size_t end = 0;
    T* gradient = nullptr;
    double t = 1;
  };
  struct Target {
    size_t wanted = 0;  // index into the wanted rows
    TokenId token = 0;
    double weight = 0;
    T* gradient = nullptr;  // destination of its sequence's gradient
    double t = 1;
    // hidden state of the frozen network before the head; null: the loss is the cross-entropy
    const T* frozen = nullptr;
  };

  // gradients[i] belongs to sequences[i]. Without `by_t` every row counts as t = 1: if no change
  // depends on t, this makes the ranges longer. Borrows the sequences.
  void Pack(std::span<const TrainingSequence> packed, std::span<T* const> gradients, bool by_t);
  // Appends `rows` to the ranges: to the last range if it has the same gradient destination and the
  // same t, otherwise as a new range.
  static void Append(size_t rows, T* gradient, double t, std::vector<Range>* ranges);

  size_t rows() const { return tokens.size(); }
  bool all_wanted() const { return wanted.size() == tokens.size(); }

  std::span<const TrainingSequence> sequences;
  std::vector<TokenId> tokens;
  std::vector<size_t> positions;         // by row
  std::vector<size_t> wanted;            // rows, ascending
  std::vector<size_t> wanted_positions;  // by wanted row
  std::vector<size_t> wanted_in;         // by wanted row: its row in its sequence
  std::vector<size_t> wanted_begin;      // by sequence, and the end
  std::vector<Range> row_ranges;
  std::vector<Range> wanted_ranges;
  std::vector<Target> targets;  // all predictions in their order
};

extern template struct PackedGroup<float>;
extern template struct PackedGroup<double>;

}  // namespace ruvd::inference::train
