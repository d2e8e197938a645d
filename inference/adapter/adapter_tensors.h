// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "inference/adapter/adapter.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// The common parts of adapter files: pairs of tensors <prefix><base tensor>.lora_a (in, rank) and
// .lora_b (rank, out) in llama.cpp's layout, and our own keys.
namespace adapter_file {

inline constexpr char kModelHashKey[] = "ruvd.adapter.model_hash";
inline constexpr char kVersionKey[] = "ruvd.adapter.version";
inline constexpr char kKindKey[] = "ruvd.adapter.kind";
inline constexpr char kFrameIdKey[] = "ruvd.adapter.frame_id";
inline constexpr char kAlphaKey[] = "adapter.lora.alpha";

// Returns ADAPTER_INVALID with `what`, which names the fault of the file.
absl::Status BrokenFile(std::string_view what);

// Checks general.type, adapter.type and the model's architecture.
absl::Status CheckHeader(const GgufReader& gguf, std::string_view type, const Model& model);

// Reads name, version, model hash, kind and frame, without the targets. `name` is used if the file
// has none.
absl::Status ReadIdentity(const GgufReader& gguf, const Model& model, const std::string& name,
                          Adapter* adapter);

// Reads the targets whose tensors begin with `prefix` into adapter->targets; other tensors are
// ignored. As in llama.cpp, scale = alpha / rank, or 1 if alpha is 0 or missing. Tensors are F32 or
// F16; queries, keys and values may be one matrix; norms are ignored.
absl::Status ReadTargets(const GgufReader& gguf, std::string_view prefix, const Model& model,
                         Adapter* adapter);

// Writes what CheckHeader and ReadIdentity read.
void WriteIdentity(const Adapter& adapter, std::string_view type, const Model& model,
                   GgufWriter* out);

// Returns scale times rank of the first target, or 1 if the adapter does not change anything. With
// this alpha most targets need no correction.
float AlphaOf(const Adapter& adapter);

// Writes tensors of `type`, which is kF32 or kF16. llama.cpp knows only one alpha for all targets:
// where scale * rank differs from it, the difference is multiplied into B.
void WriteTargets(const Adapter& adapter, std::string_view prefix, float alpha, TensorType type,
                  GgufWriter* out);

}  // namespace adapter_file

}  // namespace ruvd::inference
