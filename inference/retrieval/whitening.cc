// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/whitening.h"

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/types.h"
#include "inference/gguf/writer.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kType[] = "whitening";
constexpr char kModelHashKey[] = "ruvd.whitening.model_hash";
constexpr char kMeanName[] = "whitening.mean";
constexpr char kTransformName[] = "whitening.transform";

template <typename... Args>
absl::Status Broken(const std::string& path, fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
               "{} does not hold embedding statistics: {}; make it again with 'ruvd model "
               "whiten'",
               path, fmt::format(what, std::forward<Args>(args)...));
}

bool AllFinite(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return false;
    }
  }
  return true;
}

std::vector<double> MeanOf(std::span<const float> rows, size_t width) {
  std::vector<double> mean(width);
  for (size_t i = 0; i < rows.size(); ++i) {
    mean[i % width] += rows[i];
  }
  const size_t count = rows.size() / width;
  for (double& value : mean) {
    value /= static_cast<double>(count);
  }
  return mean;
}

// Returns the lower triangle of the covariance, in a full square matrix.
std::vector<double> CovarianceOf(std::span<const float> rows, std::span<const double> mean) {
  const size_t width = mean.size();
  std::vector<double> covariance(width * width);
  std::vector<double> centred(width);
  for (size_t row = 0; row < rows.size(); row += width) {
    for (size_t i = 0; i < width; ++i) {
      centred[i] = rows[row + i] - mean[i];
    }
    for (size_t i = 0; i < width; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        covariance[i * width + j] += centred[i] * centred[j];
      }
    }
  }
  const size_t count = rows.size() / width;
  RUVD_CHECK(count > 1);
  for (double& value : covariance) {
    value /= static_cast<double>(count - 1);
  }
  return covariance;
}

// Replaces the lower triangle of a positive definite matrix by its Cholesky factor.
void Factorise(std::vector<double>& matrix, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * width + j];
      for (size_t k = 0; k < j; ++k) {
        sum -= matrix[i * width + k] * matrix[j * width + k];
      }
      matrix[i * width + j] = i == j ? std::sqrt(sum) : sum / matrix[j * width + j];
    }
  }
}

// Returns the inverse of a lower triangular matrix, computed column by column.
std::vector<float> InverseOfLower(const std::vector<double>& lower, size_t width) {
  std::vector<float> inverse(width * width);
  std::vector<double> column(width);
  for (size_t c = 0; c < width; ++c) {
    for (size_t i = c; i < width; ++i) {
      double sum = i == c ? 1 : 0;
      for (size_t k = c; k < i; ++k) {
        sum -= lower[i * width + k] * column[k];
      }
      column[i] = sum / lower[i * width + i];
      inverse[i * width + c] = static_cast<float>(column[i]);
    }
  }
  return inverse;
}

absl::StatusOr<std::vector<float>> ReadTensor(const std::string& path, const GgufReader& gguf,
                                              std::string_view name,
                                              std::span<const uint64_t> shape) {
  const TensorInfo* tensor = gguf.Find(name);
  if (tensor == nullptr || tensor->type != TensorType::kF32 || tensor->dimensions != shape.size()) {
    return Broken(path, "there is no F32 tensor {} with {} dimensions", name, shape.size());
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (tensor->shape[i] != shape[i]) {
      return Broken(path, "{} has {} values in dimension {}, not {}", name, tensor->shape[i], i,
                    shape[i]);
    }
  }
  const std::span<const uint8_t> bytes = gguf.Data(*tensor);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  if (!AllFinite(values)) {
    return Broken(path, "{} holds a value that is not finite", name);
  }
  return values;
}

std::span<const uint8_t> BytesView(std::span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

std::string BytesOf(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

absl::StatusOr<Whitening> Whitening::Estimate(const Digest& model_hash, std::span<const float> rows,
                                              int width, float shrinkage) {
  if (width < 1 || width > limits::kMaxWhiteningWidth) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "embeddings of {} values cannot be whitened; 1 to {} are possible", width,
                 limits::kMaxWhiteningWidth);
  }
  if (!(shrinkage > 0) || shrinkage > 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a shrinkage of {} is not above 0 and at most 1", shrinkage);
  }
  const auto size = static_cast<size_t>(width);
  if (rows.size() % size != 0 || rows.size() < 2 * size || !AllFinite(rows)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} values do not form two or more finite embeddings of width {}", rows.size(),
                 width);
  }
  const std::vector<double> mean = MeanOf(rows, size);
  std::vector<double> covariance = CovarianceOf(rows, mean);
  double variance = 0;
  for (size_t i = 0; i < size; ++i) {
    variance += covariance[i * size + i] / static_cast<double>(width);
  }
  if (!(variance > 0)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the embeddings are all equal; give texts that differ");
  }
  for (double& value : covariance) {
    value *= 1 - static_cast<double>(shrinkage);
  }
  for (size_t i = 0; i < size; ++i) {
    covariance[i * size + i] += static_cast<double>(shrinkage) * variance;
  }
  Factorise(covariance, size);
  Whitening whitening(model_hash, width);
  whitening.mean_.assign(mean.begin(), mean.end());
  whitening.transform_ = InverseOfLower(covariance, size);
  if (!AllFinite(whitening.transform_)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the embeddings vary too little in some direction for a shrinkage of {}; use more",
                 shrinkage);
  }
  return whitening;
}

absl::StatusOr<Whitening> Whitening::Load(const std::string& path, const Digest& model_hash) {
  ASSIGN_OR_RETURN(const auto file, GgufReader::Open(path));
  return Read(*file, path, model_hash);
}

absl::StatusOr<Whitening> Whitening::Read(const GgufReader& file, const std::string& name,
                                          const Digest& model_hash) {
  const auto type = file.GetString("general.type");
  if (!type.ok() || *type != kType) {
    return Broken(name, "general.type is not {}", kType);
  }
  const auto hash = file.GetString(kModelHashKey);
  if (!hash.ok() || *hash != ToHex(model_hash)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "{} was not made for the model beside it ({}); make it again with 'ruvd model "
                 "whiten' or move it away",
                 name, ToHex(model_hash));
  }
  const TensorInfo* mean = file.Find(kMeanName);
  if (mean == nullptr || mean->shape[0] < 1 || mean->shape[0] > limits::kMaxWhiteningWidth) {
    return Broken(name, "{} is missing or its size is not 1 to {} values", kMeanName,
                  limits::kMaxWhiteningWidth);
  }
  const uint64_t width = mean->shape[0];
  Whitening whitening(model_hash, static_cast<int>(width));
  ASSIGN_OR_RETURN(whitening.mean_, ReadTensor(name, file, kMeanName, {{width}}));
  ASSIGN_OR_RETURN(whitening.transform_, ReadTensor(name, file, kTransformName, {{width, width}}));
  return whitening;
}

absl::StatusOr<std::string> Whitening::Serialize() const {
  GgufWriter writer;
  writer.SetString("general.type", kType);
  writer.SetString(kModelHashKey, ToHex(model_hash_));
  const auto width = static_cast<uint64_t>(width_);
  writer.AddTensor(kMeanName, TensorType::kF32, {{width}}, BytesOf(mean_));
  writer.AddTensor(kTransformName, TensorType::kF32, {{width, width}}, BytesOf(transform_));
  return writer.Serialize();
}

absl::Status Whitening::WriteTo(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string bytes, Serialize());
  return WriteFileAtomically(path, bytes);
}

std::vector<float> Whitening::Apply(std::span<const float> embedding) const {
  const auto width = static_cast<size_t>(width_);
  RUVD_CHECK(embedding.size() == width);
  std::vector<double> whitened(width);
  double squares = 0;
  for (size_t i = 0; i < width; ++i) {
    const float* row = transform_.data() + i * width;
    for (size_t j = 0; j <= i; ++j) {
      whitened[i] += static_cast<double>(row[j]) * (embedding[j] - mean_[j]);
    }
    squares += whitened[i] * whitened[i];
  }
  if (!(squares > 0)) {
    return {embedding.begin(), embedding.end()};
  }
  std::vector<float> unit(width);
  for (size_t i = 0; i < width; ++i) {
    unit[i] = static_cast<float>(whitened[i] / std::sqrt(squares));
  }
  return unit;
}

Digest Whitening::id() const {
  return Sha256({BytesView(mean_), BytesView(transform_)});
}

absl::StatusOr<std::vector<float>> EmbedText(Transformer& transformer,
                                             std::span<const TokenId> tokens,
                                             const Whitening* whitening) {
  ASSIGN_OR_RETURN(std::vector<float> embedding, EmbedTokens(transformer, tokens));
  return whitening == nullptr ? embedding : whitening->Apply(embedding);
}

}  // namespace ruvd::inference
