// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "bench/experiments/federate_scores.h"
#include "bench/experiments/federate_texts.h"
#include "bench/experiments/federate_training.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "inference/adapter/frame_set.h"
#include "inference/adapter/talora.h"
#include "inference/model/model.h"
#include "inference/train/core_trainer.h"

namespace ruvd::bench {

// What all arms of the experiment share; borrowed.
struct FederateWorld {
  std::shared_ptr<const inference::Model> model;
  const inference::FrameSet* frame = nullptr;
  ParallelRunner* runner = nullptr;
  inference::train::CoreTrainer* trainer = nullptr;  // of what is trained without a federation
  ResultCache* cache = nullptr;
  const Scorer* scorer = nullptr;
  std::span<const DomainText> texts;  // by node
  const Crops* general = nullptr;
  // What a node trains in a round without noise; all arms without a federation have as many steps
  // of the same size in all.
  federation::LearnerPlan::Local local;
  int rounds = 0;
  uint64_t seed = 1;
};

// Returns the cores as they are served. Fails as TaloraOfCores does.
absl::StatusOr<std::shared_ptr<const inference::Talora>> ServedCores(
    const FederateWorld& world, const federation::BankedValues& values);

// Trains R-cores on one node's text alone, or on the texts of the first `nodes` together, with as
// many sequences of each. The result is cached.
absl::StatusOr<federation::BankedValues> TrainAlone(const FederateWorld& world, size_t node);
absl::StatusOr<federation::BankedValues> TrainCentralised(const FederateWorld& world, size_t nodes);
// Trains the private LoRA of a node on top of these cores, which stay as they are.
absl::StatusOr<std::shared_ptr<const inference::Talora>> TrainOverlay(
    const FederateWorld& world, size_t node, int rank, const federation::BankedValues& cores);

// Returns how this machine computes the products of training, which a key of the cache must tell
// apart.
std::string_view ProductsName();

}  // namespace ruvd::bench
