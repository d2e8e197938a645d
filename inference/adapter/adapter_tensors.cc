// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/limits.h"
#include "inference/gguf/half.h"
#include "inference/limits.h"
#include "inference/model/config.h"

namespace ruvd::inference::adapter_file {
namespace {

constexpr std::string_view kSuffixA = ".lora_a";
constexpr std::string_view kSuffixB = ".lora_b";

template <typename... Args>
absl::Status Broken(fmt::format_string<Args...> what, Args&&... args) {
  return BrokenFile(fmt::format(what, std::forward<Args>(args)...));
}

absl::StatusOr<Digest> ReadDigest(const GgufReader& gguf, const char* key, const Digest& absent) {
  if (!gguf.Has(key)) {
    return absent;
  }
  const auto hex = gguf.GetString(key);
  const auto raw = hex.ok() ? FromHex(*hex) : std::nullopt;
  Digest digest;
  if (!raw || raw->size() != digest.size()) {
    return Broken("{} is not a SHA-256 in hexadecimal", key);
  }
  std::memcpy(digest.data(), raw->data(), digest.size());
  return digest;
}

// Returns the tensor as float32. The format allows F32 and F16.
absl::StatusOr<std::vector<float>> ReadTensor(const GgufReader& gguf, const TensorInfo& tensor) {
  const std::span<const uint8_t> data = gguf.Data(tensor);
  std::vector<float> values;
  if (tensor.type == TensorType::kF32) {
    values.resize(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(float));
  } else if (tensor.type == TensorType::kF16) {
    values.resize(data.size() / sizeof(uint16_t));
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t half = 0;
      std::memcpy(&half, data.data() + i * sizeof half, sizeof half);
      values[i] = HalfToFloat(half);
    }
  } else {
    return Broken("tensor {} is {}, only F32 and F16 are allowed", SanitizeForDisplay(tensor.name),
                  TensorTypeName(tensor.type));
  }
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return Broken("tensor {} holds a value that is not finite", SanitizeForDisplay(tensor.name));
    }
  }
  return values;
}

constexpr std::string_view kFused = "attn_qkv.weight";

// Returns the rows of a matrix with a model's queries, keys and values below each other.
uint64_t FusedRows(const ModelConfig& config) {
  return static_cast<uint64_t>(config.heads + 2 * config.kv_heads) *
         static_cast<uint64_t>(config.head_size);
}

// Checks that the model has such a matrix, before any values of the tensors are read.
absl::Status CheckShape(const std::string& base, uint64_t in, uint64_t out, const Model& model) {
  if (base == "token_embd.weight") {
    return Broken("it changes token_embd.weight, and embeddings are not adapted here");
  }
  if (base.ends_with(kFused)) {
    const uint64_t rows = FusedRows(model.config());
    return out == rows ? absl::OkStatus()
                       : Broken("{} has {} rows, but the model's queries, keys and values have {}",
                                SanitizeForDisplay(base), out, rows);
  }
  const Matrix* matrix = FindMatrix(model, base);
  return matrix != nullptr && in == static_cast<uint64_t>(matrix->columns) &&
                 out == static_cast<uint64_t>(matrix->rows)
             ? absl::OkStatus()
             : Broken("it changes {} as {} x {}, which the model does not have",
                      SanitizeForDisplay(base), out, in);
}

absl::StatusOr<LowRank> ReadTarget(const GgufReader& gguf, const TensorInfo& a, double alpha,
                                   const std::string& base, const Model& model) {
  const TensorInfo* b =
      gguf.Find(a.name.substr(0, a.name.size() - kSuffixA.size()) + std::string(kSuffixB));
  if (b == nullptr) {
    return Broken("{}{} is missing", SanitizeForDisplay(base), kSuffixB);
  }
  const uint64_t rank = a.shape[1];
  // A trailing dimension of 1 may be missing, as for the A of rank 1.
  if (rank == 0 || a.dimensions > 2 || b->dimensions > 2 || b->shape[0] != rank ||
      rank > static_cast<uint64_t>(limits::kMaxAdapterRank) ||
      a.shape[0] > limits::kMaxAdapterDimension || b->shape[1] > limits::kMaxAdapterDimension) {
    return Broken("the shapes of {} do not make a low-rank product of rank 1 to {}",
                  SanitizeForDisplay(base), limits::kMaxAdapterRank);
  }
  RETURN_IF_ERROR(CheckShape(base, a.shape[0], b->shape[1], model));
  LowRank change;
  change.rank = static_cast<int>(rank);
  change.in = static_cast<int>(a.shape[0]);
  change.out = static_cast<int>(b->shape[1]);
  // As in llama.cpp, alpha 0 means that there is no factor.
  const double scale = alpha == 0 ? 1.0 : alpha / static_cast<double>(rank);
  if (!(std::abs(scale) <= std::numeric_limits<float>::max())) {
    return Broken("alpha {:g} divided by rank {} does not fit into a float32", alpha, rank);
  }
  change.scale = static_cast<float>(scale);
  ASSIGN_OR_RETURN(change.a, ReadTensor(gguf, a));
  ASSIGN_OR_RETURN(change.b, ReadTensor(gguf, *b));
  return change;
}

// Adds a target whose shape has been checked. In a file of llama.cpp, queries, keys and values may
// be one matrix: the rows of B are theirs below each other, and the A factor is the same for all
// three.
absl::Status AddTarget(const std::string& base, LowRank change, const Model& model,
                       Adapter* adapter) {
  const auto add = [&](const std::string& name, LowRank target) -> absl::Status {
    const bool added = adapter->targets.emplace(name, std::move(target)).second;
    return added ? absl::OkStatus() : Broken("it changes {} twice", SanitizeForDisplay(name));
  };
  if (!base.ends_with(kFused)) {
    return add(base, std::move(change));
  }
  const ModelConfig& config = model.config();
  const int q = config.heads * config.head_size;
  const int kv = config.kv_heads * config.head_size;
  const std::string block = base.substr(0, base.size() - kFused.size());
  auto row = change.b.begin();
  const std::pair<std::string_view, int> parts[] = {{"attn_q", q}, {"attn_k", kv}, {"attn_v", kv}};
  for (const auto& [part, rows] : parts) {
    LowRank third = change;
    third.out = rows;
    third.b.assign(row, row + static_cast<std::ptrdiff_t>(rows) * change.rank);
    row += static_cast<std::ptrdiff_t>(rows) * change.rank;
    RETURN_IF_ERROR(add(fmt::format("{}{}.weight", block, part), std::move(third)));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ReadAlpha(const GgufReader& gguf) {
  if (!gguf.Has(kAlphaKey)) {
    return 0.0;
  }
  const auto value = gguf.GetFloat(kAlphaKey);
  if (!value.ok()) {
    return Broken("{}", MessageOf(value.status()));
  }
  if (!std::isfinite(*value)) {
    return Broken("{} is not finite", kAlphaKey);
  }
  return *value;
}

void AddMatrix(GgufWriter* out, const std::string& name, TensorType type, size_t row, size_t rows,
               std::span<const float> values) {
  const std::array<uint64_t, 2> shape = {row, rows};
  if (type == TensorType::kF32) {
    out->AddTensor(name, type, shape,
                   std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
    return;
  }
  RUVD_CHECK(type == TensorType::kF16);
  std::vector<uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), FloatToHalf);
  out->AddTensor(
      name, type, shape,
      std::string(reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof(uint16_t)));
}

}  // namespace

absl::Status BrokenFile(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
               "the adapter file is not usable: {}; use a LoRA file made for this model", what);
}

absl::Status CheckHeader(const GgufReader& gguf, std::string_view type, const Model& model) {
  const std::pair<std::string_view, std::string_view> required[] = {
      {"general.type", "adapter"},
      {"adapter.type", type},
      {"general.architecture", ArchitectureName(model.config().architecture)},
  };
  for (const auto& [key, wanted] : required) {
    const auto value = gguf.GetString(key);
    if (!value.ok() || *value != wanted) {
      return Broken("{} is {}, not {}", key, value.ok() ? SanitizeForDisplay(*value) : "missing",
                    wanted);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadIdentity(const GgufReader& gguf, const Model& model, const std::string& name,
                          Adapter* adapter) {
  ASSIGN_OR_RETURN(adapter->model_hash, ReadDigest(gguf, kModelHashKey, model.hash()));
  ASSIGN_OR_RETURN(adapter->frame_id, ReadDigest(gguf, kFrameIdKey, Digest{}));
  if (gguf.Has(kKindKey)) {
    const auto kind = KindByName(gguf.GetString(kKindKey).value_or(""));
    if (!kind) {
      return Broken("{} is not a known kind of adapter", kKindKey);
    }
    adapter->kind = *kind;
  }
  adapter->name = name;
  if (const auto stored = gguf.GetString("general.name"); stored.ok() && !stored->empty()) {
    adapter->name = *stored;
  }
  // the name is sent in protobuf messages, which must be UTF-8
  adapter->name = ValidUtf8(adapter->name);
  if (adapter->name.size() > limits::kMaxAdapterNameBytes) {
    return Broken("its name is longer than {} bytes", limits::kMaxAdapterNameBytes);
  }
  if (gguf.Has(kVersionKey)) {
    const auto version = gguf.GetUnsigned(kVersionKey);
    if (!version.ok() || *version > limits::kMaxAdapterVersion) {
      return Broken("{} is not a number of at most {}", kVersionKey, limits::kMaxAdapterVersion);
    }
    adapter->version = static_cast<uint32_t>(*version);
  }
  return absl::OkStatus();
}

absl::Status ReadTargets(const GgufReader& gguf, std::string_view prefix, const Model& model,
                         Adapter* adapter) {
  // reports another model before shapes are compared
  RETURN_IF_ERROR(CheckAdapter(*adapter, model));
  ASSIGN_OR_RETURN(const double alpha, ReadAlpha(gguf));
  for (const TensorInfo& tensor : gguf.tensors()) {
    const std::string_view name = tensor.name;
    if (!name.starts_with(prefix) || name.ends_with(kSuffixB) || name.ends_with("_norm.weight")) {
      continue;  // B is read together with its A; norms are ignored
    }
    if (!name.ends_with(kSuffixA)) {
      return Broken("tensor {} is neither .lora_a nor .lora_b", SanitizeForDisplay(name));
    }
    const std::string base(
        name.substr(prefix.size(), name.size() - prefix.size() - kSuffixA.size()));
    ASSIGN_OR_RETURN(LowRank change, ReadTarget(gguf, tensor, alpha, base, model));
    RETURN_IF_ERROR(AddTarget(base, std::move(change), model, adapter));
    if (adapter->targets.size() > limits::kMaxAdapterTargets) {
      return Broken("there are more than {} targets", limits::kMaxAdapterTargets);
    }
  }
  if (adapter->targets.empty()) {
    return Broken("it has no {}*.lora_a tensor", prefix);
  }
  return absl::OkStatus();
}

void WriteIdentity(const Adapter& adapter, std::string_view type, const Model& model,
                   GgufWriter* out) {
  out->SetString("general.type", "adapter");
  out->SetString("general.architecture", ArchitectureName(model.config().architecture));
  out->SetString("general.name", adapter.name);
  out->SetString("adapter.type", type);
  out->SetString(kModelHashKey, ToHex(adapter.model_hash));
  out->SetUnsigned32(kVersionKey, adapter.version);
  if (adapter.kind != AdapterKind::kLora) {
    out->SetString(kKindKey, KindName(adapter.kind));
  }
  if (UsesFrame(adapter.kind)) {
    out->SetString(kFrameIdKey, ToHex(adapter.frame_id));
  }
}

float AlphaOf(const Adapter& adapter) {
  for (const auto& [name, change] : adapter.targets) {
    if (change.scale != 0) {
      return change.scale * static_cast<float>(change.rank);
    }
  }
  return 1.0F;  // 0 would mean "no factor" instead of "no change"
}

void WriteTargets(const Adapter& adapter, std::string_view prefix, float alpha, TensorType type,
                  GgufWriter* out) {
  for (const auto& [name, change] : adapter.targets) {
    const std::string base = std::string(prefix) + name;
    const auto rank = static_cast<size_t>(change.rank);
    AddMatrix(out, base + std::string(kSuffixA), type, static_cast<size_t>(change.in), rank,
              change.a);
    std::vector<float> b = change.b;
    const float factor = change.scale * static_cast<float>(change.rank) / alpha;
    for (float& value : b) {
      value *= factor;
    }
    AddMatrix(out, base + std::string(kSuffixB), type, rank, static_cast<size_t>(change.out), b);
  }
}

}  // namespace ruvd::inference::adapter_file
