// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "inference/adapter/adapter.h"
#include "inference/gguf/writer.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "inference/tokenizer/tokenizer.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::test {

inline constexpr inference::TokenId kTinyEndOfText = 256;
inline constexpr inference::TokenId kTinyMask = 257;

// A tokenizer of the 256 bytes, an end-of-text token and a mask. `extra` sets further keys.
inline std::unique_ptr<inference::Tokenizer> ByteTokenizer(
    const std::function<void(inference::GgufWriter*)>& extra = nullptr) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(inference::SpellBytes(std::string(1, static_cast<char>(byte))));
  }
  tokens.emplace_back("<|endoftext|>");
  tokens.emplace_back("<|mask|>");
  std::vector<int32_t> types(tokens.size(), 1);
  types[kTinyEndOfText] = types[kTinyMask] = 3;
  inference::GgufWriter writer;
  writer.SetString("tokenizer.ggml.model", "gpt2");
  writer.SetString("tokenizer.ggml.pre", "qwen2");
  writer.SetStringArray("tokenizer.ggml.tokens", tokens);
  writer.SetInt32Array("tokenizer.ggml.token_type", types);
  writer.SetStringArray("tokenizer.ggml.merges", {});
  writer.SetUnsigned32("tokenizer.ggml.eos_token_id", kTinyEndOfText);
  writer.SetUnsigned32("tokenizer.ggml.mask_token_id", kTinyMask);
  if (extra) {
    extra(&writer);
  }
  const std::string file = writer.Serialize().value();
  return inference::Tokenizer::FromGguf(*inference::GgufReader::Parse(AsBytes(file)).value())
      .value();
}

// A random model over bytes, with a tokenizer: text in, text out, without a file.
class TextModel final : public inference::Model {
 public:
  static TinyModel::Options Defaults() {
    TinyModel::Options options;
    options.vocabulary = 258;
    options.context = 96;
    return options;
  }
  explicit TextModel(const TinyModel::Options& options = Defaults(),
                     std::unique_ptr<inference::Tokenizer> tokenizer = ByteTokenizer())
      : weights_(options), tokenizer_(std::move(tokenizer)), config_(weights_.config()) {
    hash_.fill(static_cast<uint8_t>(options.seed));
  }

  const inference::ModelConfig& config() const override { return config_; }
  inference::ModelConfig& mutable_config() { return config_; }
  const inference::Tokenizer& tokenizer() const override { return *tokenizer_; }
  const inference::LayerWeights& layer(int index) const override { return weights_.layer(index); }
  const inference::Matrix& token_embedding() const override { return weights_.token_embedding(); }
  const inference::Matrix& output() const override { return weights_.output(); }
  const std::vector<float>& output_norm() const override { return weights_.output_norm(); }
  const Digest& hash() const override { return hash_; }

 private:
  TinyModel weights_;
  std::unique_ptr<inference::Tokenizer> tokenizer_;
  inference::ModelConfig config_;
  Digest hash_;
};

// Returns a model with the defaults, shared by all callers.
inline std::shared_ptr<const TextModel> TinyTextModel() {
  static const auto model = std::make_shared<const TextModel>();
  return model;
}

// A random adapter of the given targets ("blk.0.attn_q.weight"), large enough to change tokens.
inline std::shared_ptr<const inference::Adapter> RandomAdapter(
    const inference::Model& model,
    const std::vector<std::pair<std::string, const inference::Matrix*>>& targets, uint64_t seed,
    double spread = 0.5) {
  Random random(seed);
  auto adapter = std::make_shared<inference::Adapter>();
  adapter->name = "random-" + std::to_string(seed);
  adapter->version = 1;
  adapter->model_hash = model.hash();
  for (const auto& [name, matrix] : targets) {
    inference::LowRank change{.rank = 2, .in = matrix->columns, .out = matrix->rows};
    change.scale = 1.5F;
    change.a.resize(static_cast<size_t>(change.rank) * static_cast<size_t>(change.in));
    change.b.resize(static_cast<size_t>(change.rank) * static_cast<size_t>(change.out));
    for (std::vector<float>* values : {&change.a, &change.b}) {
      for (float& value : *values) {
        value = static_cast<float>(random.Normal() * spread);
      }
    }
    adapter->targets.emplace(name, std::move(change));
  }
  return adapter;
}

}  // namespace ruvd::test
