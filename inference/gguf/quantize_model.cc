// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/quantize_model.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/gguf/file_stream.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/writer.h"

namespace ruvd::inference {
namespace {

constexpr char kFileTypeKey[] = "general.file_type";
constexpr char kQuantizationVersionKey[] = "general.quantization_version";
// The version of the block layouts, unchanged since 2023 (ggml's GGML_QNT_VERSION).
constexpr uint32_t kQuantizationVersion = 2;
// Keys that describe the source's layout or get a new value.
constexpr std::array<std::string_view, 3> kReplacedKeys = {kFileTypeKey, kQuantizationVersionKey,
                                                           "general.alignment"};

template <typename... Args>
absl::Status Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

// '*' stands for any text; every other character stands for itself.
bool Matches(std::string_view pattern, std::string_view name) {
  size_t star = std::string_view::npos;
  size_t p = 0;
  size_t n = 0;
  size_t retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool IsLossy(TensorType type) {
  return BlockValues(type) > 1;
}

absl::Status CheckIsWholeModel(const GgufReader& source) {
  if (source.Has("general.type")) {
    ASSIGN_OR_RETURN(const std::string type, source.GetString("general.type"));
    if (type != "model") {
      return Refused("the file holds \"{}\", not a model; name a model file",
                     SanitizeForDisplay(type));
    }
  }
  if (source.Has("split.count")) {
    ASSIGN_OR_RETURN(const uint64_t parts, source.GetUnsigned("split.count"));
    if (parts > 1) {
      return Refused(
          "the file is one of {} parts of a model; join them with "
          "llama.cpp's `llama-gguf-split --merge`",
          parts);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelOutline> Outline(const GgufReader& source) {
  ModelOutline outline{.layers = 0, .has_output = source.Find("output.weight") != nullptr};
  ASSIGN_OR_RETURN(const std::string architecture, source.GetString("general.architecture"));
  const std::string key = architecture + ".block_count";
  if (source.Has(key)) {
    ASSIGN_OR_RETURN(outline.layers, source.GetUnsigned(key));
  }
  return outline;
}

TensorType MatrixType(const QuantizeModelOptions& options, const TensorInfo& tensor,
                      const ModelOutline& outline) {
  const bool embedding = tensor.name == "token_embd.weight";
  if (embedding && options.embedding_type) {
    return *options.embedding_type;
  }
  const bool output = tensor.name == "output.weight" || (embedding && !outline.has_output);
  return output && options.output_type ? *options.output_type
                                       : WantedType(options.scheme, tensor.name, outline);
}

absl::StatusOr<TensorPlan> PlanTensor(const TensorInfo& tensor, const QuantizeModelOptions& options,
                                      const ModelOutline& outline) {
  TensorPlan plan{.source = &tensor};
  const bool kept = std::ranges::any_of(
      options.keep, [&](const std::string& pattern) { return Matches(pattern, tensor.name); });
  if (kept) {
    plan.type = tensor.type;
  } else if (IsQuantizable(tensor)) {
    const TensorType wanted = MatrixType(options, tensor, outline);
    plan.type = FittingType(wanted, tensor.shape[0]);
    if (plan.type != wanted) {
      plan.instead_of = wanted;
    }
  }
  if (IsLossy(tensor.type) && plan.type != tensor.type && plan.type != TensorType::kF32 &&
      !options.allow_requantize) {
    return Refused(
        "tensor {} already has the format {}; converting it to {} would add a second rounding "
        "error: start from an F16 or BF16 file, or pass --allow-requantize",
        tensor.name, TensorTypeName(tensor.type), TensorTypeName(plan.type));
  }
  plan.bytes = tensor.values() / BlockValues(plan.type) * BlockBytes(plan.type);
  return plan;
}

GgufWriter NewHeader(const GgufReader& source, const QuantizeModelOptions& options,
                     const std::vector<TensorPlan>& plan) {
  GgufWriter writer;
  for (const std::string& key : source.Keys()) {
    if (std::ranges::find(kReplacedKeys, key) == kReplacedKeys.end()) {
      writer.SetRaw(key, *source.RawValue(key));
    }
  }
  writer.SetUnsigned32(kFileTypeKey, options.scheme.file_type);
  writer.SetUnsigned32(kQuantizationVersionKey, kQuantizationVersion);
  for (const TensorPlan& tensor : plan) {
    writer.DeclareTensor(tensor.source->name, tensor.type,
                         std::span(tensor.source->shape).first(tensor.source->dimensions));
  }
  return writer;
}

}  // namespace

absl::StatusOr<std::vector<TensorPlan>> PlanQuantization(const GgufReader& source,
                                                         const QuantizeModelOptions& options) {
  RETURN_IF_ERROR(CheckIsWholeModel(source));
  ASSIGN_OR_RETURN(const ModelOutline outline, Outline(source));
  for (const std::string& pattern : options.keep) {
    if (std::ranges::none_of(source.tensors(), [&](const TensorInfo& tensor) {
          return Matches(pattern, tensor.name);
        })) {
      return Refused("no tensor matches --keep \"{}\"; see `ruvd model inspect --tensors`",
                     pattern);
    }
  }
  std::vector<TensorPlan> plan;
  for (const TensorInfo& tensor : source.tensors()) {
    ASSIGN_OR_RETURN(TensorPlan planned, PlanTensor(tensor, options, outline));
    plan.push_back(planned);
  }
  return plan;
}

absl::StatusOr<uint64_t> QuantizeModel(const GgufReader& source,
                                       const QuantizeModelOptions& options,
                                       std::vector<TensorPlan>* plan, const std::string& path,
                                       ParallelRunner& runner, const QuantizeProgress& progress) {
  ASSIGN_OR_RETURN(const auto stream,
                   GgufFileStream::Create(path, NewHeader(source, options, *plan)));
  uint64_t total = 0;
  for (const TensorPlan& tensor : *plan) {
    total += tensor.source->bytes;
  }
  uint64_t done = 0;
  for (TensorPlan& tensor : *plan) {
    progress(done, total);
    const TensorInfo& info = *tensor.source;
    const ConversionSource from{.type = info.type,
                                .bytes = source.Data(info),
                                .columns = info.shape[0],
                                .rows = info.values() / info.shape[0],
                                .source_row = {}};
    const absl::Status status = ConvertTensor(
        from, tensor.type, runner,
        [&](std::span<const uint8_t> bytes) { return stream->Append(bytes); }, &tensor.error);
    if (!status.ok()) {
      return ReasonOf(status) == reasons::kInvalidArgument
                 ? Annotate(status, fmt::format("tensor {}", info.name))
                 : status;
    }
    source.ReleasePages(source.Data(info));
    done += info.bytes;
  }
  progress(done, total);
  RETURN_IF_ERROR(stream->Finish());
  return stream->size();
}

}  // namespace ruvd::inference
