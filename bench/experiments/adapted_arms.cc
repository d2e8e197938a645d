// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/adapted_arms.h"

#include <span>
#include <utility>

#include "base/status.h"
#include "inference/memory/memory_reader.h"

namespace ruvd::bench {

namespace {

// Returns the mix of the adapters that act once the prompt and some words of the rest are known.
inference::AdapterMix MixOf(const DomainAdapters& domain, Acting acting,
                            const inference::PiecePrediction& piece, size_t given) {
  const size_t count = domain.adapters.size();
  std::vector<float> weights(count);
  if (acting == Acting::kMean) {
    weights.assign(count, 1.0F / static_cast<float>(count));
  } else if (acting == Acting::kOwn) {
    weights[domain.own] = 1;
  } else {
    std::vector<std::shared_ptr<const inference::WordEvidence>> evidence(count);
    for (size_t i = 0; i < count; ++i) {
      const bool may_act =
          acting == Acting::kByWords || (i == domain.own) == (acting == Acting::kOwnByWords);
      evidence[i] = may_act ? domain.adapters[i].evidence : nullptr;
    }
    const std::span<const inference::TokenId> input = piece.input;
    const inference::WordChooser chooser(std::move(evidence), input.first(given));
    for (const inference::WordChoice& one : chooser.Choose(input.subspan(given), piece.mask)) {
      weights[one.adapter] = one.weight;
    }
  }
  inference::AdapterMix mix;
  for (size_t i = 0; i < count; ++i) {
    if (weights[i] != 0) {
      mix.parts.push_back({.adapter = domain.adapters[i].adapter->trunk, .weight = weights[i]});
    }
  }
  return mix;
}

}  // namespace

absl::Status AddAdaptedLosses(const inference::PiecePrediction& frozen,
                              const DomainAdapters& domain, size_t given, const Random& masks,
                              AdaptedTransformer* transformer,
                              std::map<std::string, double>* sums) {
  std::map<Acting, inference::PiecePrediction> predictions;
  for (const auto& [name, arm] : domain.arms) {
    if (!predictions.contains(arm.acting)) {
      transformer->SetMix(MixOf(domain, arm.acting, frozen, given));
      Random random = masks;
      ASSIGN_OR_RETURN(predictions[arm.acting],
                       inference::PredictPiece(*transformer, frozen.tokens, given, false, random));
    }
    const inference::PiecePrediction& prediction = predictions.at(arm.acting);
    inference::PieceReading reading;
    if (arm.memory.memory != nullptr) {
      inference::MemoryReader reader(arm.memory.parameters, arm.memory.memory,
                                     transformer->runner());
      reading = inference::ReadPrediction(reader, prediction);
    } else {
      reading.readings.resize(prediction.positions.size());
      reading.memory.resize(prediction.positions.size());
    }
    (*sums)[name] += inference::LossOf(prediction, reading);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::bench
