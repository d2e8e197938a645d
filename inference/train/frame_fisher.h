// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/train/frame_estimate.h"
#include "inference/train/losses.h"

namespace ruvd::inference {

struct FisherOptions {
  uint64_t seed = 1;  // of the masks
  int batch = 8;      // pieces in a pass, at least 1; it does not change the result
};

// Sets ModuleFrame::fisher of all modules, and the frame's id: the mean over `pieces`, each masked
// once, of the squared gradient of CoreTrainer::Gradients at cores of zeros. Equal input gives an
// equal frame for any number of threads. Errors: INVALID_ARGUMENT for no pieces or an impossible
// batch; CANCELLED; INTERNAL for a gradient that is not finite; those of CoreTrainer::Create and
// Gradients. After an error the frame is as it was.
absl::Status AddFisher(const std::shared_ptr<const Model>& model,
                       std::span<const TrainingExample> pieces, const FisherOptions& options,
                       ParallelRunner& runner, FrameSet* frame,
                       const FrameProgress& progress = nullptr);

}  // namespace ruvd::inference
