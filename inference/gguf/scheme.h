// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "inference/gguf/types.h"

namespace ruvd::inference {

// Which format each tensor of a quantised model gets.
//
// Quantised are matrices: tensors of two or more dimensions whose name ends in ".weight", except
// norms and expert routers. Everything else becomes F32. A scheme names the format of the matrices;
// beyond that, as in llama.cpp:
//  - the output matrix (output.weight; token_embd.weight where the file has none) is Q6_K, or Q8_0
//    in the scheme q8_0, or the scheme's own format where that is F32, F16 or BF16;
//  - q4_k_m and q5_k_m give Q6_K to attn_v and ffn_down in the first and the last eighth of the
//    layers and in every third one between (attn_qkv, where fused, Q5_K and Q6_K throughout);
//  - q4_k_s gives Q5_K to attn_v of the first four layers and ffn_down of the first eighth.
// The schemes q4_k and q5_k have no such exceptions but the output matrix.
struct QuantizationScheme {
  enum class Mix : uint8_t { kNone, kSmall, kMedium };

  std::string name;  // as on the command line
  TensorType base = TensorType::kF32;
  Mix mix = Mix::kNone;
  uint32_t file_type = 0;  // general.file_type (llama.cpp's llama_ftype)
};

// f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q4_k_s, q4_k_m, q5_k, q5_k_s, q5_k_m or q6_k,
// in either case. INVALID_ARGUMENT lists them.
absl::StatusOr<QuantizationScheme> ParseQuantizationScheme(std::string_view name);

// The names that ParseQuantizationScheme knows, separated by commas.
std::string QuantizationSchemeNames();

// What of a model decides the formats of its tensors.
struct ModelOutline {
  uint64_t layers = 0;
  bool has_output = false;  // output.weight is there: the embedding is not tied to it
};

// Whether the tensor is a matrix that schemes quantise.
bool IsQuantizable(const TensorInfo& tensor);

// The format that the scheme wants for a matrix, its row length aside.
TensorType WantedType(const QuantizationScheme& scheme, std::string_view name,
                      const ModelOutline& outline);

// The format for rows of `columns` values: `wanted` where its blocks divide them; else, as in
// llama.cpp, Q5_0 for Q4_K, Q5_1 for Q5_K and Q8_0 for Q6_K; and F16 where 32 does not divide them.
TensorType FittingType(TensorType wanted, uint64_t columns);

}  // namespace ruvd::inference
