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

// Options for writing the result of a conversion as a separate model file.
struct MergedModelOptions {
  // Formats of the matrices, as ParseQuantizationScheme knows them; empty: each keeps its format
  std::string type;
  TokenId mask = 0;
  int block_length = 16;
};

// Returns what happens to each tensor. INVALID_ARGUMENT for an unknown type, or for a file that
// holds only a part of a model.
absl::StatusOr<std::vector<TensorPlan>> PlanMergedModel(const GgufReader& base,
                                                        const MergedModelOptions& options);

// Writes the base with the changes merged into its matrices: each is decoded, becomes W + scale B
// A, and is encoded again. Everything else is copied. All changes must be LoRAs for all t; a
// trained row of the embedding replaces the frozen one. The file states the architecture "dream",
// shifted logits, the block length and the mask token, which becomes a control token so that text
// cannot forge it. One matrix at a time is in memory as float32. Returns the number of bytes
// written. Errors: INVALID_ARGUMENT with the name of the tensor (a value is too large for the
// format), FILE_UNWRITABLE, DISK_FULL; after an error, no file is left at `path`.
absl::StatusOr<uint64_t> WriteMergedModel(const GgufReader& base, const ModelConfig& config,
                                          const train::ChangeSet<float>& changes,
                                          const MergedModelOptions& options,
                                          const std::string& path, ParallelRunner& runner);

}  // namespace ruvd::inference
