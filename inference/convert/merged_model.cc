// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/merged_model.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/convert_tensor.h"
#include "inference/gguf/file_stream.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/scheme.h"
#include "inference/gguf/writer.h"
#include "inference/model/config.h"

namespace ruvd::inference {
namespace {

using train::ChangeSet;
using train::Site;

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMaskId = "tokenizer.ggml.mask_token_id";
// Keys that are written anew, or that depend on the layout of the base.
constexpr std::array<std::string_view, 7> kReplacedKeys = {"general.architecture",
                                                           "general.alignment",
                                                           "diffusion.shift_logits",
                                                           "ruvd.block_length",
                                                           kMaskId,
                                                           kTokenTypes,
                                                           "general.file_type"};
constexpr size_t kRowGrain = 16;

bool IsReplaced(std::string_view key) {
  return std::ranges::find(kReplacedKeys, key) != kReplacedKeys.end();
}

absl::Status WriteTokenTypes(const GgufReader& base, TokenId mask, GgufWriter* out) {
  if (!base.Has(kTokenTypes)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> kinds, base.GetIntArray(kTokenTypes));
  std::vector<int32_t> written(kinds.begin(), kinds.end());
  RUVD_CHECK(mask < written.size());
  written[mask] = static_cast<int32_t>(TokenKind::kControl);
  out->SetInt32Array(kTokenTypes, written);
  return absl::OkStatus();
}

// Writes the base's keys under "dream". attention.sliding_window is dropped: the base was accepted
// only if its window hides nothing.
absl::Status WriteKeys(const GgufReader& base, std::string_view architecture,
                       const MergedModelOptions& options, GgufWriter* out) {
  const std::string_view dream = ArchitectureName(Architecture::kDream);
  const std::string prefix = fmt::format("{}.", architecture);
  out->SetString("general.architecture", dream);
  for (const std::string& key : base.Keys()) {
    const bool own = key.starts_with(prefix);
    const std::string_view below = own ? std::string_view(key).substr(prefix.size()) : "";
    if (IsReplaced(key) || below == "attention.causal" || below == "attention.sliding_window") {
      continue;
    }
    out->SetRaw(own ? fmt::format("{}.{}", dream, below) : key, *base.RawValue(key));
  }
  out->SetBool(fmt::format("{}.attention.causal", dream), false);
  out->SetBool("diffusion.shift_logits", true);
  out->SetUnsigned32("ruvd.block_length", static_cast<uint32_t>(options.block_length));
  out->SetUnsigned32(kMaskId, options.mask);
  RETURN_IF_ERROR(WriteTokenTypes(base, options.mask, out));
  if (!options.type.empty()) {
    ASSIGN_OR_RETURN(const QuantizationScheme scheme, ParseQuantizationScheme(options.type));
    out->SetUnsigned32("general.file_type", scheme.file_type);
  } else if (const gguf::Value* type = base.RawValue("general.file_type"); type != nullptr) {
    out->SetRaw("general.file_type", *type);
  }
  return absl::OkStatus();
}

// Adds the change: W + scale B A.
void AddChange(const ChangeSet<float>& changes, const ChangeSet<float>::Entry& entry,
               ParallelRunner& runner, std::span<float> w) {
  const train::ChangeSpec<float>& spec = entry.change.spec();
  RUVD_CHECK(spec.kind == train::ChangeKind::kLora && !entry.placement.bank &&
             w.size() == spec.in * spec.out);
  const std::span<const float> parameters = changes.ParametersOf(entry);
  const std::span<const float> a = parameters.first(spec.rank * spec.in);
  const std::span<const float> b = parameters.last(spec.out * spec.rank);
  runner.For(spec.out, kRowGrain, [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o) {
      float* row = w.data() + o * spec.in;
      for (size_t r = 0; r < spec.rank; ++r) {
        const float factor = spec.scale * b[o * spec.rank + r];
        for (size_t i = 0; i < spec.in; ++i) {
          row[i] += factor * a[r * spec.in + i];
        }
      }
    }
  });
}

std::span<const uint8_t> Bytes(std::span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// Writes the tensors of one file in order.
class TensorMerger {
 public:
  TensorMerger(const GgufReader& base, const ModelConfig& config, const ChangeSet<float>& changes,
               GgufFileStream* out, ParallelRunner& runner)
      : base_(base), changes_(changes), out_(out), runner_(runner) {
    for (const Site& site : train::SitesFrom(config, 0, true)) {
      sites_.emplace_back(train::TensorOf(site), site);
    }
  }

  absl::Status Write(const TensorPlan& plan) {
    const auto site = std::ranges::find(sites_, plan.source->name, &Named::first);
    if (site != sites_.end() && !changes_.At(site->second).empty()) {
      return WriteChanged(plan, site->second);
    }
    if (plan.source->name == kEmbedding && changes_.row()) {
      return WriteEmbedding(plan);
    }
    const TensorInfo& info = *plan.source;
    return Convert(info.type, base_.Data(info), info.shape[0], plan.type);
  }

 private:
  using Named = std::pair<std::string, Site>;

  absl::Status Convert(TensorType from, std::span<const uint8_t> bytes, uint64_t columns,
                       TensorType to) {
    const uint64_t row = columns / BlockValues(from) * BlockBytes(from);
    ConversionError ignored;
    return bytes.empty()
               ? absl::OkStatus()
               : ConvertTensor(
                     {.type = from,
                      .bytes = bytes,
                      .columns = columns,
                      .rows = bytes.size() / row,
                      .source_row = {}},
                     to, runner_,
                     [&](std::span<const uint8_t> piece) { return out_->Append(piece); }, &ignored);
  }

  absl::Status WriteChanged(const TensorPlan& plan, const Site& site) {
    const TensorInfo& info = *plan.source;
    std::vector<float> w(info.values());
    RETURN_IF_ERROR(Dequantize(info.type, base_.Data(info), w));
    for (const size_t at : changes_.At(site)) {
      AddChange(changes_, changes_.entries()[at], runner_, w);
    }
    return Convert(TensorType::kF32, Bytes(w), info.shape[0], plan.type);
  }

  // A row consists of whole blocks, so the other rows stay as they are.
  absl::Status WriteEmbedding(const TensorPlan& plan) {
    const TensorInfo& info = *plan.source;
    const std::span<const uint8_t> bytes = base_.Data(info);
    const uint64_t row = info.shape[0] / BlockValues(info.type) * BlockBytes(info.type);
    const uint64_t begin = row * changes_.row()->token;
    RETURN_IF_ERROR(Convert(info.type, bytes.first(begin), info.shape[0], plan.type));
    RETURN_IF_ERROR(
        Convert(TensorType::kF32, Bytes(changes_.RowParameters()), info.shape[0], plan.type));
    return Convert(info.type, bytes.subspan(begin + row), info.shape[0], plan.type);
  }

  const GgufReader& base_;
  const ChangeSet<float>& changes_;
  GgufFileStream* out_;
  ParallelRunner& runner_;
  std::vector<Named> sites_;
};

}  // namespace

absl::StatusOr<std::vector<TensorPlan>> PlanMergedModel(const GgufReader& base,
                                                        const MergedModelOptions& options) {
  if (!options.type.empty()) {
    QuantizeModelOptions quantize{.allow_requantize = true};
    ASSIGN_OR_RETURN(quantize.scheme, ParseQuantizationScheme(options.type));
    return PlanQuantization(base, quantize);
  }
  std::vector<TensorPlan> plan;
  for (const TensorInfo& tensor : base.tensors()) {
    plan.push_back({.source = &tensor, .type = tensor.type, .bytes = tensor.bytes});
  }
  return plan;
}

absl::StatusOr<uint64_t> WriteMergedModel(const GgufReader& base, const ModelConfig& config,
                                          const ChangeSet<float>& changes,
                                          const MergedModelOptions& options,
                                          const std::string& path, ParallelRunner& runner) {
  ASSIGN_OR_RETURN(const std::vector<TensorPlan> plan, PlanMergedModel(base, options));
  GgufWriter header;
  RETURN_IF_ERROR(WriteKeys(base, ArchitectureName(config.architecture), options, &header));
  for (const TensorPlan& tensor : plan) {
    header.DeclareTensor(tensor.source->name, tensor.type,
                         std::span(tensor.source->shape).first(tensor.source->dimensions));
  }
  ASSIGN_OR_RETURN(const auto stream, GgufFileStream::Create(path, header));
  TensorMerger merger(base, config, changes, stream.get(), runner);
  for (const TensorPlan& tensor : plan) {
    const absl::Status status = merger.Write(tensor);
    if (!status.ok()) {
      return ReasonOf(status) == reasons::kInvalidArgument
                 ? Annotate(status, fmt::format("tensor {}", tensor.source->name))
                 : status;
    }
    base.ReleasePages(base.Data(*tensor.source));
  }
  RETURN_IF_ERROR(stream->Finish());
  return stream->size();
}

}  // namespace ruvd::inference
