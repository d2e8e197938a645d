// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/adapter/talora.h"
#include "inference/gguf/types.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Reads and writes TALoRAs as GGUF files. They have the keys of adapter_file.h with adapter.type =
// "talora", so that no program mistakes one for a plain adapter, and further
//   ruvd.talora.boundaries (f32 array), .strategy, .temperature, .residual_rate, .residual_decay;
//   tensors trunk.<base tensor>.lora_a and .lora_b, bank.<k>.<base tensor>.lora_a and .lora_b; and
//   for a router, in float32, router.input (4 + embedding, hidden), router.bias (hidden) and
//   router.keys (hidden, banks).
// Both types may have the words of the adapter's lessons (lesson_words.h).
// PlainAdapter and SaveAdapterFile produce files that llama.cpp can load.

// Loads a file of either type for `model`. A file of type "lora" becomes a static TALoRA. The
// result has passed CheckTalora. Errors: FILE_NOT_FOUND, ADAPTER_INVALID (saying what is wrong),
// ADAPTER_FOR_OTHER_MODEL.
absl::StatusOr<std::shared_ptr<const Talora>> LoadTaloraFile(const std::string& path,
                                                             const Model& model);

// Reads such a file from bytes. `name` is used if the file has no general.name.
absl::StatusOr<std::shared_ptr<const Talora>> ParseTaloraFile(std::span<const uint8_t> bytes,
                                                              const Model& model,
                                                              const std::string& name);

// Returns the file, with trunk and residuals in tensors of the type `factors`: kF32, or kF16 with
// half the bytes and rounded values. Without residuals its type is "lora". Errors are those of
// CheckTalora.
absl::StatusOr<std::string> SerializeTaloraFile(const Talora& talora, const Model& model,
                                                TensorType factors = TensorType::kF32);

// Writes the file, replacing an existing one atomically.
absl::Status SaveTaloraFile(const Talora& talora, const Model& model, const std::string& path);

}  // namespace ruvd::inference
