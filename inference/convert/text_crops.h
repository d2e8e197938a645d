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

// How crops of a stream of tokens become batches for block diffusion.
struct CropOptions {
  train::TextRules rules;
  int length = 512;  // tokens of a crop
  int batch = 8;     // crops per step
  int block_length = 16;
  // Share of the steps during which the block doubles from 1 to block_length; 0 uses the whole
  // block from the start. With a block of 1 and shifted logits, every MASK is predicted by the
  // clean token before it after clean text: this is next-token prediction, which an autoregressive
  // model can do.
  double anneal = 0;
  int steps = 1000;         // steps of the run
  double weight_clamp = 4;  // see train::LossOptions
  uint64_t seed = 1;
};

// Returns the block length in tokens at a step.
int BlockLengthAt(const CropOptions& options, uint64_t step);

// Makes the objective of a conversion. Every epoch cuts the stream into crops at a new offset,
// visits them in a new order and draws new masks. `stream` must have at least one crop.
std::unique_ptr<train::Objective> MakeCropObjective(std::vector<TokenId> stream,
                                                    const CropOptions& options);

// Returns at most `count` crops at even distances over the stream, each masked once with exact
// weights, so that the sum of their losses is the block-diffusion NELBO in nats per token.
std::vector<train::TrainingSequence> HeldOutCrops(std::span<const TokenId> stream, int count,
                                                  const CropOptions& options);

}  // namespace ruvd::inference
