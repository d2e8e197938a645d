// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "inference/tokenizer/tokenizer.h"
#include "inference/train/losses.h"
#include "inference/train/network.h"

namespace ruvd::inference {

// How crops of a stream of tokens become batches of block diffusion.
struct CropOptions {
  train::TextRules rules;
  int length = 512;  // tokens of a crop
  int batch = 8;     // crops of a step
  int block_length = 16;
  // Share of the steps over which the block doubles from 1 to block_length. At 1, with the shift,
  // every MASK is predicted by the clean token before it behind clean text: next-token prediction,
  // which an autoregressive model can do. 0: the whole block from the start.
  double anneal = 0;
  int steps = 1000;         // of the run
  double weight_clamp = 4;  // see train::LossOptions
  uint64_t seed = 1;
};

// Tokens of a block at a step.
int BlockLengthAt(const CropOptions& options, uint64_t step);

// The objective of a conversion: every epoch takes the stream's crops, which begin at an offset of
// its own, in a new order; masks are drawn anew. `stream` has at least one crop.
std::unique_ptr<train::Objective> MakeCropObjective(std::vector<TokenId> stream,
                                                    const CropOptions& options);

// At most `count` crops at even distances over the stream, masked once each with exact weights: the
// sum of their losses is the block-diffusion NELBO in nats per token.
std::vector<train::TrainingSequence> HeldOutCrops(std::span<const TokenId> stream, int count,
                                                  const CropOptions& options);

}  // namespace ruvd::inference
