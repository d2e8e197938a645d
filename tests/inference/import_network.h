// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "inference/import/import.h"
#include "inference/model/model.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/hf_folder.h"
#include "tests/inference/tiny_model.h"

// Judges imports of every kind of network by what the network computes: a plain transformer in
// double precision reads the source (half-split RoPE) and the file.
namespace ruvd::test {

using Tensors = std::map<std::string, std::vector<double>>;  // row by row
using Rows = std::vector<std::vector<double>>;

inline constexpr int kWidth = 24;
inline constexpr int kHeads = 3;
inline constexpr int kKvHeads = 1;
inline constexpr int kHeadSize = 8;
inline constexpr int kFfn = 40;
inline constexpr int kLayers = 2;
inline constexpr double kEpsilon = 1e-5;
inline constexpr double kRopeBase = 500.0;

// The network by GGUF's tensor names.
class Network {
 public:
  Network(Tensors tensors, bool adjacent, bool causal)
      : tensors_(std::move(tensors)), adjacent_(adjacent), causal_(causal) {}

  // Returns the logits of every position, one row each.
  Rows Logits(const std::vector<int>& tokens) const {
    Rows x;
    for (const int token : tokens) {
      const auto& table = At("token_embd.weight");
      x.emplace_back(table.begin() + token * kWidth, table.begin() + (token + 1) * kWidth);
    }
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string blk = fmt::format("blk.{}.", layer);
      AddTo(&x, Attention(blk, Normed(x, blk + "attn_norm.weight", kWidth)));
      const Rows h = Normed(x, blk + "ffn_norm.weight", kWidth);
      Rows gate = Product(h, blk + "ffn_gate", kFfn);
      const Rows up = Product(h, blk + "ffn_up", kFfn);
      for (size_t i = 0; i < gate.size(); ++i) {
        for (size_t j = 0; j < gate[i].size(); ++j) {
          gate[i][j] *= up[i][j] / (1 + std::exp(-gate[i][j]));
        }
      }
      AddTo(&x, Product(gate, blk + "ffn_down", kWidth));
    }
    x = Normed(x, "output_norm.weight", kWidth);
    return Product(x, tensors_.contains("output.weight") ? "output" : "token_embd", kHfVocabulary);
  }

 private:
  const std::vector<double>& At(const std::string& name) const { return tensors_.at(name); }

  static void AddTo(Rows* x, const Rows& y) {
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t j = 0; j < y[i].size(); ++j) {
        (*x)[i][j] += y[i][j];
      }
    }
  }

  // RMS norm of each run of `length` values.
  Rows Normed(Rows x, const std::string& name, size_t length) const {
    for (auto& row : x) {
      for (size_t start = 0; start < row.size(); start += length) {
        double squares = 0;
        for (size_t j = 0; j < length; ++j) {
          squares += row[start + j] * row[start + j];
        }
        const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + kEpsilon);
        for (size_t j = 0; j < length; ++j) {
          row[start + j] *= scale * At(name)[j];
        }
      }
    }
    return x;
  }

  Rows Product(const Rows& x, const std::string& name, int rows) const {
    const std::vector<double>& w = At(name + ".weight");
    Rows y;
    for (const auto& row : x) {
      std::vector<double> out;
      for (size_t o = 0; o < static_cast<size_t>(rows); ++o) {
        double sum = tensors_.contains(name + ".bias") ? At(name + ".bias")[o] : 0;
        for (size_t j = 0; j < row.size(); ++j) {
          sum += w[o * row.size() + j] * row[j];
        }
        out.push_back(sum);
      }
      y.push_back(std::move(out));
    }
    return y;
  }

  void Rotate(Rows* x) const {
    const auto divisors = tensors_.find("rope_freqs.weight");
    for (size_t i = 0; i < x->size(); ++i) {
      for (size_t start = 0; start < (*x)[i].size(); start += kHeadSize) {
        for (size_t p = 0; p < kHeadSize / 2; ++p) {
          double angle = static_cast<double>(i) *
                         std::pow(kRopeBase, -2.0 * static_cast<double>(p) / kHeadSize);
          angle /= divisors == tensors_.end() ? 1 : divisors->second[p];
          double& a = (*x)[i][start + (adjacent_ ? 2 * p : p)];
          double& b = (*x)[i][start + (adjacent_ ? 2 * p + 1 : p + kHeadSize / 2)];
          const double turned = a * std::cos(angle) - b * std::sin(angle);
          b = a * std::sin(angle) + b * std::cos(angle);
          a = turned;
        }
      }
    }
  }

  Rows Attention(const std::string& blk, const Rows& h) const {
    Rows q = Product(h, blk + "attn_q", kHeads * kHeadSize);
    Rows k = Product(h, blk + "attn_k", kKvHeads * kHeadSize);
    const Rows v = Product(h, blk + "attn_v", kKvHeads * kHeadSize);
    if (tensors_.contains(blk + "attn_q_norm.weight")) {
      q = Normed(q, blk + "attn_q_norm.weight", kHeadSize);
      k = Normed(k, blk + "attn_k_norm.weight", kHeadSize);
    }
    Rotate(&q);
    Rotate(&k);
    Rows out(h.size(), std::vector<double>(kHeads * kHeadSize));
    for (size_t head = 0; head < kHeads; ++head) {
      const size_t kv = head / (kHeads / kKvHeads) * kHeadSize;
      for (size_t i = 0; i < h.size(); ++i) {
        std::vector<double> weights;
        double total = 0;
        for (size_t j = 0; j < (causal_ ? i + 1 : h.size()); ++j) {
          double score = 0;
          for (size_t c = 0; c < kHeadSize; ++c) {
            score += q[i][head * kHeadSize + c] * k[j][kv + c];
          }
          weights.push_back(std::exp(score / std::sqrt(double{kHeadSize})));
          total += weights.back();
        }
        for (size_t j = 0; j < weights.size(); ++j) {
          for (size_t c = 0; c < kHeadSize; ++c) {
            out[i][head * kHeadSize + c] += weights[j] / total * v[j][kv + c];
          }
        }
      }
    }
    return Product(out, blk + "attn_output", kWidth);
  }

  Tensors tensors_;
  bool adjacent_;
  bool causal_;
};

inline std::string TransformersConfig(const std::string& type, const std::string& more = "") {
  return fmt::format(
      R"({{"model_type": "{}", "hidden_size": {}, "intermediate_size": {}, "num_hidden_layers": {},
        "num_attention_heads": {}, "num_key_value_heads": {}, "vocab_size": {},
        "max_position_embeddings": 128, "rms_norm_eps": {}, "rope_theta": {}{}}})",
      type, kWidth, kFfn, kLayers, kHeads, kKvHeads, kHfVocabulary, kEpsilon, kRopeBase, more);
}

inline std::string LladaConfig(const std::string& more = "") {
  return fmt::format(
      R"({{"model_type": "llada", "d_model": {}, "mlp_hidden_size": {}, "n_layers": {},
        "n_heads": {}, "n_kv_heads": {}, "vocab_size": {}, "embedding_size": {},
        "max_sequence_length": 128, "rms_norm_eps": {}, "rope_theta": {}, "block_type": "llama",
        "activation_type": "silu", "layer_norm_type": "rms", "weight_tying": false,
        "include_bias": false, "alibi": false, "mask_token_id": 257{}}})",
      kWidth, kFfn, kLayers, kHeads, kKvHeads, kHfVocabulary, kHfVocabulary, kEpsilon, kRopeBase,
      more);
}

// A source tensor: its name there and in GGUF, its shape.
struct Named {
  std::string from;
  std::string to;
  std::vector<int> shape;
};

struct SourceKind {
  bool llada_names = false;
  bool biases = false;
  bool head_norms = false;
  bool tied = false;
};

inline std::vector<Named> SourceTensors(const SourceKind& kind) {
  const bool llada = kind.llada_names;
  std::vector<Named> out;
  out.push_back({llada ? "model.transformer.wte.weight" : "model.embed_tokens.weight",
                 "token_embd.weight",
                 {kHfVocabulary, kWidth}});
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string from =
        fmt::format("{}{}.", llada ? "model.transformer.blocks." : "model.layers.", layer);
    const std::string to = fmt::format("blk.{}.", layer);
    const auto add = [&](const char* plain, const char* own, const char* gguf,
                         const std::vector<int>& shape) {
      out.push_back({from + (llada ? own : plain) + ".weight", to + gguf + ".weight", shape});
    };
    const int q = kHeads * kHeadSize;
    const int kv = kKvHeads * kHeadSize;
    add("input_layernorm", "attn_norm", "attn_norm", {kWidth});
    add("self_attn.q_proj", "q_proj", "attn_q", {q, kWidth});
    add("self_attn.k_proj", "k_proj", "attn_k", {kv, kWidth});
    add("self_attn.v_proj", "v_proj", "attn_v", {kv, kWidth});
    add("self_attn.o_proj", "attn_out", "attn_output", {kWidth, q});
    add("post_attention_layernorm", "ff_norm", "ffn_norm", {kWidth});
    add("mlp.gate_proj", "ff_proj", "ffn_gate", {kFfn, kWidth});
    add("mlp.up_proj", "up_proj", "ffn_up", {kFfn, kWidth});
    add("mlp.down_proj", "ff_out", "ffn_down", {kWidth, kFfn});
    if (kind.head_norms) {
      add("self_attn.q_norm", "", "attn_q_norm", {kHeadSize});
      add("self_attn.k_norm", "", "attn_k_norm", {kHeadSize});
    }
    if (kind.biases) {
      out.push_back({from + "self_attn.q_proj.bias", to + "attn_q.bias", {q}});
      out.push_back({from + "self_attn.k_proj.bias", to + "attn_k.bias", {kv}});
      out.push_back({from + "self_attn.v_proj.bias", to + "attn_v.bias", {kv}});
    }
  }
  out.push_back({llada ? "model.transformer.ln_f.weight" : "model.norm.weight",
                 "output_norm.weight",
                 {kWidth}});
  if (!kind.tied) {
    out.push_back({llada ? "model.transformer.ff_out.weight" : "lm_head.weight",
                   "output.weight",
                   {kHfVocabulary, kWidth}});
  }
  return out;
}

class ImportNetworkTest : public ::testing::Test {
 protected:
  ImportNetworkTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("ruvd_architectures_{}",
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Put("tokenizer.json", HfTokenizerJson());
  }
  ~ImportNetworkTest() override { std::filesystem::remove_all(folder_); }

  void Put(const std::string& name, const std::string& contents) {
    ASSERT_TRUE(WriteFileAtomically((folder_ / name).string(), contents).ok());
  }

  // Random weights under the source's names, in one file or spread over several.
  void PutWeights(const SourceKind& kind, int files = 1) {
    std::vector<SafetensorsBuilder> builders(static_cast<size_t>(files));
    std::string map;
    Random random(7);
    size_t next = 0;
    for (const Named& tensor : SourceTensors(kind)) {
      const bool norm = tensor.to.find("norm") != std::string::npos;
      std::vector<float> values;
      for (int i = 0; i < tensor.shape[0] * (tensor.shape.size() > 1 ? tensor.shape[1] : 1); ++i) {
        values.push_back(static_cast<float>(0.3 * random.Normal() + (norm ? 1 : 0)));
      }
      source_[tensor.to] = {values.begin(), values.end()};
      const size_t file = next++ % builders.size();
      builders[file].Add(tensor.from, tensor.shape, values);
      map += fmt::format(R"({}"{}": "part-{}.safetensors")", map.empty() ? "" : ", ", tensor.from,
                         file);
    }
    if (files == 1) {
      Put("model.safetensors", builders[0].Build());
      return;
    }
    for (size_t i = 0; i < builders.size(); ++i) {
      Put(fmt::format("part-{}.safetensors", i), builders[i].Build());
    }
    Put("model.safetensors.index.json", fmt::format(R"({{"weight_map": {{{}}}}})", map));
  }

  absl::StatusOr<std::unique_ptr<inference::GgufReader>> Import(
      const inference::ImportOptions& options) {
    ASSIGN_OR_RETURN(
        [[maybe_unused]] const inference::ImportResult result,
        inference::ImportModel(folder_.string(), options, (folder_ / "out.gguf").string()));
    return inference::GgufReader::Open((folder_ / "out.gguf").string());
  }
  absl::StatusOr<std::unique_ptr<inference::GgufReader>> Import(
      const std::string& architecture = "") {
    return Import(
        inference::ImportOptions{.type = "f32", .architecture = architecture, .name = ""});
  }

  // The file computes what the source does, which has half splits.
  void ExpectSameLogits(const inference::GgufReader& file, bool adjacent, bool causal) {
    Tensors imported;
    for (const inference::TensorInfo& tensor : file.tensors()) {
      std::vector<float> values(tensor.values());
      ASSERT_TRUE(inference::Dequantize(tensor.type, file.Data(tensor), values).ok());
      imported[tensor.name] = {values.begin(), values.end()};
    }
    if (imported.contains("rope_freqs.weight")) {
      source_["rope_freqs.weight"] = imported["rope_freqs.weight"];
    }
    const std::vector<int> tokens = {72, 5, 200, 13, 13, 99, 256};
    const Rows expected = Network(source_, false, causal).Logits(tokens);
    const Rows found = Network(imported, adjacent, causal).Logits(tokens);
    for (size_t i = 0; i < expected.size(); ++i) {
      for (size_t j = 0; j < expected[i].size(); ++j) {
        ASSERT_NEAR(found[i][j], expected[i][j], 1e-9) << "row " << i << ", token " << j;
      }
    }
    ExpectEngineLogits(tokens, causal, expected);
  }
  // Our engine computes it as well, in float32.
  void ExpectEngineLogits(const std::vector<int>& tokens, bool causal, const Rows& expected) {
    const auto model = inference::Model::Load((folder_ / "out.gguf").string());
    ASSERT_TRUE(model.ok()) << model.status();
    inference::CpuTransformer transformer(*model, SerialRunner());
    const std::vector<inference::TokenId> ids(tokens.begin(), tokens.end());
    inference::ForwardOutput output;
    const auto kind =
        causal ? inference::Attention::Kind::kCausal : inference::Attention::Kind::kBidirectional;
    ASSERT_TRUE(transformer.Forward({.tokens = ids, .attention = {.kind = kind}}, &output).ok());
    std::vector<float> logits(ids.size() * kHfVocabulary);
    transformer.Logits(output.hidden, nullptr, logits);
    std::vector<float> wanted;
    for (const auto& row : expected) {
      wanted.insert(wanted.end(), row.begin(), row.end());
    }
    EXPECT_LT(RelativeRms(logits, wanted), 1e-5);
  }
  std::string Refusal(const char* reason, const std::string& architecture = "") {
    const absl::Status status = Import(architecture).status();
    EXPECT_EQ(ReasonOf(status), reason) << status;
    return MessageOf(status);
  }

  std::filesystem::path folder_;
  Tensors source_;  // by GGUF's names, rows as in the source
};

}  // namespace ruvd::test
