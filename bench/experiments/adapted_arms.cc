// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/adapted_arms.h"

#include <span>
#include <vector>

#include "base/status.h"
#include "inference/memory/memory_reader.h"

namespace ruvd::bench {

absl::Status AddAdaptedLosses(const inference::PiecePrediction& frozen, const DomainAdapter& domain,
                              size_t given, const Random& masks, AdaptedTransformer* transformer,
                              std::map<std::string, double>* sums) {
  const std::span<const inference::TokenId> input = frozen.input;
  const inference::WordChooser chooser({domain.evidence}, input.first(given));
  const std::vector<inference::WordChoice> chosen =
      chooser.Choose(input.subspan(given), frozen.mask);
  std::map<bool, inference::PiecePrediction> predictions;
  for (const bool by_words : {false, true}) {
    const float weight = !by_words ? 1.0F : chosen.empty() ? 0.0F : chosen[0].weight;
    transformer->SetMix(weight == 0
                            ? inference::AdapterMix()
                            : inference::AdapterMix{
                                  .parts = {{.adapter = domain.adapter->trunk, .weight = weight}}});
    Random random = masks;
    ASSIGN_OR_RETURN(predictions[by_words],
                     inference::PredictPiece(*transformer, frozen.tokens, given, false, random));
  }
  for (const auto& [name, arm] : domain.arms) {
    const inference::PiecePrediction& prediction = predictions[arm.by_words];
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
