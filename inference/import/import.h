// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/gguf/types.h"

namespace ruvd {

struct ImportOptions {
  // Format of the matrices: F32, F16, Q8_0 or Q4_0. Norms and biases stay F32.
  TensorType type = TensorType::kQ8_0;
  // general.architecture of the file: "dream" (read as a diffusion model) or "qwen2" (read left to
  // right). The weights are the same.
  std::string architecture = "dream";
  // general.name; empty takes the folder's name.
  std::string name;
};

// The matrix format named by a command line: "f32", "f16", "q8_0" or "q4_0".
absl::StatusOr<TensorType> ParseImportType(std::string_view name);

struct ImportResult {
  uint64_t tensors = 0;
  uint64_t parameters = 0;
  uint64_t bytes = 0;  // of the written file
};

// Converts a model in Hugging Face layout (config.json, model.safetensors, tokenizer.json in
// `folder`) to a GGUF file at `out_path`, following llama.cpp's conventions, so that the file runs
// there too. Errors: FILE_NOT_FOUND, MODEL_CORRUPT (what is wrong in which file),
// MODEL_UNSUPPORTED, TOKENIZER_INVALID, FILE_UNWRITABLE, DISK_FULL. Nothing is written on error.
absl::StatusOr<ImportResult> ImportModel(const std::string& folder, const ImportOptions& options,
                                         const std::string& out_path);

}  // namespace ruvd
