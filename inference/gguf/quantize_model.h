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
  // Formats for output.weight and token_embd.weight instead of the scheme's. In a file without
  // output.weight, the embedding gets `embedding_type` if it is set, else `output_type`.
  std::optional<TensorType> output_type;
  std::optional<TensorType> embedding_type;
  // Tensors whose whole name matches one of these patterns keep their format; '*' stands for any
  // text.
  std::vector<std::string> keep;
  // Allows converting a tensor from one quantised format to another, which adds a second rounding
  // error.
  bool allow_requantize = false;
};

// What happens to one tensor.
struct TensorPlan {
  const TensorInfo* source = nullptr;  // owned by the reader
  TensorType type = TensorType::kF32;
  // Set if the row length does not allow the format that was wanted: that format.
  std::optional<TensorType> instead_of;
  uint64_t bytes = 0;     // in `type`
  ConversionError error;  // set by QuantizeModel
};

// Decides the format of every tensor, in file order. INVALID_ARGUMENT, with the tensor or pattern
// in the message, if the file is not a model or is only a part of one, if a quantised tensor would
// be converted without allow_requantize, or if a `keep` pattern matches nothing.
absl::StatusOr<std::vector<TensorPlan>> PlanQuantization(const GgufReader& source,
                                                         const QuantizeModelOptions& options);

// Called before each tensor, and once at the end with `done` = `total`. Both are bytes of the
// source.
using QuantizeProgress = std::function<void(uint64_t done, uint64_t total)>;

// Writes the planned file to `path`, some megabytes at a time, and fills in the errors of `plan`.
// All metadata is copied, except that general.file_type and general.quantization_version are set
// and general.alignment is dropped (files are written with the default alignment). Returns the size
// of the file in bytes. The file depends only on the input, not on the number of threads. Errors:
// INVALID_ARGUMENT naming the tensor (a value that is not finite or too large), FILE_UNWRITABLE,
// DISK_FULL. After an error, `path` is unchanged.
absl::StatusOr<uint64_t> QuantizeModel(const GgufReader& source,
                                       const QuantizeModelOptions& options,
                                       std::vector<TensorPlan>* plan, const std::string& path,
                                       ParallelRunner& runner, const QuantizeProgress& progress);

}  // namespace ruvd::inference
