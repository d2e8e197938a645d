// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/core_shape.h"
#include "inference/train/core_trainer.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "node/serving/served_adapters.h"

namespace ruvd::test {

// Global adapters of a model as rounds make them: cores on all linear layers, in a frame.
class GlobalCores {
 public:
  using Values = std::vector<std::vector<float>>;  // by bank

  explicit GlobalCores(std::shared_ptr<const inference::Model> model,
                       std::vector<float> boundaries = {})
      : model_(std::move(model)),
        frame_(inference::RandomFrameSet(
                   *model_, inference::LinearTargets(*model_, inference::Modules::kAll), kRank, 1)
                   .value()),
        shape_(inference::CoreShapeOf(frame_, kRank, std::move(boundaries)).value()) {}

  // Returns cores that were trained on the bare model.
  Values Train(const std::string& prompt, const std::string& completion, uint64_t steps) const {
    const std::vector<inference::TrainingExample> examples = {
        {.prompt = model_->tokenizer().EncodePrompt(prompt),
         .completion = model_->tokenizer().EncodeContinuation(completion)}};
    const auto weights =
        inference::train::ModelWeights::Create(model_, nullptr, SerialRunner()).value();
    const auto trainer = inference::train::CoreTrainer::Create({.model = model_,
                                                                .weights = weights.get(),
                                                                .frame = &frame_,
                                                                .runner = &SerialRunner(),
                                                                .pass = {}},
                                                               shape_)
                             .value();
    const auto objective =
        inference::train::MakeObjective(*model_, examples, {.batch = 4, .seed = 3}).value();
    return trainer->Train(Zeros(), *objective, {.learning_rate = 0.02, .count = steps}, nullptr)
        .value()
        .values;
  }
  Values Zeros() const {
    return Values(shape_.banks(), std::vector<float>(shape_.values_per_bank()));
  }
  Values Random(uint64_t seed, double spread) const {
    ruvd::Random random(seed);
    Values values = Zeros();
    for (std::vector<float>& bank : values) {
      for (float& value : bank) {
        value = static_cast<float>(spread * random.Normal());
      }
    }
    return values;
  }
  static Values Times(Values values, float factor) {
    for (std::vector<float>& bank : values) {
      for (float& value : bank) {
        value *= factor;
      }
    }
    return values;
  }
  std::shared_ptr<const inference::Talora> Adapter(const Values& values,
                                                   uint32_t version = 1) const {
    return inference::TaloraOfCores(frame_, shape_, values, serving::kGlobalAdapter, version)
        .value();
  }

 private:
  static constexpr int kRank = 4;

  const std::shared_ptr<const inference::Model> model_;
  const inference::FrameSet frame_;
  const inference::CoreShape shape_;
};

}  // namespace ruvd::test
