// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "inference/train/network.h"

namespace ruvd::inference::train {

// Sequences that run together, their rows one after the other. `wanted` are the rows that some
// prediction reads: the last layer computes only what they need.
template <typename T>
struct PackedGroup {
  // Rows [begin, end) of one masked share whose gradient goes to one place, null for nowhere.
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
    T* gradient = nullptr;  // of its sequence
    double t = 1;
    const T* frozen = nullptr;  // what the frozen network has before the head; null: cross-entropy
  };

  // gradients[i] belongs to sequences[i]. Without `by_t` every row counts as one of t = 1: where no
  // change asks for t, ranges are the longer for it. Borrows the sequences.
  void Pack(std::span<const TrainingSequence> packed, std::span<T* const> gradients, bool by_t);
  // Appends `rows` to the ranges, to the last one where the gradient goes to the same place and t
  // is the same.
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
  std::vector<Target> targets;  // of all predictions in their order
};

extern template struct PackedGroup<float>;
extern template struct PackedGroup<double>;

}  // namespace ruvd::inference::train
