// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/types.h"
#include "inference/gguf/writer.h"

namespace ruvd::test {

struct FileTensor {
  inference::TensorType type = inference::TensorType::kF32;
  std::vector<uint64_t> shape;
  uint64_t seed = 0;          // of its values
  std::vector<float> values;  // instead of random ones
};

inline std::vector<float> RandomValues(uint64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(0.2 * random.Normal());
  }
  return values;
}

// The contents of a small valid model file; tests change one thing.
struct FileContents {
  std::string architecture = "dream";
  std::map<std::string, uint32_t> numbers = {{"block_count", 1},
                                             {"embedding_length", 32},
                                             {"context_length", 48},
                                             {"feed_forward_length", 64},
                                             {"attention.head_count", 4},
                                             {"attention.head_count_kv", 2},
                                             {"vocab_size", 4}};
  std::map<std::string, float> floats = {{"attention.layer_norm_rms_epsilon", 3e-4F},
                                         {"rope.freq_base", 777.0F}};
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> flags;        // full names
  std::map<std::string, uint32_t> globals;  // full names
  std::map<std::string, FileTensor> tensors;

  FileContents() {
    uint64_t seed = 1;
    const auto add = [&](const std::string& name, std::vector<uint64_t> shape) {
      tensors[name] = {.shape = std::move(shape), .seed = seed++};
    };
    add("token_embd.weight", {32, 4});
    add("output_norm.weight", {32});
    add("blk.0.attn_norm.weight", {32});
    add("blk.0.attn_q.weight", {32, 32});
    add("blk.0.attn_k.weight", {32, 16});
    add("blk.0.attn_v.weight", {32, 16});
    add("blk.0.attn_output.weight", {32, 32});
    add("blk.0.ffn_norm.weight", {32});
    add("blk.0.ffn_gate.weight", {32, 64});
    add("blk.0.ffn_up.weight", {32, 64});
    add("blk.0.ffn_down.weight", {64, 32});
  }

  std::string Serialize() const {
    inference::GgufWriter writer;
    writer.SetString("general.architecture", architecture);
    writer.SetString("general.name", "file");
    for (const auto& [key, value] : numbers) {
      writer.SetUnsigned32(architecture + "." + key, value);
    }
    for (const auto& [key, value] : floats) {
      writer.SetFloat32(architecture + "." + key, value);
    }
    for (const auto& [key, value] : texts) {
      writer.SetString(architecture + "." + key, value);
    }
    for (const auto& [key, value] : flags) {
      writer.SetBool(key, value);
    }
    for (const auto& [key, value] : globals) {
      writer.SetUnsigned32(key, value);
    }
    const std::vector<std::string> tokens = {"a", "b", "<|end|>", "<|mask|>"};
    const std::vector<int32_t> types = {1, 1, 3, 3};
    writer.SetString("tokenizer.ggml.model", "gpt2");
    writer.SetString("tokenizer.ggml.pre", "qwen2");
    writer.SetStringArray("tokenizer.ggml.tokens", tokens);
    writer.SetInt32Array("tokenizer.ggml.token_type", types);
    writer.SetStringArray("tokenizer.ggml.merges", {});
    writer.SetUnsigned32("tokenizer.ggml.mask_token_id", 3);
    for (const auto& [name, tensor] : tensors) {
      uint64_t count = 1;
      for (const uint64_t dimension : tensor.shape) {
        count *= dimension;
      }
      const std::vector<float> values =
          tensor.values.empty() ? RandomValues(count, tensor.seed) : tensor.values;
      writer.AddTensor(name, tensor.type, tensor.shape,
                       inference::Quantize(tensor.type, values).value());
    }
    return writer.Serialize().value();
  }
};

}  // namespace ruvd::test
