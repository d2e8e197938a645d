// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "federation/daf/core_delta.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/package/model_package.h"
#include "node/config/config.h"

namespace ruvd::node {

// Returns DATA_DIR/frame.gguf, where a node keeps the frame that it computed.
std::string FrameFileOf(const config::NodeConfig& config);

// Returns the frame in which the nodes of a cluster train and exchange cores of all linear layers:
// that of the package; else the one in `saved`, if it belongs to the model; else the leading
// singular vectors of the weights, which are computed and saved there. A frame of the weights is
// the same on every machine and for any number of threads, so nodes with equal packages have equal
// frames, and a damaged file is computed again. Without `may_compute`, null in place of a computed
// frame.
//
// Logs one line that names the frame and, for one that was not shipped, how to make a better one. A
// file that cannot be written is a warning. `model_path` is for messages. LIMIT_EXCEEDED if the
// package has no frame and the model more than limits::kMaxFrameWeights weights. `runner` computes.
absl::StatusOr<std::shared_ptr<const inference::FrameSet>> OpenNodeFrame(
    const inference::ModelPackage& package, const std::string& model_path, const std::string& saved,
    bool may_compute, ParallelRunner& runner);

// Returns the shape of the cores that are the adapters of patterns: in the modules that their
// training changes, of rank limits::kPatternCoreRank where the frame has it. Nodes refuse other
// patterns of peers.
federation::UpdateRules PatternCoreRules(const inference::FrameSet& frame,
                                         const inference::ModelConfig& config);

}  // namespace ruvd::node
