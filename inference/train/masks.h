// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "inference/train/trainer.h"

namespace ruvd::train {

// One corruption of one example.
struct MaskDraw {
  size_t example = 0;
  std::vector<int> positions;  // masked offsets into the completion, ascending, never empty
};

// Draws exact-count masks: k uniform on 1..L, then k of the L completion tokens. Equal seeds give
// equal masks. Examples take turns in a shuffled order. Borrows the examples.
class MaskStream {
 public:
  MaskStream(std::span<const TrainingExample> examples, uint64_t seed);
  // `count` draws, stratified: the i-th has its k in the i-th part of 1..L (with a common random
  // offset), which lowers the variance of the loss without biasing it.
  std::vector<MaskDraw> Draw(int count);

 private:
  size_t NextExample();

  std::span<const TrainingExample> examples_;
  Random random_;
  std::vector<size_t> order_;
  size_t next_ = 0;
};

// Weight of each masked token's cross-entropy: 1/t = L/k, clamped (clamping at 4 gained 8-17 % in
// the pilot, see pilot-adapters.md), per completion token.
double MaskWeight(size_t masked, size_t length, double clamp);

}  // namespace ruvd::train
