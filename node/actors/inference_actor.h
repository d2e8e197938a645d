// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>

#include "base/executor.h"
#include "node/metrics/metrics.h"
#include "node/runtime/actor_system.h"
#include "node/serving/generation_task.h"
#include "node/serving/inference.h"

namespace ruvd::actors {

struct InferenceActorOptions {
  size_t queue = 64;  // admitted and not ended; more are refused
  serving::GenerationServices services;
  // Both are used on `compute` only.
  inference::Transformer* transformer = nullptr;  // of completions and embeddings
  inference::Transformer* exact =
      nullptr;                    // of scores, which must not depend on the serving precision
  Executor* compute = nullptr;    // one thread: the transformer is not shared
  Executor* files = nullptr;      // reads what tasks wait for before their first slice
  std::function<bool()> aborted;  // ends a score between two of its forwards
  metrics::Metrics* metrics = nullptr;
  // Told the seconds of every denoising step, on the thread that computes. May be empty.
  std::function<void(double seconds)> on_step = nullptr;
};

// Starts the inference actor in `system`. Everything borrowed outlives the system.
std::unique_ptr<serving::InferenceActor> StartInferenceActor(runtime::ActorSystem& system,
                                                             const InferenceActorOptions& options);

}  // namespace ruvd::actors
