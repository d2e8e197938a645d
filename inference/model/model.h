// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/gguf/types.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// By llama.cpp's names. Dream and llada are masked diffusion models on the graphs of qwen2 and
// llama; mistral files say llama.
enum class Architecture : uint8_t { kDream, kLlada, kLlama, kQwen2, kQwen3 };

// How rotary frequencies are stretched beyond the context a model was first trained on.
struct RopeScaling {
  enum class Kind : uint8_t { kNone, kLinear, kYarn };
  Kind kind = Kind::kNone;
  float factor = 1.0F;       // positions are divided by it
  int original_context = 0;  // YaRN: the context before stretching
  float attn_factor = 1.0F;  // further factor of queries' and keys' magnitude
  float beta_fast = 32.0F;   // YaRN: pairs that turn more often than this are left alone,
  float beta_slow = 1.0F;    // those that turn less often are stretched fully
  bool operator==(const RopeScaling&) const = default;
};

// The hyper-parameters of a model, all read from the file.
struct ModelConfig {
  Architecture architecture = Architecture::kDream;
  std::string name;
  int layers = 0;
  int width = 0;  // embedding length d
  int heads = 0;
  int kv_heads = 0;
  int head_size = 0;
  int ffn = 0;
  int vocabulary = 0;
  int context = 0;
  float rms_epsilon = 0;
  float rope_base = 0;
  // Values of a head that are rotated, from its start; 0 stands for all of them.
  int rope_dimensions = 0;
  RopeScaling rope_scaling;
  // Each pair's frequency is divided by its entry (Llama 3's rope_freqs.weight); empty: by one.
  std::vector<float> rope_divisors;
  // Rotated pairs are (2i, 2i + 1) instead of half the rotated values apart.
  bool rope_adjacent = false;
  // Attention that the file asks for: each token sees itself and the tokens before it. Embeddings
  // use it, and a model of another kind than masked diffusion decodes only with it.
  bool causal = false;
  // A token sees itself and the sliding_window - 1 tokens before it; 0: all before it.
  int sliding_window = 0;
  // Row i of the logits predicts token i + 1 (always true for autoregressive reading).
  bool shift_logits = true;
  // Block length the model was trained on for block diffusion; 0 if it was not.
  int block_length = 0;
};

// A weight matrix in the file's format; `data` points into the memory map. Rows are outputs.
struct Matrix {
  TensorType type = TensorType::kF32;
  int rows = 0;
  int columns = 0;
  const uint8_t* data = nullptr;
};

struct LayerWeights {
  std::vector<float> attn_norm;
  std::vector<float> ffn_norm;
  Matrix q, k, v, output, gate, up, down;
  std::vector<float> q_bias, k_bias, v_bias;  // empty where the file has none
  std::vector<float> q_norm, k_norm;          // of each head before RoPE; empty for most models
};

// A model file, loaded and checked: weights, configuration, tokenizer. Immutable and thread-safe.
class Model {
 public:
  // Memory-maps and validates the file: architecture, required keys, every tensor's shape and type.
  // Errors: FILE_NOT_FOUND, MODEL_CORRUPT (what is wrong where), MODEL_UNSUPPORTED (which
  // architecture or type).
  static absl::StatusOr<std::shared_ptr<const Model>> Load(const std::string& path);
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const LayerWeights& layer(int index) const = 0;
  virtual const Matrix& token_embedding() const = 0;
  // The output matrix; the token embedding where they are tied.
  virtual const Matrix& output() const = 0;
  virtual const std::vector<float>& output_norm() const = 0;
  // SHA-256 over the tensor data and the configuration: what adapters, patterns and peers are bound
  // to.
  virtual const Digest& hash() const = 0;
  // Says that `bytes`, a part of a matrix's data, will hardly be read again: their memory may go
  // back to the system. They stay readable.
  virtual void ReleasePages(std::span<const uint8_t> bytes) const { static_cast<void>(bytes); }
};

}  // namespace ruvd::inference
