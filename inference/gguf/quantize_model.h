// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/gguf/convert_tensor.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/scheme.h"

namespace ruvd::inference {

struct QuantizeModelOptions {
  QuantizationScheme scheme;
  // Formats of output.weight and of token_embd.weight instead of the scheme's. Where the file has
  // no output.weight, the embedding follows `embedding_type`, or else `output_type`.
  std::optional<TensorType> output_type;
  std::optional<TensorType> embedding_type;
  // Tensors whose whole name matches one of these stay as they are; '*' stands for any text.
  std::vector<std::string> keep;
  // Convert tensors of a quantised format into another one, which adds error to error.
  bool allow_requantize = false;
};

// What becomes of one tensor.
struct TensorPlan {
  const TensorInfo* source = nullptr;  // of the reader
  TensorType type = TensorType::kF32;
  // The format that was wanted, where the row length does not allow it.
  std::optional<TensorType> instead_of;
  uint64_t bytes = 0;     // in `type`
  ConversionError error;  // set by QuantizeModel
};

// Decides the format of every tensor, in file order. INVALID_ARGUMENT for a file that is no model
// or is a part of one, for a quantised tensor that would be converted without allow_requantize, and
// for a `keep` pattern that matches nothing; the message names the tensor or the pattern.
absl::StatusOr<std::vector<TensorPlan>> PlanQuantization(const GgufReader& source,
                                                         const QuantizeModelOptions& options);

// Called before each tensor and once at the end with `done` = `total`, in bytes of the source.
using QuantizeProgress = std::function<void(uint64_t done, uint64_t total)>;

// Writes the planned file to `path`, some megabytes at a time, and fills in the errors. All
// metadata is copied; general.file_type and general.quantization_version are set, general.alignment
// is dropped (we align to the default). Returns the bytes of the file. The same input gives the
// same file, whatever the number of threads. Errors: INVALID_ARGUMENT naming the tensor (a value
// that is not finite or too large), FILE_UNWRITABLE, DISK_FULL; after one, `path` is what it was
// before.
absl::StatusOr<uint64_t> QuantizeModel(const GgufReader& source,
                                       const QuantizeModelOptions& options,
                                       std::vector<TensorPlan>* plan, const std::string& path,
                                       ParallelRunner& runner, const QuantizeProgress& progress);

}  // namespace ruvd::inference
