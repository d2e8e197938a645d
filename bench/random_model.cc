// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/random_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/random_vocabulary.h"
#include "inference/gguf/file_stream.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/scheme.h"
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

absl::StatusOr<Shape> FindShape(std::string_view name) {
  for (const Shape& shape : kShapes) {
    if (name == shape.name) {
      return shape;
    }
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "no shape \"{}\"; there are {}", name, fmt::join(ShapeNames(), ", "));
}

// One tensor to be made: a matrix of the given format, or a vector (rows = 0) of F32 values around
// `centre`.
struct Planned {
  std::string name;
  inference::TensorType type = inference::TensorType::kF32;
  int rows = 0;
  int columns = 0;
  float centre = 0;
};

// Which tensors the file has and in which formats, in the order of the file.
class Plan {
 public:
  Plan(const Shape& shape, const inference::QuantizationScheme& scheme)
      : shape_(shape), scheme_(scheme) {
    AddMatrix("token_embd.weight", shape.vocabulary, shape.width);
    AddVector("output_norm.weight", shape.width, 1);
    for (int i = 0; i < shape.layers; ++i) {
      AddLayer(fmt::format("blk.{}.", i));
    }
  }

  const std::vector<Planned>& tensors() const { return tensors_; }

 private:
  void AddMatrix(const std::string& name, int rows, int columns) {
    const inference::ModelOutline outline{.layers = static_cast<uint64_t>(shape_.layers)};
    const inference::TensorType type =
        FittingType(inference::WantedType(scheme_, name, outline), static_cast<uint64_t>(columns));
    tensors_.push_back({.name = name, .type = type, .rows = rows, .columns = columns});
  }
  void AddVector(const std::string& name, int length, float centre) {
    tensors_.push_back({.name = name, .columns = length, .centre = centre});
  }
  void AddLayer(const std::string& blk) {
    const int q = shape_.heads * shape_.head_size;
    const int kv = shape_.kv_heads * shape_.head_size;
    AddVector(blk + "attn_norm.weight", shape_.width, 1);
    AddMatrix(blk + "attn_q.weight", q, shape_.width);
    AddMatrix(blk + "attn_k.weight", kv, shape_.width);
    AddMatrix(blk + "attn_v.weight", kv, shape_.width);
    if (shape_.biases) {
      AddVector(blk + "attn_q.bias", q, 0);
      AddVector(blk + "attn_k.bias", kv, 0);
      AddVector(blk + "attn_v.bias", kv, 0);
    }
    AddMatrix(blk + "attn_output.weight", shape_.width, q);
    AddVector(blk + "ffn_norm.weight", shape_.width, 1);
    AddMatrix(blk + "ffn_gate.weight", shape_.ffn, shape_.width);
    AddMatrix(blk + "ffn_up.weight", shape_.ffn, shape_.width);
    AddMatrix(blk + "ffn_down.weight", shape_.width, shape_.ffn);
  }

  const Shape& shape_;
  const inference::QuantizationScheme& scheme_;
  std::vector<Planned> tensors_;
};

// Draws the tensors' values. A row of a matrix is a random piece of one pool of normal numbers,
// scaled to keep activations' size: drawing each value would take longer than quantising it.
class Weights {
 public:
  explicit Weights(uint64_t seed) : random_(seed), pool_(kPoolValues) {
    for (float& value : pool_) {
      value = static_cast<float>(random_.Normal());
    }
  }

  absl::Status Write(const Planned& tensor, inference::GgufFileStream* file) {
    const auto columns = static_cast<size_t>(tensor.columns);
    std::vector<float> row(columns);
    std::vector<uint8_t> bytes(columns / inference::BlockValues(tensor.type) *
                               BlockBytes(tensor.type));
    for (int i = 0; i < std::max(tensor.rows, 1); ++i) {
      const float spread =
          tensor.rows == 0 ? kVectorSpread : 1 / std::sqrt(static_cast<float>(columns));
      const float* piece = pool_.data() + random_.Below(kPoolValues - columns);
      std::transform(piece, piece + columns, row.begin(),
                     [&](float x) { return tensor.centre + x * spread; });
      RETURN_IF_ERROR(inference::QuantizeInto(tensor.type, row, bytes));
      RETURN_IF_ERROR(file->Append(bytes));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kPoolValues = size_t{1} << 22;
  static constexpr float kVectorSpread = 0.1F;
  Random random_;
  std::vector<float> pool_;
};

void SetKeys(const Shape& shape, std::string_view architecture, uint32_t file_type,
             inference::GgufWriter* writer) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", architecture, name); };
  const auto set = [&](std::string_view name, int value) {
    writer->SetUnsigned32(key(name), static_cast<uint32_t>(value));
  };
  writer->SetString("general.architecture", architecture);
  writer->SetString("general.name", fmt::format("random-{}", shape.name));
  writer->SetUnsigned32("general.file_type", file_type);
  set("block_count", shape.layers);
  set("context_length", shape.context);
  set("embedding_length", shape.width);
  set("feed_forward_length", shape.ffn);
  set("attention.head_count", shape.heads);
  set("attention.head_count_kv", shape.kv_heads);
  set("vocab_size", shape.vocabulary);
  set("rope.dimension_count", shape.head_size);
  writer->SetFloat32(key("attention.layer_norm_rms_epsilon"), shape.rms_epsilon);
  writer->SetFloat32(key("rope.freq_base"), shape.rope_base);
  writer->SetBool("diffusion.shift_logits", true);
  if (shape.block_length > 0) {
    writer->SetUnsigned32("ruvd.block_length", static_cast<uint32_t>(shape.block_length));
  }
  AddVocabulary(static_cast<size_t>(shape.vocabulary), writer);
}

absl::Status WriteFile(const std::string& path, inference::GgufWriter writer, const Plan& plan,
                       uint64_t seed) {
  for (const Planned& tensor : plan.tensors()) {
    const uint64_t extents[] = {static_cast<uint64_t>(tensor.columns),
                                static_cast<uint64_t>(tensor.rows)};
    writer.DeclareTensor(tensor.name, tensor.type, std::span(extents, tensor.rows == 0 ? 1 : 2));
  }
  ASSIGN_OR_RETURN(const auto file, inference::GgufFileStream::Create(path, writer));
  Weights weights(seed);
  for (const Planned& tensor : plan.tensors()) {
    RETURN_IF_ERROR(weights.Write(tensor, file.get()));
  }
  return file->Finish();
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
  ASSIGN_OR_RETURN(const inference::QuantizationScheme scheme,
                   inference::ParseQuantizationScheme(options.type));
  if (options.layers > 0) {
    shape.layers = options.layers;
  }
  const std::string architecture =
      options.architecture.empty() ? shape.architecture : options.architecture;
  if (architecture == "llama") {
    shape.biases = false;
  }
  inference::GgufWriter writer;
  SetKeys(shape, architecture, scheme.file_type, &writer);
  return WriteFile(options.path, std::move(writer), Plan(shape, scheme), options.seed);
}

}  // namespace ruvd::bench
