// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/projection_frame.h"
#include "inference/retrieval/prompt_embedding.h"
#include "inference/train/trainer.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/general_text.h"
#include "node/process/limits.h"

namespace ruvd::test {

// Patterns as peers share them: made by training in the frame of a node with this model.
class SharedPatterns {
 public:
  explicit SharedPatterns(const std::shared_ptr<const inference::Model>& model)
      : transformer_(model, SerialRunner()),
        frame_(
            inference::RandomFrame(*model, limits::kPatternCoreRank, limits::kFrameSeed).value()) {}

  const inference::ProjectionFrame& frame() const { return frame_; }
  const inference::Model& model() const { return transformer_.model(); }

  std::vector<float> EmbeddingOf(const std::string& prompt) {
    return inference::EmbedText(transformer_, model().tokenizer().EncodePrompt(prompt), nullptr)
        .value();
  }
  // Returns the embedding of a passage of general text that every node measures on.
  std::vector<float> EmbeddingOfGeneralText() {
    const learning::GeneralPassages passages = learning::BuiltInPassages(model());
    return inference::EmbedText(transformer_, passages.measured.front(), nullptr).value();
  }
  // Returns a pattern that learned the completion of the prompt and claims the highest quality.
  federation::SharedPattern Learned(uint8_t id, const std::string& prompt,
                                    const std::string& completion, int64_t created_ms) {
    const std::vector<inference::TrainingExample> examples = {
        {.prompt = model().tokenizer().EncodePrompt(prompt),
         .completion = model().tokenizer().EncodeContinuation(completion)}};
    const inference::TrainingResult trained =
        inference::TrainLastLayerCore(transformer_, frame_, examples, {}, nullptr, {.seed = 3})
            .value();
    return {.id = {id},
            .bank = static_cast<uint32_t>(inference::BankOf(1)),
            .task = "chat",
            .quality = 1,
            .examples = 1,
            .created_ms = created_ms,
            .centroid = EmbeddingOf(prompt),
            .cores = {{.target = frame_.target,
                       .bank = static_cast<uint32_t>(inference::BankOf(1)),
                       .rank = static_cast<uint32_t>(frame_.rank),
                       .values = Clipped(trained.core)}}};
  }
  // Returns a pattern with another core: the former one times a factor.
  static federation::SharedPattern Times(federation::SharedPattern pattern, float factor) {
    for (float& value : pattern.cores.front().values) {
      value *= factor;
    }
    return pattern;
  }

 private:
  // Scales a core down to a norm that peers accept, as a node does before it offers the core.
  static std::vector<float> Clipped(std::vector<float> core) {
    const double bound = 0.99 * federation::UpdateRules().max_norm;
    double squares = 0;
    for (const float value : core) {
      squares += double{value} * double{value};
    }
    if (const double norm = std::sqrt(squares); norm > bound) {
      for (float& value : core) {
        value = static_cast<float>(double{value} * (bound / norm));
      }
    }
    return core;
  }

  inference::CpuTransformer transformer_;
  const inference::ProjectionFrame frame_;
};

}  // namespace ruvd::test
