// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inference/train/score.h"
#include "node/serving/adapters_by_words.h"
#include "node/serving/compute_task.h"
#include "node/serving/generation_services.h"
#include "node/serving/prompt_tokens.h"

namespace ruvd::serving {

// Scores a completion on a transformer of its own with Precision::kExact, one masking in a slice.
// The first slice also embeds the prompt where adapters are found by it.
class ScoreTask final : public ComputeTask {
 public:
  ScoreTask(const GenerationServices& services, inference::Transformer& exact, ScoreJob job,
            std::function<void(absl::StatusOr<ScoreAnswer>)> done)
      : adapters_(*services.adapters),
        whitening_(services.whitening),
        memory_of_(services.memory_of),
        written_words_choose_(services.written_words_choose),
        exact_(exact),
        job_(std::move(job)),
        done_(std::move(done)) {}
  bool HasManySlices() const override { return true; }
  bool NeedsPreparation() const override {
    return job_.use_adapters && adapters_.NeedsFiles(job_.adapters);
  }
  void Prepare() override { held_ = adapters_.ReadFiles(job_.adapters); }
  bool RunSlice(inference::Transformer& serving) override;
  bool EndIfCancelled() override;
  void Fail(const absl::Status& status) override { done_(status); }

 private:
  absl::Status Begin(inference::Transformer& serving);
  absl::Status ChooseAdapters(inference::Transformer& serving);
  const inference::AdapterMix* AdaptersAt(const inference::ReadingStep& step);
  // Scores one masking. Returns whether the answer is complete.
  absl::StatusOr<bool> Step(inference::Transformer& serving);

  AdapterSource& adapters_;
  const inference::Whitening* whitening_;
  const std::function<std::unique_ptr<inference::MemoryReader>(std::string_view user_id,
                                                               bool causal)>
      memory_of_;  // null: no lesson is remembered
  const bool written_words_choose_;
  inference::Transformer& exact_;
  const ScoreJob job_;
  absl::StatusOr<std::vector<RangedPart>> held_ =
      std::vector<RangedPart>();  // the adapters read by Prepare
  const std::function<void(absl::StatusOr<ScoreAnswer>)> done_;

  // What Begin makes
  std::vector<inference::TokenId> prompt_;
  ChosenAdapters selection_;
  std::optional<AdaptersByWords> words_;
  std::vector<float> acted_;  // the largest factor of each adapter of the catalogue so far
  inference::AdapterMix mix_;
  std::unique_ptr<inference::MemoryReader> memory_;
  std::optional<inference::StepwiseScore> score_;
  int tokens_ = 0;
};

// Embeds texts, one in a slice.
class EmbedTask final : public ComputeTask {
 public:
  EmbedTask(const inference::Whitening* whitening, EmbedListJob job,
            std::function<void(EmbedListAnswer)> done)
      : whitening_(whitening), job_(std::move(job)), done_(std::move(done)) {}
  bool HasManySlices() const override { return job_.texts.size() > 1; }
  bool RunSlice(inference::Transformer& transformer) override;
  bool EndIfCancelled() override;
  void Fail(const absl::Status& status) override;

 private:
  const inference::Whitening* whitening_;
  const EmbedListJob job_;
  const std::function<void(EmbedListAnswer)> done_;
  EmbedListAnswer answer_;
};

}  // namespace ruvd::serving
