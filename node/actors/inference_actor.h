// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>

#include "base/executor.h"
#include "inference/transformer/transformer.h"
#include "node/metrics/metrics.h"
#include "node/runtime/actor_system.h"
#include "node/serving/generation_services.h"
#include "node/serving/inference.h"

namespace ruvd::actors {

struct InferenceActorOptions {
  // Tasks that are admitted and whose callers do not know the end yet; more are refused. A store
  // that is slow to write therefore refuses requests early and delays no step of the others.
  size_t queue = 64;
  serving::GenerationServices services;
  // Both are used on `compute` only.
  inference::Transformer* transformer = nullptr;  // for completions and embeddings
  inference::Transformer* exact =
      nullptr;                    // for scores, which must not depend on the serving precision
  Executor* compute = nullptr;    // one thread, because the transformer is not shared
  Executor* files = nullptr;      // reads files for tasks before their first slice
  Executor* records = nullptr;    // stores what ended tasks leave, then tells their callers
  std::function<bool()> aborted;  // ends a score between two of its forwards
  metrics::Metrics* metrics = nullptr;
  // Called with the seconds of every denoising step, on the compute thread. May be empty.
  std::function<void(double seconds)> on_step = nullptr;
};

// Starts the inference actor in `system`. Everything borrowed must outlive the system.
std::unique_ptr<serving::InferenceActor> StartInferenceActor(runtime::ActorSystem& system,
                                                             const InferenceActorOptions& options);

}  // namespace ruvd::actors
