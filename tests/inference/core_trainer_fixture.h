// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/train/core_trainer.h"
#include "inference/train/model_weights.h"
#include "tests/inference/text_model.h"

namespace ruvd::test {

using CoreValues = std::vector<std::vector<float>>;

inline constexpr int kCoreRank = 3;
inline const std::vector<float> kTwoBanks = {0.5F};

inline const inference::FrameSet& CoreFrame() {
  static const inference::FrameSet frame =
      inference::RandomFrameSet(
          *TinyTextModel(), inference::LinearTargets(*TinyTextModel(), inference::Modules::kAll),
          kCoreRank + 1, 1)
          .value();
  return frame;
}

inline const std::vector<inference::TrainingExample>& CoreExamples() {
  static const std::vector<inference::TrainingExample> examples = [] {
    std::vector<inference::TrainingExample> made;
    for (const std::string text : {" hello world", " good night", "once upon", " a time"}) {
      const auto bytes = AsBytes(text);
      made.push_back({.prompt = {'s', 'a', 'y'}, .completion = {bytes.begin(), bytes.end()}});
    }
    return made;
  }();
  return examples;
}

// A trainer of cores on all linear layers of the tiny model, with everything it borrows.
struct CoreWorkshop {
  using Trainer = inference::train::CoreTrainer;

  explicit CoreWorkshop(std::vector<float> boundaries = {}, ParallelRunner& runner = SerialRunner(),
                        const inference::train::PassOptions& pass = {})
      : weights(inference::train::ModelWeights::Create(TinyTextModel(), nullptr, runner).value()),
        trainer(Trainer::Create(
                    {.model = TinyTextModel(),
                     .weights = weights.get(),
                     .frame = &CoreFrame(),
                     .runner = &runner,
                     .pass = pass},
                    inference::CoreShapeOf(CoreFrame(), kCoreRank, std::move(boundaries)).value())
                    .value()) {}
  const inference::CoreShape& shape() const { return trainer->shape(); }
  CoreValues Zeros() const {
    return CoreValues(shape().banks(), std::vector<float>(shape().values_per_bank()));
  }
  CoreValues SomeValues() const {
    Random random(11);
    CoreValues values = Zeros();
    for (std::vector<float>& bank : values) {
      std::ranges::generate(bank, [&] { return static_cast<float>(0.3 * random.Normal()); });
    }
    return values;
  }

  std::unique_ptr<inference::train::ModelWeights> weights;
  std::unique_ptr<Trainer> trainer;
};

// Changes as other code makes them: in the order of execution. Values are put in by target and
// bank.
struct CoresByHand {
  CoresByHand(const inference::CoreShape& shape, const CoreValues& values)
      : changes(inference::train::NetworkShape::Of(TinyTextModel()->config()), shape.schedule()) {
    const std::vector<inference::train::Site> sites =
        inference::train::SitesFrom(TinyTextModel()->config(), 0, false);
    for (size_t bank = 0; bank < shape.banks(); ++bank) {
      RUVD_CHECK(inference::train::AddCores(*TinyTextModel(), CoreFrame(), sites, kCoreRank,
                                            &changes, {.bank = bank})
                     .ok());
    }
    for (const auto& entry : changes.entries()) {
      std::ranges::copy(std::span(values[*entry.placement.bank])
                            .subspan(PlaceOf(shape, entry.site), entry.change.parameters()),
                        changes.parameters().begin() + static_cast<std::ptrdiff_t>(entry.offset));
    }
  }
  // Returns the place of a module's core in the values of a bank.
  static size_t PlaceOf(const inference::CoreShape& shape, const inference::train::Site& site) {
    const auto found = std::ranges::find(shape.modules, inference::train::TensorOf(site),
                                         &inference::CoreShape::Module::target);
    return kCoreRank * kCoreRank * static_cast<size_t>(found - shape.modules.begin());
  }
  inference::train::ChangeSet<float> changes;
};

}  // namespace ruvd::test
