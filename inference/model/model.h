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

// The names are llama.cpp's. Dream and llada are masked diffusion models on the graphs of qwen2 and
// llama. Files of mistral models name llama.
enum class Architecture : uint8_t { kDream, kLlada, kLlama, kQwen2, kQwen3 };

// How rotary frequencies are stretched beyond the context that a model was first trained on.
struct RopeScaling {
  enum class Kind : uint8_t { kNone, kLinear, kYarn };
  Kind kind = Kind::kNone;
  float factor = 1.0F;       // positions are divided by it
  int original_context = 0;  // YaRN: the context before stretching
  float attn_factor = 1.0F;  // an additional factor of the magnitude of queries and keys
  float beta_fast = 32.0F;   // YaRN: pairs that turn more often than this are not changed
  float beta_slow = 1.0F;    // YaRN: pairs that turn less often than this are stretched fully
  bool operator==(const RopeScaling&) const = default;
};

// The hyper-parameters of a model, all from its file.
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
  // The number of leading values of a head that are rotated; 0 means all of them.
  int rope_dimensions = 0;
  RopeScaling rope_scaling;
  // Each pair's frequency is divided by its entry (Llama 3's rope_freqs.weight). If empty, no
  // frequency is divided.
  std::vector<float> rope_divisors;
  // Rotated pairs are (2i, 2i + 1); otherwise the two values are half the rotated values apart.
  bool rope_adjacent = false;
  // The attention that the file asks for: true if each token sees only itself and the tokens before
  // it. Embeddings use this attention. A model that is not a masked diffusion model decodes only
  // with it.
  bool causal = false;
  // A token sees itself and the sliding_window - 1 tokens before it; 0 means all tokens before it.
  int sliding_window = 0;
  // Row i of the logits predicts token i + 1. Autoregressive decoding always uses this reading.
  bool shift_logits = true;
  // The block length of the model's block diffusion training; 0 if there was none.
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
  std::vector<float> q_bias, k_bias, v_bias;  // empty if the file has none
  std::vector<float> q_norm, k_norm;  // norms of each head before RoPE; empty for most models
};

// A model file that has been loaded and checked: weights, configuration, tokenizer. It is immutable
// and thread-safe.
class Model {
 public:
  // Memory-maps and validates the file: architecture, required keys, every tensor's shape and type.
  // Errors: FILE_NOT_FOUND; MODEL_CORRUPT, saying what is wrong and where; MODEL_UNSUPPORTED,
  // naming the architecture or type.
  static absl::StatusOr<std::shared_ptr<const Model>> Load(const std::string& path);
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const LayerWeights& layer(int index) const = 0;
  virtual const Matrix& token_embedding() const = 0;
  // Returns the output matrix, which is the token embedding if the two are tied.
  virtual const Matrix& output() const = 0;
  virtual const std::vector<float>& output_norm() const = 0;
  // Returns a SHA-256 over the tensor data and the configuration. Adapters, patterns and peers are
  // bound to it.
  virtual const Digest& hash() const = 0;
  // Says that `bytes`, a part of a matrix's data, will hardly be read again, so the system may take
  // back their memory. They stay readable.
  virtual void ReleasePages(std::span<const uint8_t> bytes) const { static_cast<void>(bytes); }
};

}  // namespace ruvd::inference
