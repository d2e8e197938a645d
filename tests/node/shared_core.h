// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "federation/patterns/shared_pattern.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/frame_set.h"
#include "inference/package/model_package.h"
#include "inference/retrieval/prompt_embedding.h"
#include "inference/train/network.h"
#include "inference/train/trainer.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/general_text.h"
#include "node/process/limits.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/shared_items.h"
#include "tests/node/node_fixture.h"

namespace ruvd::test {

// Patterns as peers share them: made by training in the frame of a node with this model.
class SharedPatterns {
 public:
  explicit SharedPatterns(const std::shared_ptr<const inference::Model>& model)
      : transformer_(model, SerialRunner()),
        frame_(inference::LoadFrameSet(inference::FramePath(kSmallModel)).value()) {}

  // The frame beside the model.
  const inference::FrameSet& frame() const { return frame_; }
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
    const inference::ModelConfig& config = model().config();
    const auto trained = inference::TrainCores(
        transformer_, frame_,
        inference::train::SitesFrom(config, static_cast<size_t>(config.layers) - 2, false),
        examples, {}, nullptr, {.rank = limits::kPatternCoreRank, .seed = 3});
    storage::Pattern pattern{.id = {id},
                             .embedding = EmbeddingOf(prompt),
                             .bank = static_cast<uint32_t>(inference::BankOf(1)),
                             .task = "chat",
                             .quality = 1,
                             .examples = 1,
                             .updated_ms = created_ms};
    pattern.payload =
        serving::EncodePatternPayload({.cores = trained.value().cores, .shareable = true});
    return sharing::ShareablePattern(pattern, &frame_).value();
  }
  // Returns a pattern with other cores: the former ones times a factor.
  static federation::SharedPattern Times(federation::SharedPattern pattern, float factor) {
    for (federation::CoreDelta& core : pattern.cores) {
      std::vector<float> values = FromGrid(core.values);
      for (float& value : values) {
        value *= factor;
      }
      core.values = inference::ToGrid(values);
    }
    return pattern;
  }

 private:
  inference::CpuTransformer transformer_;
  const inference::FrameSet frame_;
};

}  // namespace ruvd::test
