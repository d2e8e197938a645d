// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "inference/model/transformer.h"

namespace ruvd {

// Work for the model, done in slices of one denoising step or the like, so that several tasks take
// turns and each can be cancelled between slices.
class ComputeTask {
 public:
  virtual ~ComputeTask() = default;
  // Does the next slice on a compute thread. True when the task has ended and told its caller so.
  virtual bool RunSlice(Transformer& transformer) = 0;
  // Ends a task that cannot run (on): tells its caller why. Called instead of, never during,
  // RunSlice.
  virtual void Fail(const absl::Status& status) = 0;
};

}  // namespace ruvd
