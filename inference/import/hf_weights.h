// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "inference/import/safetensors.h"

namespace ruvd::inference {

// The weights of a Hugging Face folder, memory-mapped: model.safetensors, or the files that
// model.safetensors.index.json names.
struct HfWeights {
  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, SafetensorsTensor> tensors;  // they point into `files`
};

// Errors: FILE_NOT_FOUND; MODEL_CORRUPT for an invalid index, or for a tensor that is missing from
// its file or in two files (the message names the file and the tensor); and those of
// ParseSafetensors.
absl::StatusOr<HfWeights> OpenHfWeights(const std::string& folder);

// Reads model.safetensors.index.json: the file of each tensor. A file name that is not in the
// folder itself is an error.
absl::StatusOr<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view text);

}  // namespace ruvd::inference
