// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "node/learning/background_round.h"
#include "node/learning/learning.h"
#include "node/learning/router_learner.h"
#include "node/metrics/metrics.h"
#include "node/runtime/actor_system.h"
#include "node/serving/instant_loop.h"
#include "node/serving/pattern_graph.h"
#include "storage/changes/answer_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::actors {

struct LearningActorOptions {
  learning::LearningServices services;
  learning::BackgroundOptions round;
  bool enabled = true;
  std::string disabled_because = "learning.enabled is off";  // answers say it where it is not
  int round_after_requests = 8;
  Duration round_after_age{};
  Executor* pool = nullptr;  // the learning thread; the transformer is used only there
  metrics::Metrics* metrics = nullptr;
  storage::AnswerStore* answers = nullptr;  // null: feedback that comes again is learned again
  storage::WitnessLog* witness = nullptr;   // learns of ratings; null: there is none
  serving::InstantLoop* instant = nullptr;  // learns at once, before any round; null: there is none
  serving::PatternGraph* graph = nullptr;   // as well; null: sessions have no relations to patterns
  learning::LearningThrottle* throttle = nullptr;  // null: learning gives way to nobody
  learning::RouterLearner* router = nullptr;       // trained beside the rounds; null: there is none
  // A completion was rated; called in the actor's turn. May be empty.
  std::function<void(const storage::Trajectory&)> on_feedback;
  // Takes what a deep round published out of service (UndoServices). May be empty.
  std::function<absl::Status(const storage::LearningChange&)> withdraw;
  // A pattern was stored; called in the actor's turn.
  std::function<void(const storage::PatternId&)> on_pattern;
};

// Starts the background actor in `system`. Everything borrowed outlives the system.
std::unique_ptr<learning::LearningActor> StartLearningActor(runtime::ActorSystem& system,
                                                            const LearningActorOptions& options);

}  // namespace ruvd::actors
