// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Reads and writes frames as GGUF files.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/frame_set.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kKindKey[] = "ruvd.frame.kind";
constexpr char kModelHashKey[] = "ruvd.frame.model_hash";
constexpr char kIdKey[] = "ruvd.frame.id";
constexpr std::string_view kSuffixP = ".frame_p";
constexpr std::string_view kSuffixQ = ".frame_q";
constexpr std::string_view kSuffixFisher = ".frame_fisher";
// Largest error of inner products between vectors that were rounded to float32.
constexpr double kSkewLimit = 1e-3;

template <typename... Args>
absl::Status Broken(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kFrameMismatch,
               "the frame file is not usable: {}; make it again with `ruvd model frame`",
               fmt::format(what, std::forward<Args>(args)...));
}

absl::StatusOr<Digest> ReadDigest(const GgufReader& gguf, const char* key) {
  const auto hex = gguf.GetString(key);
  const auto raw = hex.ok() ? FromHex(*hex) : std::nullopt;
  Digest digest;
  if (!raw || raw->size() != digest.size()) {
    return Broken("{} is not a SHA-256 in hexadecimal", key);
  }
  std::memcpy(digest.data(), raw->data(), digest.size());
  return digest;
}

bool Orthonormal(const std::vector<float>& rows, size_t rank) {
  const size_t n = rows.size() / rank;
  for (size_t i = 0; i < rank; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (size_t k = 0; k < n; ++k) {
        dot += static_cast<double>(rows[i * n + k]) * static_cast<double>(rows[j * n + k]);
      }
      if (!(std::abs(dot - (i == j ? 1 : 0)) <= kSkewLimit)) {  // false for NaN
        return false;
      }
    }
  }
  return true;
}

std::vector<float> FloatsOf(const GgufReader& gguf, const TensorInfo& tensor) {
  const std::span<const uint8_t> data = gguf.Data(tensor);
  std::vector<float> values(data.size() / sizeof(float));
  std::memcpy(values.data(), data.data(), values.size() * sizeof(float));
  return values;
}

absl::StatusOr<std::vector<float>> ReadFactor(const GgufReader& gguf, const TensorInfo& tensor) {
  if (tensor.type != TensorType::kF32 || tensor.dimensions > 2 || tensor.shape[1] == 0 ||
      tensor.shape[1] > static_cast<uint64_t>(limits::kMaxAdapterRank) ||
      tensor.shape[0] < tensor.shape[1] || tensor.shape[0] > limits::kMaxAdapterDimension) {
    return Broken("tensor {} is not a float32 factor of rank 1 to {}",
                  SanitizeForDisplay(tensor.name), limits::kMaxAdapterRank);
  }
  std::vector<float> values = FloatsOf(gguf, tensor);
  if (!Orthonormal(values, tensor.shape[1])) {
    return Broken("the rows of tensor {} are not orthonormal", SanitizeForDisplay(tensor.name));
  }
  return values;
}

absl::StatusOr<std::vector<float>> ReadFisher(const GgufReader& gguf, const std::string& target,
                                              uint64_t rank) {
  const TensorInfo* const tensor = gguf.Find(target + std::string(kSuffixFisher));
  if (tensor == nullptr) {
    return Broken("{} has no tensor {}, but other layers do", SanitizeForDisplay(target),
                  kSuffixFisher);
  }
  if (tensor->type != TensorType::kF32 || tensor->dimensions > 2 || tensor->shape[0] != rank ||
      tensor->shape[1] != rank) {
    return Broken("tensor {} is not a float32 matrix of {} x {}", SanitizeForDisplay(tensor->name),
                  rank, rank);
  }
  std::vector<float> values = FloatsOf(gguf, *tensor);
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v) && v >= 0; })) {
    return Broken("tensor {} has a value that is below 0 or not finite",
                  SanitizeForDisplay(tensor->name));
  }
  return values;
}

absl::StatusOr<ModuleFrame> ReadModule(const GgufReader& gguf, const TensorInfo& p,
                                       const std::string& target, bool fisher) {
  const TensorInfo* q = gguf.Find(target + std::string(kSuffixQ));
  if (target.empty() || q == nullptr || q->shape[1] != p.shape[1]) {
    return Broken("tensor {} is not half of a pair {} and {} of one rank",
                  SanitizeForDisplay(p.name), kSuffixP, kSuffixQ);
  }
  ModuleFrame module;
  ASSIGN_OR_RETURN(module.p, ReadFactor(gguf, p));
  ASSIGN_OR_RETURN(module.q, ReadFactor(gguf, *q));
  if (fisher) {
    ASSIGN_OR_RETURN(module.fisher, ReadFisher(gguf, target, p.shape[1]));
  }
  module.rank = static_cast<int>(p.shape[1]);
  module.in = static_cast<int>(q->shape[0]);
  module.out = static_cast<int>(p.shape[0]);
  return module;
}

absl::Status ReadModules(const GgufReader& gguf, FrameSet* frame) {
  const auto ends_with = [](std::string_view suffix) {
    return [suffix](const TensorInfo& tensor) { return tensor.name.ends_with(suffix); };
  };
  const bool fisher = std::ranges::any_of(gguf.tensors(), ends_with(kSuffixFisher));
  const size_t each = fisher ? 3 : 2;
  const size_t layers =
      static_cast<size_t>(std::ranges::count_if(gguf.tensors(), ends_with(kSuffixP)));
  // Each layer's P finds its other tensors, so that this count leaves no others.
  if (layers == 0 || layers > limits::kMaxAdapterTargets ||
      layers * each != gguf.tensors().size()) {
    return Broken("it has {} tensors, not {} for each of 1 to {} layers", gguf.tensors().size(),
                  each, limits::kMaxAdapterTargets);
  }
  for (const TensorInfo& tensor : gguf.tensors()) {
    const std::string_view name = tensor.name;
    if (name.ends_with(kSuffixP)) {
      const std::string target(name.substr(0, name.size() - kSuffixP.size()));
      ASSIGN_OR_RETURN(ModuleFrame module, ReadModule(gguf, tensor, target, fisher));
      frame->modules.emplace(target, std::move(module));
    }
  }
  return absl::OkStatus();
}

void AddFactor(GgufWriter* out, const std::string& name, int length, int rank,
               const std::vector<float>& values) {
  const std::array<uint64_t, 2> shape = {static_cast<uint64_t>(length),
                                         static_cast<uint64_t>(rank)};
  out->AddTensor(
      name, TensorType::kF32, shape,
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

GgufWriter WriterOf(const FrameSet& frame) {
  GgufWriter out;
  out.SetString("general.type", "frame");
  out.SetString(kKindKey, FrameKindName(frame.kind));
  out.SetString(kModelHashKey, ToHex(frame.model_hash));
  out.SetString(kIdKey, ToHex(frame.id));
  for (const auto& [target, module] : frame.modules) {
    AddFactor(&out, target + std::string(kSuffixP), module.out, module.rank, module.p);
    AddFactor(&out, target + std::string(kSuffixQ), module.in, module.rank, module.q);
    if (!module.fisher.empty()) {
      AddFactor(&out, target + std::string(kSuffixFisher), module.rank, module.rank, module.fisher);
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::string> SerializeFrameSet(const FrameSet& frame) {
  return WriterOf(frame).Serialize();
}

absl::Status SaveFrameSet(const FrameSet& frame, const std::string& path) {
  return WriterOf(frame).WriteTo(path);
}

absl::StatusOr<FrameSet> ParseFrameSet(std::span<const uint8_t> bytes) {
  const auto opened = GgufReader::Parse(bytes);
  if (!opened.ok()) {
    return Broken("{}", MessageOf(opened.status()));
  }
  const GgufReader& gguf = **opened;
  if (gguf.GetString("general.type").value_or("") != "frame") {
    return Broken("general.type is not 'frame'");
  }
  const auto kind = FrameKindByName(gguf.GetString(kKindKey).value_or(""));
  if (!kind) {
    return Broken("{} is not cov, grad, svd or random", kKindKey);
  }
  FrameSet frame;
  frame.kind = *kind;
  ASSIGN_OR_RETURN(frame.model_hash, ReadDigest(gguf, kModelHashKey));
  ASSIGN_OR_RETURN(frame.id, ReadDigest(gguf, kIdKey));
  RETURN_IF_ERROR(ReadModules(gguf, &frame));
  if (ContentId(frame) != frame.id) {
    return Broken("its content is not what {} says", kIdKey);
  }
  return frame;
}

absl::StatusOr<FrameSet> LoadFrameSet(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxAdapterFileBytes));
  auto frame = ParseFrameSet(AsBytes(bytes));
  return frame.ok() ? std::move(frame) : Annotate(frame.status(), path);
}

}  // namespace ruvd::inference
