// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "absl/status/statusor.h"
#include "bench/experiments/federate_scores.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_texts.h"
#include "bench/experiments/federate_training.h"
#include "federation/daf/bank_gate.h"
#include "inference/adapter/frame_set.h"
#include "inference/adapter/talora.h"
#include "inference/model/model.h"
#include "inference/train/core_trainer.h"

namespace ruvd::bench {

// What all arms of the experiment share; borrowed.
struct FederateWorld {
  const inference::Model* model = nullptr;
  const inference::FrameSet* frame = nullptr;
  inference::train::CoreTrainer* trainer = nullptr;
  ResultCache* cache = nullptr;
  const Scorer* scorer = nullptr;       // of the results
  const Scorer* gate_scorer = nullptr;  // of gates: fewer maskings, other masks
  std::span<const DomainText> texts;    // by node
  const Crops* general = nullptr;       // of the results
  const Crops* gate_general = nullptr;  // of gates, other pieces
};

// Returns the cores as they are served. Fails as TaloraOfCores does.
absl::StatusOr<std::shared_ptr<const inference::Talora>> ServedCores(
    const FederateWorld& world, const federation::BankedValues& values);

// Returns what training depends on besides its texts, as part of a key of the cache.
nlohmann::json TrainingKey(const FederateWorld& world, const FederateSettings& settings,
                           const TrainingBudget& budget);
// Returns the steps of the whole budget.
inference::train::CoreSteps StepsOf(const FederateSettings& settings, const TrainingBudget& budget);

// Trains R-cores on one node's text alone, or on the texts of the first `nodes` together, with as
// many sequences of each. Uses the baseline's budget; the result is cached.
absl::StatusOr<federation::BankedValues> TrainAlone(const FederateWorld& world,
                                                    const FederateSettings& settings, size_t node);
absl::StatusOr<federation::BankedValues> TrainCentralised(const FederateWorld& world,
                                                          const FederateSettings& settings,
                                                          size_t nodes);
// Trains the private LoRA of a node on top of these cores, which stay as they are, with the same
// budget.
absl::StatusOr<std::shared_ptr<const inference::Talora>> TrainOverlay(
    const FederateWorld& world, const FederateSettings& settings, size_t node,
    const federation::BankedValues& cores);

}  // namespace ruvd::bench
