// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/gguf/quantize_model.h"
#include "inference/gguf/reader.h"
#include "inference/model/model.h"
#include "inference/train/change.h"

namespace ruvd::inference {

// A conversion's result as a model of its own.
struct MergedModelOptions {
  // Formats of the matrices, as ParseQuantizationScheme knows them; empty: each as it is.
  std::string type;
  TokenId mask = 0;
  int block_length = 16;
};

// What becomes of each tensor. INVALID_ARGUMENT for a type that is none, or a file that is a part
// of a model.
absl::StatusOr<std::vector<TensorPlan>> PlanMergedModel(const GgufReader& base,
                                                        const MergedModelOptions& options);

// Writes the base with the changes merged into its matrices: decoded, W + scale B A, encoded again.
// What is not changed is copied. All changes are LoRAs for all t; a trained row of the embedding
// replaces the frozen one. The file says "dream", shifted logits, the block length and the mask
// token, which becomes a control token, so that no text forges it. One matrix is in memory at a
// time as float32. Returns the bytes written. Errors: INVALID_ARGUMENT naming the tensor (a value
// too large for the format), FILE_UNWRITABLE, DISK_FULL; after one, nothing is at `path`.
absl::StatusOr<uint64_t> WriteMergedModel(const GgufReader& base, const ModelConfig& config,
                                          const train::ChangeSet<float>& changes,
                                          const MergedModelOptions& options,
                                          const std::string& path, ParallelRunner& runner);

}  // namespace ruvd::inference
