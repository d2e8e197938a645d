// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "inference/engine/step_together.h"
#include "inference/transformer/transformer.h"

namespace ruvd::serving {

// Work for the model, done in slices of about one denoising step, so that several tasks take turns
// and each can be cancelled between slices. Running completions share a forward for their steps
// instead of taking turns.
class ComputeTask {
 public:
  virtual ~ComputeTask() = default;
  // Runs the next slice on a compute thread. Returns true when the task has ended. Not called while
  // generation() is not null.
  virtual bool RunSlice(inference::Transformer& transformer) = 0;
  // Ends a task that cannot start or continue, concludes it and tells its caller why. Never called
  // during another method, nor after the end.
  virtual void Fail(const absl::Status& status) = 0;

  // Returns whether the task has many slices. Only limits::kMaxRunningScores such tasks take turns
  // at once.
  virtual bool HasManySlices() const { return false; }

  // Returns whether Prepare has work to do before the first slice.
  virtual bool NeedsPreparation() const { return false; }
  // Does work that waits for a disk, on a thread that may block. Called at most once, before the
  // first slice and never during another method.
  virtual void Prepare() {}

  // Ends the task if its caller no longer waits for it. Returns true when it has ended.
  virtual bool EndIfCancelled() { return false; }
  // Returns the completion to step, or null.
  virtual inference::Generation* generation() { return nullptr; }
  // Takes the result of a round of generation(). Returns true when the task has ended.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): overriders keep it
  virtual bool OnForwardRound(inference::ForwardRoundResult /*round*/) { return true; }

  // Returns whether the task has ended and must still be concluded. Other tasks tell their callers
  // when they end.
  virtual bool NeedsConclusion() const { return false; }
  // Stores what the task leaves and then tells its caller, on a thread that may block. Called once
  // after the end of a task that needs it, and never during another method.
  virtual void Conclude() {}
};

}  // namespace ruvd::serving
