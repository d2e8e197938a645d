// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/parallel.h"

namespace ruvd::inference {

struct ImportOptions {
  // The format of the matrices, one that ParseQuantizationScheme accepts. Norms and biases stay
  // F32.
  std::string type = "q8_0";
  // general.architecture of the file: dream, llada, llama, qwen2 or qwen3; if empty, that of
  // config.json. All except qwen3 are the same network. Dream and llada are used as diffusion
  // models, llama and qwen2 from left to right. Llada and llama pair adjacent values in RoPE, so
  // their q and k rows are permuted.
  std::string architecture;
  // general.name; if empty, the folder's name.
  std::string name;
};

struct ImportResult {
  uint64_t tensors = 0;
  uint64_t parameters = 0;
  uint64_t bytes = 0;  // size of the written file
};

// Converts a model in Hugging Face layout (config.json, tokenizer.json, and model.safetensors or
// the files of model.safetensors.index.json in `folder`) to a GGUF file at `out_path`, following
// llama.cpp's conventions, so that llama.cpp can run the file too. It is written tensor by tensor.
// Errors: FILE_NOT_FOUND; MODEL_CORRUPT, saying what is wrong in which file; MODEL_UNSUPPORTED;
// TOKENIZER_INVALID; INVALID_ARGUMENT for an option or a value that is not finite; FILE_UNWRITABLE;
// DISK_FULL. After an error, `out_path` is unchanged.
absl::StatusOr<ImportResult> ImportModel(const std::string& folder, const ImportOptions& options,
                                         const std::string& out_path,
                                         ParallelRunner& runner = SerialRunner());

}  // namespace ruvd::inference
