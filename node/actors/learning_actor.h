// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>

#include "base/executor.h"
#include "node/actor/actor_system.h"
#include "node/actors/background_round.h"
#include "node/actors/instant_loop.h"
#include "node/actors/learning.h"
#include "node/metrics/metrics.h"
#include "storage/witness/witness_log.h"

namespace ruvd {

struct LearningActorOptions {
  BackgroundServices services;
  BackgroundOptions round;
  bool enabled = true;
  int round_after_requests = 8;
  Duration round_after_age{};
  Executor* pool = nullptr;  // the learning thread; the transformer is used only there
  Metrics* metrics = nullptr;
  WitnessLog* witness = nullptr;   // learns of ratings; null: there is none
  InstantLoop* instant = nullptr;  // learns at once, before any round; null: there is none
  // A pattern was stored; called in the actor's turn.
  std::function<void(const PatternId&)> on_pattern;
};

// Starts the background actor in `system`. Everything borrowed outlives the system.
std::unique_ptr<LearningActor> StartLearningActor(ActorSystem& system,
                                                  const LearningActorOptions& options);

}  // namespace ruvd
