// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/lesson_words.h"
#include "inference/gguf/types.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Adapters as GGUF files with llama.cpp's keys (general.type = "adapter", adapter.type = "lora",
// adapter.lora.alpha; tensors <base tensor>.lora_a and .lora_b), so that llama.cpp can load the
// file too. It ignores our own keys: ruvd.adapter.model_hash and .version, and .kind and .frame_id
// for kinds other than kLora.

// Loads a file for `model`. A file without ruvd.adapter.model_hash was made by another program; it
// is bound to `model` if its architecture and every shape fit. Norm vectors are ignored, as in
// llama.cpp. Errors: FILE_NOT_FOUND, ADAPTER_INVALID (saying what is wrong),
// ADAPTER_FOR_OTHER_MODEL.
absl::StatusOr<std::shared_ptr<const Adapter>> LoadAdapterFile(const std::string& path,
                                                               const Model& model);

// Reads such a file from bytes. `name` is used if the file has no general.name.
absl::StatusOr<std::shared_ptr<const Adapter>> ParseAdapterFile(std::span<const uint8_t> bytes,
                                                                const Model& model,
                                                                const std::string& name);

// Returns the file, with tensors of the type `factors`: kF32, or kF16 with half the bytes and
// rounded values. llama.cpp knows only one alpha for all targets: if scale * rank differs between
// targets, the difference is multiplied into B. The words, if any, are among the keys.
absl::StatusOr<std::string> SerializeAdapterFile(
    const Adapter& adapter, const Model& model,
    const std::optional<LessonWords>& words = std::nullopt, TensorType factors = TensorType::kF32);

// Writes the file, replacing an existing one atomically.
absl::Status SaveAdapterFile(const Adapter& adapter, const Model& model, const std::string& path);

}  // namespace ruvd::inference
