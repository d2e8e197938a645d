// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "inference/engine/step_together.h"
#include "inference/transformer/transformer.h"

namespace ruvd::serving {

// Work for the model, done in slices of one denoising step or the like, so that several tasks take
// turns and each can be cancelled between slices. Completions that have begun share their steps'
// forwards instead of taking turns.
class ComputeTask {
 public:
  virtual ~ComputeTask() = default;
  // Does the next slice on a compute thread. True when the task has ended and told its caller so.
  // Not called while generation() is not null.
  virtual bool RunSlice(inference::Transformer& transformer) = 0;
  // Ends a task that cannot run (on): tells its caller why. Never called during another method.
  virtual void Fail(const absl::Status& status) = 0;

  // Whether Prepare has something to do before the first slice.
  virtual bool NeedsPreparation() const { return false; }
  // Does what waits for a disk, on a thread that may. Called once at most, before the first slice
  // and never during another method.
  virtual void Prepare() {}

  // Ends the task if nobody waits for it any more. True when it has ended.
  virtual bool EndIfUnwanted() { return false; }
  // The completion to step, or null.
  virtual inference::Generation* generation() { return nullptr; }
  // Takes the outcome of a round of generation(). True when the task has ended.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): overriders keep it
  virtual bool TakeRound(inference::RoundResult /*round*/) { return true; }
};

}  // namespace ruvd::serving
