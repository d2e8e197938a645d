// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "inference/engine/generation.h"
#include "inference/sampler/distribution.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::test {

// What block decoding means, without any cache: every step evaluates everything up to the end of
// the active block with block-causal attention and commits the most confident masks of that block.
inline std::vector<inference::TokenId> CacheFreeBlockDecode(
    const std::shared_ptr<const inference::Model>& model, std::vector<inference::TokenId> tokens,
    int max_tokens, int block, int steps, const inference::Generation::AdapterPolicy& adapters) {
  inference::CpuTransformer transformer(model, SerialRunner());
  const size_t prompt = tokens.size();
  const auto b = static_cast<size_t>(block);
  tokens.resize(prompt + static_cast<size_t>(max_tokens), kTinyMask);
  const size_t vocabulary = static_cast<size_t>(model->config().vocabulary);
  const size_t width = static_cast<size_t>(model->config().width);
  for (size_t begin = prompt / b * b; begin < tokens.size(); begin += b) {
    const size_t end = std::min(begin + b, tokens.size());
    const size_t window = end - std::max(begin, prompt);
    const int block_steps = steps > 0 ? steps : static_cast<int>(window);
    for (int step = 0;; ++step) {
      std::vector<std::pair<float, size_t>> confident;
      std::vector<inference::TokenId> best(tokens.size());
      size_t masked = 0;
      for (size_t i = begin; i < end; ++i) {
        masked += tokens[i] == kTinyMask ? 1 : 0;
      }
      if (masked == 0) {
        break;
      }
      const inference::AdapterMix mix =
          adapters ? adapters(static_cast<float>(masked) / static_cast<float>(window))
                   : inference::AdapterMix();
      inference::ForwardOutput output;
      EXPECT_TRUE(transformer
                      .Forward({.tokens = std::span(tokens).first(end),
                                .attention = {.kind = inference::Attention::Kind::kBlockCausal,
                                              .block_length = block},
                                .adapters = &mix},
                               &output)
                      .ok());
      for (size_t i = begin; i < end; ++i) {
        if (tokens[i] != kTinyMask) {
          continue;
        }
        const size_t row = i == 0 ? 0 : i - 1;
        std::vector<float> logits(vocabulary);
        transformer.Logits(std::span(output.hidden).subspan(row * width, width), &mix, logits);
        const inference::RowSummary summary = inference::Summarise(logits, kTinyMask);
        best[i] = summary.best;
        confident.emplace_back(-summary.Probability(logits[summary.best]), i);
      }
      std::sort(confident.begin(), confident.end());
      const int left = std::max(1, block_steps - step);
      const size_t count = (masked + static_cast<size_t>(left) - 1) / static_cast<size_t>(left);
      for (size_t i = 0; i < count; ++i) {
        tokens[confident[i].second] = best[confident[i].second];
      }
    }
  }
  return tokens;
}

}  // namespace ruvd::test
