// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/kernels/kernel_table.h"
#include "inference/kernels/packed.h"
#include "inference/limits.h"
#include "inference/memory/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kType[] = "token-memory";
constexpr char kModelHashKey[] = "ruvd.memory.model_hash";
constexpr char kMeanName[] = "memory.mean";
constexpr char kProjectionName[] = "memory.projection";
constexpr char kScoreName[] = "memory.score";
constexpr char kPublicName[] = "memory.public_log_frequency";
constexpr char kMaskedName[] = "memory.gate.masked";
constexpr char kCausalName[] = "memory.gate.causal";
// temperature, left, right, both, surprise, timestep
constexpr size_t kScoreValues = 1 + kMemoryLeft + kMemoryRight + 3;
constexpr float kLeastProbability = 1e-4F;
// Cosines over a smaller temperature would leave the range in which sums of exp(score) are exact.
constexpr float kLeastTemperature = 0.02F;
constexpr float kLargestTemperature = 10;
constexpr float kLargestBonus = 10;
// exp(score - bound) of scores near zero must not underflow.
constexpr float kLargestScore = 80;

template <typename... Args>
absl::Status Broken(const std::string& path, fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
               "{} does not hold the parameters of a token memory: {}; make it again with `ruvd "
               "model memory`",
               path, fmt::format(what, std::forward<Args>(args)...));
}

std::array<float, kScoreValues> ScoreValues(const MemoryParameters& p) {
  std::array<float, kScoreValues> values{};
  auto next = values.begin();
  *next++ = p.temperature;
  next = std::ranges::copy(p.left, next).out;
  next = std::ranges::copy(p.right, next).out;
  for (const float value : {p.both, p.surprise, p.timestep}) {
    *next++ = value;
  }
  return values;
}

void SetScoreValues(std::span<const float> values, MemoryParameters* p) {
  p->temperature = values[0];
  std::ranges::copy(values.subspan(1, kMemoryLeft), p->left.begin());
  std::ranges::copy(values.subspan(1 + kMemoryLeft, kMemoryRight), p->right.begin());
  const std::span<const float> rest = values.subspan(1 + kMemoryLeft + kMemoryRight);
  p->both = rest[0];
  p->surprise = rest[1];
  p->timestep = rest[2];
}

bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

std::span<const uint8_t> BytesView(std::span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// Reads a tensor of one of the formats whose blocks are single values.
absl::StatusOr<std::vector<float>> ReadTensor(const std::string& path, const GgufReader& gguf,
                                              std::string_view name, TensorType type,
                                              std::vector<uint64_t> shape) {
  const TensorInfo* tensor = gguf.Find(name);
  if (tensor == nullptr || tensor->type != type || tensor->dimensions != shape.size() ||
      !std::equal(shape.begin(), shape.end(), tensor->shape.begin())) {
    return Broken(path, "the tensor {} is missing or has another type or shape", name);
  }
  const std::span<const uint8_t> bytes = gguf.Data(*tensor);
  std::vector<float> values(bytes.size() / BlockBytes(type));
  RETURN_IF_ERROR(Dequantize(type, bytes, values));
  return values;
}

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the parameters of the token memory are not valid: {}", what);
}

}  // namespace

float MemoryParameters::ScoreBound() const {
  float bound = 1 / temperature + std::max(0.0F, both);
  for (const float bonus : left) {
    bound += std::max(0.0F, bonus);
  }
  for (const float bonus : right) {
    bound += std::max(0.0F, bonus);
  }
  return bound + std::max(0.0F, surprise * std::log(kLeastProbability)) + std::max(0.0F, timestep);
}

void MemoryParameters::ComputeKeys(std::span<const float> hidden, std::span<float> keys) const {
  const auto columns = static_cast<size_t>(width);
  const auto values = static_cast<size_t>(dimension);
  const size_t rows = hidden.size() / columns;
  RUVD_CHECK(hidden.size() == rows * columns && keys.size() == rows * values);
  std::vector<float> centred(hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i) {
    centred[i] = hidden[i] - mean[i % columns];
  }
  Kernels().multiply_abt({.a = centred.data(),
                          .a_stride = columns,
                          .rows = rows,
                          .b = reinterpret_cast<const uint8_t*>(projection.data()),
                          .b_stride = columns * sizeof(float),
                          .b_type = TensorType::kF32,
                          .outputs = values,
                          .columns = columns,
                          .y = keys.data(),
                          .y_stride = values});
  for (size_t row = 0; row < rows; ++row) {
    const std::span<float> key = keys.subspan(row * values, values);
    double squares = 0;
    for (const float value : key) {
      squares += static_cast<double>(value) * value;
    }
    // A length of zero, too, gives NaN.
    const auto inverse = static_cast<float>(1 / std::sqrt(squares));
    for (float& value : key) {
      value = squares > 0 && std::isfinite(squares) && std::isfinite(inverse) ? value * inverse
                                                                              : std::nanf("");
    }
  }
}

float MemoryParameters::BiasOf(float probability, float t) const {
  return surprise * std::log(std::max(probability, kLeastProbability)) + timestep * t;
}

absl::Status MemoryParameters::Check() const {
  if (width < 1 || width > limits::kMaxWhiteningWidth || dimension < 1 ||
      dimension > limits::kMaxMemoryKey || dimension % static_cast<int>(kBlockColumns) != 0) {
    return Invalid(fmt::format("a width of {} or keys of {} values", width, dimension));
  }
  if (mean.size() != static_cast<size_t>(width) ||
      projection.size() != static_cast<size_t>(width) * static_cast<size_t>(dimension) ||
      public_log_frequency.empty()) {
    return Invalid("a part has the wrong size");
  }
  const std::array<float, kScoreValues> score = ScoreValues(*this);
  const auto masked = masked_gate.Flatten();
  const auto causal = causal_gate.Flatten();
  for (const std::span<const float> part :
       {std::span<const float>(mean), std::span<const float>(projection),
        std::span<const float>(public_log_frequency), std::span<const float>(score),
        std::span<const float>(masked), std::span<const float>(causal)}) {
    if (!AllFinite(part)) {
      return Invalid("a value is not finite");
    }
  }
  if (temperature < kLeastTemperature || temperature > kLargestTemperature) {
    return Invalid(fmt::format("a temperature of {} is outside {} to {}", temperature,
                               kLeastTemperature, kLargestTemperature));
  }
  if (std::ranges::any_of(std::span(score).subspan(1),
                          [](float value) { return std::abs(value) > kLargestBonus; })) {
    return Invalid(fmt::format("a bonus or bias is larger than {}", kLargestBonus));
  }
  if (ScoreBound() > kLargestScore) {
    return Invalid(fmt::format("temperature, bonuses and biases allow scores up to {}, above {}",
                               ScoreBound(), kLargestScore));
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryParameters> MemoryParameters::Load(const std::string& path,
                                                        const Digest& model_hash) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxMemoryParameterBytes));
  return Parse(bytes, path, model_hash);
}

absl::StatusOr<MemoryParameters> MemoryParameters::Parse(std::string_view bytes,
                                                         const std::string& path,
                                                         const Digest& model_hash) {
  ASSIGN_OR_RETURN(const auto gguf, GgufReader::Parse(AsBytes(bytes)));
  const auto type = gguf->GetString("general.type");
  if (!type.ok() || *type != kType) {
    return Broken(path, "general.type is not {}", kType);
  }
  const auto hash = gguf->GetString(kModelHashKey);
  if (!hash.ok() || *hash != ToHex(model_hash)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "{} was not made for the model beside it ({}); make it again with `ruvd model "
                 "memory` or move it away",
                 path, ToHex(model_hash));
  }
  MemoryParameters p{.model_hash = model_hash};
  const TensorInfo* projection = gguf->Find(kProjectionName);
  const TensorInfo* frequency = gguf->Find(kPublicName);
  if (projection == nullptr || projection->dimensions != 2 || frequency == nullptr ||
      projection->shape[0] > static_cast<uint64_t>(limits::kMaxWhiteningWidth) ||
      projection->shape[1] > static_cast<uint64_t>(limits::kMaxMemoryKey)) {
    return Broken(path, "{} or {} is missing or too large", kProjectionName, kPublicName);
  }
  const uint64_t width = projection->shape[0];
  const uint64_t dimension = projection->shape[1];
  p.width = static_cast<int>(width);
  p.dimension = static_cast<int>(dimension);
  ASSIGN_OR_RETURN(p.mean, ReadTensor(path, *gguf, kMeanName, TensorType::kF32, {width}));
  ASSIGN_OR_RETURN(p.projection,
                   ReadTensor(path, *gguf, kProjectionName, TensorType::kF16, {width, dimension}));
  ASSIGN_OR_RETURN(p.public_log_frequency,
                   ReadTensor(path, *gguf, kPublicName, TensorType::kF16, {frequency->shape[0]}));
  ASSIGN_OR_RETURN(const std::vector<float> score,
                   ReadTensor(path, *gguf, kScoreName, TensorType::kF32, {kScoreValues}));
  SetScoreValues(score, &p);
  const auto read_gate = [&](const char* name, MemoryGate* gate) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<float> values,
                     ReadTensor(path, *gguf, name, TensorType::kF32, {MemoryGate::kParameters}));
    *gate = MemoryGate::FromFlat(
        std::span<const float, MemoryGate::kParameters>(values.data(), values.size()));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(read_gate(kMaskedName, &p.masked_gate));
  RETURN_IF_ERROR(read_gate(kCausalName, &p.causal_gate));
  if (const absl::Status valid = p.Check(); !valid.ok()) {
    return Broken(path, "{}", MessageOf(valid));
  }
  return p;
}

absl::StatusOr<std::string> MemoryParameters::Serialize() const {
  RETURN_IF_ERROR(Check());
  GgufWriter writer;
  writer.SetString("general.type", kType);
  writer.SetString(kModelHashKey, ToHex(model_hash));
  const auto add = [&writer](const char* name, TensorType type, std::vector<uint64_t> shape,
                             std::span<const float> values) -> absl::Status {
    ASSIGN_OR_RETURN(std::string bytes, Quantize(type, values));
    writer.AddTensor(name, type, shape, std::move(bytes));
    return absl::OkStatus();
  };
  const auto columns = static_cast<uint64_t>(width);
  const auto score = ScoreValues(*this);
  const auto masked = masked_gate.Flatten();
  const auto causal = causal_gate.Flatten();
  RETURN_IF_ERROR(add(kMeanName, TensorType::kF32, {columns}, mean));
  RETURN_IF_ERROR(add(kProjectionName, TensorType::kF16,
                      {columns, static_cast<uint64_t>(dimension)}, projection));
  RETURN_IF_ERROR(add(kScoreName, TensorType::kF32, {kScoreValues}, score));
  RETURN_IF_ERROR(
      add(kPublicName, TensorType::kF16, {public_log_frequency.size()}, public_log_frequency));
  RETURN_IF_ERROR(add(kMaskedName, TensorType::kF32, {MemoryGate::kParameters}, masked));
  RETURN_IF_ERROR(add(kCausalName, TensorType::kF32, {MemoryGate::kParameters}, causal));
  return writer.Serialize();
}

absl::Status MemoryParameters::WriteTo(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string bytes, Serialize());
  return WriteFileAtomically(path, bytes);
}

Digest MemoryParameters::EntryId() const {
  const std::vector<float> factors = {surprise, timestep};
  return Sha256({model_hash, BytesView(mean), BytesView(projection), BytesView(factors)});
}

}  // namespace ruvd::inference
