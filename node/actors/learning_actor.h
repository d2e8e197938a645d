// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/executor.h"
#include "node/learning/background_round.h"
#include "node/learning/learning.h"
#include "node/learning/router_learner.h"
#include "node/metrics/metrics.h"
#include "node/runtime/actor_system.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/serving/extensions/pattern_graph.h"
#include "storage/changes/feedback_answer_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::actors {

struct LearningActorOptions {
  learning::LearningServices services;
  learning::BackgroundOptions round;
  bool enabled = true;
  std::string disabled_because =
      "learning.enabled is off";  // used in answers while learning is off
  int round_after_requests = 8;
  Duration round_after_age{};
  Executor* pool = nullptr;  // the learning thread; the transformer is used only there
  metrics::Metrics* metrics = nullptr;
  storage::FeedbackAnswerStore* answers = nullptr;  // null: repeated feedback is learned again
  storage::WitnessLog* witness = nullptr;           // gets the ratings; null: no log
  serving::InstantLoop* instant =
      nullptr;  // learns at once, before any round; null: sessions remember nothing
  serving::PatternGraph* graph =
      nullptr;  // also at once; null: sessions have no relations to patterns
  // The lowest rating of a completion that the memory remembers; nullopt: there is no memory.
  std::optional<float> memory_rating = std::nullopt;
  learning::LearningThrottle* throttle = nullptr;  // null: learning gives way to no one
  learning::RouterLearner* router = nullptr;       // trained beside the rounds; null: no router
  // Called in the actor's turn when a completion was rated. May be empty.
  std::function<void(const storage::Trajectory&)> on_feedback;
  // Takes what a deep round published out of service (UndoServices). May be empty.
  std::function<absl::Status(const storage::LearningChange&)> withdraw;
  // Called in the actor's turn when a pattern was stored.
  std::function<void(const storage::PatternId&)> on_pattern;
  // Called after a change was undone; may be null.
  std::function<void(const storage::LearningChange&)> on_undone;
};

// Starts the background actor in `system`. Everything borrowed must outlive the system.
std::unique_ptr<learning::LearningActor> StartLearningActor(runtime::ActorSystem& system,
                                                            const LearningActorOptions& options);

}  // namespace ruvd::actors
