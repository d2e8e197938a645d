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
#include "inference/model/model.h"

namespace ruvd::inference {

// Adapters as GGUF files with llama.cpp's keys (general.type = "adapter", adapter.type = "lora",
// adapter.lora.alpha; tensors <base tensor>.lora_a and .lora_b), so that the same file works there.
// Keys of our own are ignored there: ruvd.adapter.model_hash, .version, and for other kinds than
// kLora .kind and .frame_id.

// Loads a file for `model`. A file without our hash (made elsewhere) is bound to `model` once its
// architecture and every shape fit. Norm vectors are ignored, as in llama.cpp. Errors:
// FILE_NOT_FOUND, ADAPTER_INVALID (what is wrong), ADAPTER_FOR_OTHER_MODEL.
absl::StatusOr<std::shared_ptr<const Adapter>> LoadAdapterFile(const std::string& path,
                                                               const Model& model);

// The same from bytes; `name` is used where the file has no general.name.
absl::StatusOr<std::shared_ptr<const Adapter>> ParseAdapterFile(std::span<const uint8_t> bytes,
                                                                const Model& model,
                                                                const std::string& name);

// The file: float32 tensors. llama.cpp knows one alpha for all targets: where scale * rank differs
// between targets the difference is folded into B.
absl::StatusOr<std::string> SerializeAdapterFile(const Adapter& adapter, const Model& model);

// Writes it, replacing the file atomically.
absl::Status SaveAdapterFile(const Adapter& adapter, const Model& model, const std::string& path);

}  // namespace ruvd::inference
