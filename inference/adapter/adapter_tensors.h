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

// What files of adapters have in common: pairs of tensors <prefix><base tensor>.lora_a (in, rank)
// and .lora_b (rank, out), in llama.cpp's layout, and keys of our own.
namespace adapter_file {

inline constexpr char kModelHashKey[] = "ruvd.adapter.model_hash";
inline constexpr char kVersionKey[] = "ruvd.adapter.version";
inline constexpr char kKindKey[] = "ruvd.adapter.kind";
inline constexpr char kFrameIdKey[] = "ruvd.adapter.frame_id";
inline constexpr char kAlphaKey[] = "adapter.lora.alpha";

// ADAPTER_INVALID, for what a file has or lacks.
absl::Status BrokenFile(std::string_view what);

// general.type, adapter.type and the model's architecture.
absl::Status CheckHeader(const GgufReader& gguf, std::string_view type, const Model& model);

// Name (`name` where the file has none), version, model hash, kind and frame, without targets.
absl::Status ReadIdentity(const GgufReader& gguf, const Model& model, const std::string& name,
                          Adapter* adapter);

// The targets whose tensors begin with `prefix`, into adapter->targets; tensors without it are left
// alone. The file's alpha, 0 where it has none, as llama.cpp reads it: scale = alpha / rank, or 1
// for alpha 0. F32 and F16; queries, keys and values may be one matrix; norms are ignored, as in
// llama.cpp.
absl::Status ReadTargets(const GgufReader& gguf, std::string_view prefix, const Model& model,
                         Adapter* adapter);

// Writes what CheckHeader and ReadIdentity read.
void WriteIdentity(const Adapter& adapter, std::string_view type, const Model& model,
                   GgufWriter* out);

// Scale times rank of the first target, 1 for no change: the alpha that most targets need no
// correction for.
float AlphaOf(const Adapter& adapter);

// Writes float32 tensors. llama.cpp knows one alpha for all targets: where scale * rank differs
// from it the difference is folded into B.
void WriteTargets(const Adapter& adapter, std::string_view prefix, float alpha, GgufWriter* out);

}  // namespace adapter_file

}  // namespace ruvd::inference
