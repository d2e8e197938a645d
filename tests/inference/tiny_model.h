// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/model/model.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::test {

// A random model in memory, without a file. Matrices are drawn from a normal distribution and
// stored in `type`; weights are scaled so that logits are of order one. Its tokenizer knows 38
// characters from 'A' on and the two special tokens below.
class TinyModel final : public inference::Model {
 public:
  static constexpr inference::TokenId kEnd = 38;
  static constexpr inference::TokenId kMask = 39;

  struct Options {
    int layers = 2;
    int width = 64;
    int heads = 4;
    int kv_heads = 2;
    int head_size = 16;
    int ffn = 96;
    int vocabulary = 40;
    int context = 64;
    inference::TensorType type = inference::TensorType::kF32;
    bool biases = true;
    uint64_t seed = 1;
  };

  explicit TinyModel(const Options& options) : random_(options.seed) {
    config_ = {.name = "tiny",
               .layers = options.layers,
               .width = options.width,
               .heads = options.heads,
               .kv_heads = options.kv_heads,
               .head_size = options.head_size,
               .ffn = options.ffn,
               .vocabulary = options.vocabulary,
               .context = options.context,
               .rms_epsilon = 1e-3F,
               .rope_base = 500.0F,
               .block_length = 4};
    type_ = options.type;
    const int q = options.heads * options.head_size;
    const int kv = options.kv_heads * options.head_size;
    tokenizer_ = MakeTokenizer();
    embedding_ = RandomMatrix(options.vocabulary, options.width);
    output_ = RandomMatrix(options.vocabulary, options.width);
    output_norm_ = RandomVector(options.width, 0.2, 1.0);
    for (int i = 0; i < options.layers; ++i) {
      inference::LayerWeights layer;
      layer.attn_norm = RandomVector(options.width, 0.2, 1.0);
      layer.ffn_norm = RandomVector(options.width, 0.2, 1.0);
      layer.q = RandomMatrix(q, options.width);
      layer.k = RandomMatrix(kv, options.width);
      layer.v = RandomMatrix(kv, options.width);
      layer.output = RandomMatrix(options.width, q);
      layer.gate = RandomMatrix(options.ffn, options.width);
      layer.up = RandomMatrix(options.ffn, options.width);
      layer.down = RandomMatrix(options.width, options.ffn);
      if (options.biases) {
        layer.q_bias = RandomVector(q, 0.3, 0.0);
        layer.k_bias = RandomVector(kv, 0.3, 0.0);
        layer.v_bias = RandomVector(kv, 0.3, 0.0);
      }
      layers_.push_back(std::move(layer));
    }
  }

  const inference::ModelConfig& config() const override { return config_; }
  const inference::Tokenizer& tokenizer() const override { return *tokenizer_; }
  const inference::LayerWeights& layer(int index) const override {
    return layers_[static_cast<size_t>(index)];
  }
  const inference::Matrix& token_embedding() const override { return embedding_; }
  const inference::Matrix& output() const override { return output_; }
  const std::vector<float>& output_norm() const override { return output_norm_; }
  const Digest& hash() const override { return hash_; }

  // For tests that change the model: its configuration, the layer, and a matrix built from values
  // (rows x columns).
  inference::ModelConfig& mutable_config() { return config_; }
  inference::LayerWeights& mutable_layer(int index) { return layers_[static_cast<size_t>(index)]; }
  inference::Matrix& mutable_output() { return output_; }
  inference::Matrix MakeMatrix(inference::TensorType type, int rows, int columns,
                               const std::vector<float>& values) {
    bytes_.push_back(inference::Quantize(type, values).value());
    return {.type = type,
            .rows = rows,
            .columns = columns,
            .data = reinterpret_cast<const uint8_t*>(bytes_.back().data())};
  }

 private:
  static std::unique_ptr<inference::Tokenizer> MakeTokenizer() {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    for (char c = 'A'; tokens.size() < kEnd; ++c) {
      tokens.emplace_back(1, c);
      types.push_back(1);
    }
    tokens.insert(tokens.end(), {"<|end|>", "<|mask|>"});
    types.insert(types.end(), {3, 3});
    inference::GgufWriter writer;
    writer.SetString("tokenizer.ggml.model", "gpt2");
    writer.SetString("tokenizer.ggml.pre", "qwen2");
    writer.SetStringArray("tokenizer.ggml.tokens", tokens);
    writer.SetInt32Array("tokenizer.ggml.token_type", types);
    writer.SetStringArray("tokenizer.ggml.merges", {});
    writer.SetUnsigned32("tokenizer.ggml.eos_token_id", kEnd);
    writer.SetUnsigned32("tokenizer.ggml.mask_token_id", kMask);
    const std::string file = writer.Serialize().value();
    return inference::Tokenizer::FromGguf(*inference::GgufReader::Parse(AsBytes(file)).value())
        .value();
  }
  std::vector<float> RandomVector(int length, double spread, double centre) {
    std::vector<float> values(static_cast<size_t>(length));
    for (float& value : values) {
      value = static_cast<float>(centre + spread * random_.Normal());
    }
    return values;
  }
  inference::Matrix RandomMatrix(int rows, int columns) {
    const double spread = 1.0 / std::sqrt(static_cast<double>(columns));
    return MakeMatrix(type_, rows, columns, RandomVector(rows * columns, spread, 0.0));
  }

  Random random_;
  inference::ModelConfig config_;
  inference::TensorType type_ = inference::TensorType::kF32;
  std::deque<std::string> bytes_;  // does not move its elements
  inference::Matrix embedding_, output_;
  std::vector<float> output_norm_;
  std::vector<inference::LayerWeights> layers_;
  std::unique_ptr<inference::Tokenizer> tokenizer_;
  Digest hash_{};
};

// Returns random tokens of a TinyModel.
inline std::vector<inference::TokenId> RandomTokens(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<inference::TokenId> tokens(count);
  for (inference::TokenId& token : tokens) {
    token = static_cast<inference::TokenId>(random.Below(40));
  }
  return tokens;
}

// The matrix as float32 values, row by row.
inline std::vector<float> Values(const inference::Matrix& w) {
  std::vector<float> values(static_cast<size_t>(w.rows) * static_cast<size_t>(w.columns));
  const uint64_t bytes = values.size() / inference::BlockValues(w.type) * BlockBytes(w.type);
  RUVD_CHECK(inference::Dequantize(w.type, {w.data, bytes}, values).ok());
  return values;
}

// Returns sqrt(sum((a - b)^2) / sum(b^2)).
inline double RelativeRms(const std::vector<float>& a, const std::vector<float>& b) {
  RUVD_CHECK(a.size() == b.size());
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace ruvd::test
