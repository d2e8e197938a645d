// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/metadata.h"

#include <fmt/format.h>

#include <optional>

namespace ruvd::inference {
namespace {

// Writes keys below the architecture's name.
class ArchitectureKeys {
 public:
  ArchitectureKeys(const std::string& architecture, GgufWriter* out)
      : architecture_(architecture), out_(out) {}

  void Number(std::string_view key, uint64_t value) {
    out_->SetUnsigned32(Name(key), static_cast<uint32_t>(value));
  }
  void Real(std::string_view key, double value) {
    out_->SetFloat32(Name(key), static_cast<float>(value));
  }
  void Text(std::string_view key, std::string_view value) { out_->SetString(Name(key), value); }
  void Flag(std::string_view key, bool value) { out_->SetBool(Name(key), value); }

 private:
  std::string Name(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

  const std::string& architecture_;
  GgufWriter* out_;
};

// Llama 3's scaling is the tensor rope_freqs.weight and has no key.
void WriteRopeScaling(const HfRopeScaling& scaling, ArchitectureKeys* keys) {
  using Kind = HfRopeScaling::Kind;
  if (scaling.kind != Kind::kLinear && scaling.kind != Kind::kYarn) {
    return;
  }
  keys->Text("rope.scaling.type", scaling.kind == Kind::kLinear ? "linear" : "yarn");
  keys->Real("rope.scaling.factor", scaling.factor);
  if (scaling.kind == Kind::kLinear) {
    return;
  }
  keys->Number("rope.scaling.original_context_length", scaling.original_context);
  if (scaling.beta_fast) {
    keys->Real("rope.scaling.yarn_beta_fast", *scaling.beta_fast);
  }
  if (scaling.beta_slow) {
    keys->Real("rope.scaling.yarn_beta_slow", *scaling.beta_slow);
  }
}

}  // namespace

void WriteHyperParameters(const HfConfig& config, const std::string& architecture,
                          uint32_t file_type, std::string_view name, GgufWriter* out) {
  ArchitectureKeys keys(architecture, out);
  out->SetString("general.architecture", architecture);
  out->SetString("general.type", "model");
  out->SetString("general.name", name);
  out->SetUnsigned32("general.file_type", file_type);
  out->SetUnsigned32("general.quantization_version", 2);
  keys.Number("block_count", config.layers);
  keys.Number("context_length", config.context);
  keys.Number("embedding_length", config.width);
  keys.Number("feed_forward_length", config.ffn);
  keys.Number("attention.head_count", config.heads);
  keys.Number("attention.head_count_kv", config.kv_heads);
  keys.Number("vocab_size", config.vocabulary);
  if (config.head_size * config.heads != config.width) {
    keys.Number("attention.key_length", config.head_size);
    keys.Number("attention.value_length", config.head_size);
  }
  keys.Real("attention.layer_norm_rms_epsilon", config.rms_epsilon);
  keys.Real("rope.freq_base", config.rope_base);
  if (architecture == "llama" || architecture == "llada") {
    keys.Number("rope.dimension_count", config.head_size);
  }
  WriteRopeScaling(config.rope_scaling, &keys);
  if (config.sliding_window > 0) {
    keys.Number("attention.sliding_window", config.sliding_window);
  }
  if (architecture == "dream" || architecture == "llada") {
    keys.Flag("attention.causal", false);
    out->SetBool("diffusion.shift_logits", config.shift_logits);
  }
  if (config.block_length > 0) {  // our own key, which llama.cpp ignores
    out->SetUnsigned32("ruvd.block_length", static_cast<uint32_t>(config.block_length));
  }
}

void WriteTokenizer(const HfTokenizer& tokenizer, const HfConfig& config, GgufWriter* out) {
  const bool pieces = tokenizer.model == "llama";
  out->SetString("tokenizer.ggml.model", tokenizer.model);
  out->SetString("tokenizer.ggml.pre", tokenizer.pre);
  out->SetStringArray("tokenizer.ggml.tokens", tokenizer.tokens);
  out->SetInt32Array("tokenizer.ggml.token_type", tokenizer.types);
  if (pieces) {
    out->SetFloatArray("tokenizer.ggml.scores", tokenizer.scores);
    out->SetBool("tokenizer.ggml.add_space_prefix", tokenizer.add_space_prefix);
  } else {
    out->SetStringArray("tokenizer.ggml.merges", tokenizer.merges);
  }
  const auto id = [&](std::string_view name, const std::optional<uint64_t>& value) {
    if (value) {
      out->SetUnsigned32(fmt::format("tokenizer.ggml.{}_token_id", name),
                         static_cast<uint32_t>(*value));
    }
  };
  id("bos", config.bos);
  id("eos", config.eos);
  id("padding", config.pad);
  id("mask", config.mask);
  id("eot", config.end_of_turn);
  id("unknown", tokenizer.unknown);
  out->SetBool("tokenizer.ggml.add_bos_token", tokenizer.add_bos);
  if (!tokenizer.chat_template.empty()) {
    out->SetString("tokenizer.chat_template", tokenizer.chat_template);
  }
}

}  // namespace ruvd::inference
