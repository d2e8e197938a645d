// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/packed_group.h"

#include <limits>

namespace ruvd::inference::train {

template <typename T>
void PackedGroup<T>::Append(size_t rows, T* gradient, double t, std::vector<Range>* ranges) {
  if (!ranges->empty() && ranges->back().gradient == gradient && ranges->back().t == t) {
    ranges->back().end += rows;
  } else {
    const size_t begin = ranges->empty() ? 0 : ranges->back().end;
    ranges->push_back({begin, begin + rows, gradient, t});
  }
}

template <typename T>
void PackedGroup<T>::Pack(std::span<const TrainingSequence> packed, std::span<T* const> gradients,
                          bool by_t) {
  constexpr size_t kUnread = std::numeric_limits<size_t>::max();
  *this = PackedGroup();
  sequences = packed;
  wanted_begin.assign(1, 0);
  for (size_t s = 0; s < packed.size(); ++s) {
    const TrainingSequence& sequence = packed[s];
    const size_t begin = tokens.size();
    const size_t length = sequence.tokens.size();
    const double t = by_t ? sequence.t : 1.0;
    const bool repeats = sequence.attention.kind == Attention::Kind::kNoisyAndClean;
    tokens.insert(tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
    std::vector<size_t> index(length, kUnread);
    for (const Prediction& prediction : sequence.predictions) {
      index[prediction.row] = 0;
    }
    for (size_t row = 0; row < length; ++row) {
      positions.push_back(repeats ? row % (length / 2) : row);
      if (index[row] != kUnread) {
        index[row] = wanted.size();
        wanted.push_back(begin + row);
        wanted_in.push_back(row);
        wanted_positions.push_back(positions.back());
      }
    }
    for (const Prediction& prediction : sequence.predictions) {
      targets.push_back(
          {index[prediction.row], prediction.target, prediction.weight, gradients[s], t, nullptr});
    }
    Append(length, gradients[s], t, &row_ranges);
    Append(wanted.size() - wanted_begin.back(), gradients[s], t, &wanted_ranges);
    wanted_begin.push_back(wanted.size());
  }
}

template struct PackedGroup<float>;
template struct PackedGroup<double>;

}  // namespace ruvd::inference::train
