// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/model/config.h"
#include "inference/model/limits.h"
#include "inference/model/rope.h"

namespace {

constexpr std::string_view kArchitectures[] = {"dream", "llada", "llama", "qwen2", "qwen3", "gpt2"};
constexpr std::string_view kKeys[] = {"block_count",
                                      "embedding_length",
                                      "context_length",
                                      "feed_forward_length",
                                      "attention.head_count",
                                      "attention.head_count_kv",
                                      "attention.key_length",
                                      "attention.value_length",
                                      "attention.layer_norm_rms_epsilon",
                                      "attention.causal",
                                      "attention.sliding_window",
                                      "rope.dimension_count",
                                      "rope.freq_base",
                                      "rope.scale_linear",
                                      "rope.scaling.type",
                                      "rope.scaling.factor",
                                      "rope.scaling.attn_factor",
                                      "rope.scaling.original_context_length",
                                      "vocab_size",
                                      "expert_count",
                                      "rope.scaling.yarn_beta_fast",
                                      "rope.scaling.yarn_beta_slow",
                                      "logit_scale"};
constexpr std::string_view kTexts[] = {"none", "linear", "yarn", "longrope"};

// Takes numbers from the input until it ends, then zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : bytes_(data, size) {}
  bool empty() const { return bytes_.empty(); }
  uint32_t Number() {
    uint32_t number = 0;
    const size_t count = std::min(bytes_.size(), sizeof(number));
    std::memcpy(&number, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return number;
  }
  template <size_t kCount>
  std::string One(const std::string_view (&choices)[kCount]) {
    return std::string(choices[Number() % kCount]);
  }

 private:
  std::span<const uint8_t> bytes_;
};

void SetValue(const std::string& key, Input* input, ruvd::inference::GgufWriter* writer) {
  const uint32_t kind = input->Number();
  const uint32_t value = input->Number();
  float number = 0;
  std::memcpy(&number, &value, sizeof(number));
  switch (kind % 5) {
    case 0:
      return writer->SetUnsigned32(key, value);
    case 1:
      return writer->SetUnsigned32(key, value % 64);
    case 2:
      return writer->SetFloat32(key, number);
    case 3:
      return writer->SetBool(key, value % 2 == 0);
    default:
      return writer->SetString(key, std::string(kTexts[value % std::size(kTexts)]));
  }
}

}  // namespace

// Whatever a file's keys say, they are refused or give sizes within the limits and frequencies that
// are numbers.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  ruvd::inference::GgufWriter writer;
  const std::string architecture = input.One(kArchitectures);
  writer.SetString("general.architecture", architecture);
  std::map<std::string, bool> set;
  for (int i = 0; i < 24 && !input.empty(); ++i) {
    const std::string key = architecture + "." + input.One(kKeys);
    if (!set[key]) {
      set[key] = true;
      SetValue(key, &input, &writer);
    }
  }
  for (const std::string_view key : std::span(kKeys).first(5)) {
    const std::string full = fmt::format("{}.{}", architecture, key);
    if (!set[full]) {
      writer.SetUnsigned32(full, 4);
    }
  }
  const std::string epsilon = architecture + ".attention.layer_norm_rms_epsilon";
  if (!set[epsilon]) {
    writer.SetFloat32(epsilon, 1e-5F);
  }
  const uint64_t pairs = input.Number() % 8 + 1;
  const std::vector<uint64_t> embedding_shape = {4, 2};
  const std::vector<uint64_t> divisors_shape = {pairs};
  writer.AddTensor("token_embd.weight", ruvd::inference::TensorType::kF32, embedding_shape,
                   std::string(32, '\0'));
  writer.AddTensor("rope_freqs.weight", ruvd::inference::TensorType::kF32, divisors_shape,
                   std::string(4 * pairs, '\x3f'));
  const auto file = writer.Serialize();
  RUVD_CHECK(file.ok());
  const auto reader = ruvd::inference::GgufReader::Parse(ruvd::AsBytes(*file));
  RUVD_CHECK(reader.ok());
  const auto config = ruvd::inference::ReadModelConfig(**reader);
  if (!config.ok()) {
    return 0;
  }
  RUVD_CHECK(config->layers > 0 && config->heads > 0 && config->kv_heads > 0 && config->ffn > 0);
  RUVD_CHECK(static_cast<uint64_t>(config->head_size) <= ruvd::limits::kMaxHeadSize);
  RUVD_CHECK(config->rope_dimensions <= config->head_size);
  for (const double frequency : ruvd::inference::RopeFrequencies(*config)) {
    RUVD_CHECK(std::isfinite(frequency));
  }
  return 0;
}
