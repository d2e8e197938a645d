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

// Decides which format each tensor of a quantised model gets.
//
// Only matrices are quantised: tensors of two or more dimensions whose name ends in ".weight",
// except norms and expert routers. All other tensors become F32. A scheme names the format of the
// matrices, with the same exceptions as llama.cpp:
//  - The output matrix (output.weight; token_embd.weight if the file has no output.weight) is Q6_K,
//    or Q8_0 in the scheme q8_0, or the scheme's own format if that is F32, F16 or BF16.
//  - q4_k_m and q5_k_m give Q6_K to attn_v and ffn_down in the first and the last eighth of the
//    layers and in every third layer between (a fused attn_qkv gets Q5_K and Q6_K in all layers).
//  - q4_k_s gives Q5_K to attn_v of the first four layers and ffn_down of the first eighth.
// The schemes q4_k and q5_k make an exception only for the output matrix.
struct QuantizationScheme {
  enum class Mix : uint8_t { kNone, kSmall, kMedium };

  std::string name;  // as on the command line
  TensorType base = TensorType::kF32;
  Mix mix = Mix::kNone;
  uint32_t file_type = 0;  // general.file_type (llama.cpp's llama_ftype)
};

// Parses f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q4_k_s, q4_k_m, q5_k, q5_k_s, q5_k_m
// or q6_k, in upper or lower case. For another name the INVALID_ARGUMENT error lists them.
absl::StatusOr<QuantizationScheme> ParseQuantizationScheme(std::string_view name);

// Returns the names that ParseQuantizationScheme accepts, separated by commas.
std::string QuantizationSchemeNames();

// The facts about a model that decide the formats of its tensors.
struct ModelOutline {
  uint64_t layers = 0;
  bool has_output = false;  // the file has output.weight: the output matrix is not the embedding
};

// Returns whether the tensor is a matrix that schemes quantise.
bool IsQuantizable(const TensorInfo& tensor);

// Returns the format that the scheme wants for a matrix, ignoring its row length.
TensorType WantedType(const QuantizationScheme& scheme, std::string_view name,
                      const ModelOutline& outline);

// Returns the format for rows of `columns` values: `wanted` if its blocks divide the row;
// otherwise, as in llama.cpp, Q5_0 for Q4_K, Q5_1 for Q5_K and Q8_0 for Q6_K; and F16 if 32 does
// not divide the row.
TensorType FittingType(TensorType wanted, uint64_t columns);

}  // namespace ruvd::inference
