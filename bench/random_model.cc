// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/random_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/random_vocabulary.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/types.h"
#include "inference/gguf/writer.h"

namespace ruvd::bench {
namespace {

struct Shape {
  const char* name;
  const char* architecture;
  int layers, width, heads, kv_heads, head_size, ffn, vocabulary, context;
  bool biases;  // of Q, K and V
  float rope_base, rms_epsilon;
  int block_length;  // 0: not trained for block diffusion
};

// The output matrix is the token embedding in all of them.
constexpr Shape kShapes[] = {
    {"0.5b", "dream", 24, 896, 14, 2, 64, 4864, 151936, 4096, true, 1e6F, 1e-6F, 0},
    {"29m", "dream", 8, 512, 8, 4, 64, 1536, 8192, 512, false, 1e4F, 1e-5F, 16},
    {"7b-layer", "dream", 1, 3584, 28, 4, 128, 18944, 8192, 4096, true, 1e6F, 1e-6F, 0},
};

absl::Status Invalid(std::string_view message) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}", message);
}

absl::StatusOr<Shape> FindShape(std::string_view name) {
  for (const Shape& shape : kShapes) {
    if (name == shape.name) {
      return shape;
    }
  }
  return Invalid(fmt::format("no shape \"{}\"; there are {}", name, fmt::join(ShapeNames(), ", ")));
}

absl::StatusOr<TensorType> FindType(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  for (uint32_t number = 0; number < 64; ++number) {
    const auto type = TensorTypeFromNumber(number);
    if (type && TensorTypeName(*type) == name) {
      return *type;
    }
  }
  return Invalid(fmt::format("no tensor format \"{}\"; try Q8_0 or Q4_0", name));
}

TensorType TypeForRow(TensorType wanted, uint64_t columns) {
  if (columns % BlockValues(wanted) == 0) {
    return wanted;
  }
  switch (wanted) {
    case TensorType::kQ4_K:
      return TensorType::kQ5_0;
    case TensorType::kQ5_K:
      return TensorType::kQ5_1;
    default:
      return TensorType::kQ8_0;
  }
}

// llama.cpp keeps an output matrix finer than the rest. We take Q8_0 for every quantised file, as
// it does where rows are no multiple of 256.
TensorType EmbeddingType(TensorType wanted) {
  const bool plain = BlockValues(wanted) == 1;
  return plain ? wanted : TensorType::kQ8_0;
}

class Maker {
 public:
  Maker(const Shape& shape, TensorType type, TensorType embedding_type, uint64_t seed)
      : shape_(shape), type_(type), embedding_type_(embedding_type), random_(seed) {
    for (float& value : pool_) {
      value = static_cast<float>(random_.Normal());
    }
  }

  void AddKeys(std::string_view architecture);
  absl::Status AddTensors();
  const GgufWriter& writer() const { return writer_; }

 private:
  absl::Status AddLayer(int index);
  // Every row is a random piece of one pool of normal numbers, scaled to keep activations' size:
  // drawing each value would take longer than quantising it.
  absl::Status AddMatrix(const std::string& name, TensorType wanted, int rows, int columns);
  absl::Status AddVector(const std::string& name, int length, float centre);

  static constexpr size_t kPoolValues = size_t{1} << 22;
  const Shape& shape_;
  TensorType type_;
  TensorType embedding_type_;
  Random random_;
  std::vector<float> pool_ = std::vector<float>(kPoolValues);
  GgufWriter writer_;
};

void Maker::AddKeys(std::string_view architecture) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", architecture, name); };
  const auto set = [&](std::string_view name, int value) {
    writer_.SetUnsigned32(key(name), static_cast<uint32_t>(value));
  };
  writer_.SetString("general.architecture", architecture);
  writer_.SetString("general.name", fmt::format("random-{}", shape_.name));
  set("block_count", shape_.layers);
  set("context_length", shape_.context);
  set("embedding_length", shape_.width);
  set("feed_forward_length", shape_.ffn);
  set("attention.head_count", shape_.heads);
  set("attention.head_count_kv", shape_.kv_heads);
  set("vocab_size", shape_.vocabulary);
  set("rope.dimension_count", shape_.head_size);
  writer_.SetFloat32(key("attention.layer_norm_rms_epsilon"), shape_.rms_epsilon);
  writer_.SetFloat32(key("rope.freq_base"), shape_.rope_base);
  writer_.SetBool("diffusion.shift_logits", true);
  if (shape_.block_length > 0) {
    writer_.SetUnsigned32("ruvd.block_length", static_cast<uint32_t>(shape_.block_length));
  }
  AddVocabulary(static_cast<size_t>(shape_.vocabulary), &writer_);
}

absl::Status Maker::AddMatrix(const std::string& name, TensorType wanted, int rows, int columns) {
  const auto width = static_cast<size_t>(columns);
  const TensorType type = TypeForRow(wanted, width);
  const float scale = 1.0F / std::sqrt(static_cast<float>(columns));
  std::vector<float> row(width);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(rows) * width / BlockValues(type) * BlockBytes(type));
  for (int i = 0; i < rows; ++i) {
    const float* piece = pool_.data() + random_.Below(kPoolValues - width);
    std::transform(piece, piece + width, row.begin(), [&](float x) { return x * scale; });
    ASSIGN_OR_RETURN(const std::string packed, Quantize(type, row));
    bytes += packed;
  }
  const uint64_t extents[] = {width, static_cast<uint64_t>(rows)};
  writer_.AddTensor(name, type, extents, std::move(bytes));
  return absl::OkStatus();
}

absl::Status Maker::AddVector(const std::string& name, int length, float centre) {
  std::vector<float> values(static_cast<size_t>(length));
  for (float& value : values) {
    value = centre + 0.1F * static_cast<float>(random_.Normal());
  }
  ASSIGN_OR_RETURN(std::string bytes, Quantize(TensorType::kF32, values));
  const uint64_t extents[] = {values.size()};
  writer_.AddTensor(name, TensorType::kF32, extents, std::move(bytes));
  return absl::OkStatus();
}

absl::Status Maker::AddLayer(int index) {
  const std::string blk = fmt::format("blk.{}.", index);
  const int q = shape_.heads * shape_.head_size;
  const int kv = shape_.kv_heads * shape_.head_size;
  RETURN_IF_ERROR(AddVector(blk + "attn_norm.weight", shape_.width, 1));
  RETURN_IF_ERROR(AddMatrix(blk + "attn_q.weight", type_, q, shape_.width));
  RETURN_IF_ERROR(AddMatrix(blk + "attn_k.weight", type_, kv, shape_.width));
  RETURN_IF_ERROR(AddMatrix(blk + "attn_v.weight", type_, kv, shape_.width));
  if (shape_.biases) {
    RETURN_IF_ERROR(AddVector(blk + "attn_q.bias", q, 0));
    RETURN_IF_ERROR(AddVector(blk + "attn_k.bias", kv, 0));
    RETURN_IF_ERROR(AddVector(blk + "attn_v.bias", kv, 0));
  }
  RETURN_IF_ERROR(AddMatrix(blk + "attn_output.weight", type_, shape_.width, q));
  RETURN_IF_ERROR(AddVector(blk + "ffn_norm.weight", shape_.width, 1));
  RETURN_IF_ERROR(AddMatrix(blk + "ffn_gate.weight", type_, shape_.ffn, shape_.width));
  RETURN_IF_ERROR(AddMatrix(blk + "ffn_up.weight", type_, shape_.ffn, shape_.width));
  return AddMatrix(blk + "ffn_down.weight", type_, shape_.width, shape_.ffn);
}

absl::Status Maker::AddTensors() {
  RETURN_IF_ERROR(AddMatrix("token_embd.weight", embedding_type_, shape_.vocabulary, shape_.width));
  RETURN_IF_ERROR(AddVector("output_norm.weight", shape_.width, 1));
  for (int i = 0; i < shape_.layers; ++i) {
    RETURN_IF_ERROR(AddLayer(i));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) {
    names.emplace_back(shape.name);
  }
  return names;
}

absl::Status WriteRandomModel(const RandomModelOptions& options) {
  ASSIGN_OR_RETURN(Shape shape, FindShape(options.shape));
  ASSIGN_OR_RETURN(const TensorType type, FindType(options.type));
  TensorType embedding_type = EmbeddingType(type);
  if (!options.embedding_type.empty()) {
    ASSIGN_OR_RETURN(embedding_type, FindType(options.embedding_type));
  }
  if (options.layers > 0) {
    shape.layers = options.layers;
  }
  const std::string architecture =
      options.architecture.empty() ? shape.architecture : options.architecture;
  if (architecture == "llama") {
    shape.biases = false;
  }
  Maker maker(shape, type, embedding_type, options.seed);
  maker.AddKeys(architecture);
  RETURN_IF_ERROR(maker.AddTensors());
  return maker.writer().WriteTo(options.path);
}

}  // namespace ruvd::bench
