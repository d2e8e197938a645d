// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/types.h"
#include "inference/gguf/writer.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::test {

// A small random autoregressive model over bytes, as a file: two layers of width 32. Token 256 ends
// a text; token 257 has the kind and the spelling that the test asks for.
struct CausalModelFile {
  static constexpr inference::TokenId kEnd = 256;
  static constexpr inference::TokenId kSpare = 257;

  std::string architecture = "qwen2";
  inference::TensorType type = inference::TensorType::kF32;  // of the matrices
  bool tied = true;
  bool biases = false;
  std::string spare = "<|spare|>";
  inference::TokenKind spare_kind = inference::TokenKind::kUnused;
  std::function<void(inference::GgufWriter*)> extra = nullptr;  // sets further keys
  uint64_t seed = 1;

  std::string Serialize() const {
    inference::GgufWriter writer;
    writer.SetString("general.architecture", architecture);
    writer.SetString("general.name", "causal");
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, uint32_t>>{{"block_count", 2},
                                                       {"embedding_length", 32},
                                                       {"context_length", 64},
                                                       {"feed_forward_length", 64},
                                                       {"attention.head_count", 4},
                                                       {"attention.head_count_kv", 2},
                                                       {"vocab_size", 258}}) {
      writer.SetUnsigned32(architecture + "." + key, value);
    }
    writer.SetFloat32(architecture + ".attention.layer_norm_rms_epsilon", 1e-5F);
    writer.SetFloat32(architecture + ".rope.freq_base", 1000.0F);
    SetTokenizer(&writer);
    if (extra) {
      extra(&writer);
    }
    AddTensors(&writer);
    return writer.Serialize().value();
  }

 private:
  void SetTokenizer(inference::GgufWriter* writer) const {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(inference::SpellBytes(std::string(1, static_cast<char>(byte))));
    }
    tokens.insert(tokens.end(), {"<|endoftext|>", spare});
    std::vector<int32_t> kinds(tokens.size(), static_cast<int32_t>(inference::TokenKind::kNormal));
    kinds[kEnd] = static_cast<int32_t>(inference::TokenKind::kControl);
    kinds[kSpare] = static_cast<int32_t>(spare_kind);
    writer->SetString("tokenizer.ggml.model", "gpt2");
    writer->SetString("tokenizer.ggml.pre", "qwen2");
    writer->SetStringArray("tokenizer.ggml.tokens", tokens);
    writer->SetInt32Array("tokenizer.ggml.token_type", kinds);
    writer->SetStringArray("tokenizer.ggml.merges", {});
    writer->SetUnsigned32("tokenizer.ggml.eos_token_id", kEnd);
  }

  void AddTensors(inference::GgufWriter* writer) const {
    Random random(seed);
    const auto add = [&](const std::string& name, std::vector<uint64_t> shape,
                         inference::TensorType format, double spread, double centre) {
      uint64_t count = 1;
      for (const uint64_t dimension : shape) {
        count *= dimension;
      }
      std::vector<float> values(count);
      for (float& value : values) {
        value = static_cast<float>(centre + spread * random.Normal());
      }
      writer->AddTensor(name, format, shape, inference::Quantize(format, values).value());
    };
    const auto matrix = [&](const std::string& name, uint64_t in, uint64_t out) {
      add(name + ".weight", {in, out}, type, 1 / std::sqrt(static_cast<double>(in)), 0.0);
    };
    const auto vector = [&](const std::string& name, uint64_t size, double centre) {
      add(name, {size}, inference::TensorType::kF32, 0.1, centre);
    };
    matrix("token_embd", 32, 258);
    vector("output_norm.weight", 32, 1.0);
    if (!tied) {
      matrix("output", 32, 258);
    }
    for (int layer = 0; layer < 2; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      vector(prefix + "attn_norm.weight", 32, 1.0);
      vector(prefix + "ffn_norm.weight", 32, 1.0);
      for (const auto& [name, in, out] :
           std::vector<std::tuple<std::string, uint64_t, uint64_t>>{{"attn_q", 32, 32},
                                                                    {"attn_k", 32, 16},
                                                                    {"attn_v", 32, 16},
                                                                    {"attn_output", 32, 32},
                                                                    {"ffn_gate", 32, 64},
                                                                    {"ffn_up", 32, 64},
                                                                    {"ffn_down", 64, 32}}) {
        matrix(prefix + name, in, out);
        if (biases && in == 32 && out <= 32 && name != "attn_output") {
          vector(prefix + name + ".bias", out, 0.0);
        }
      }
    }
  }
};

}  // namespace ruvd::test
