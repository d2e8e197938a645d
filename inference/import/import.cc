// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/convert_tensor.h"
#include "inference/gguf/file_stream.h"
#include "inference/gguf/writer.h"
#include "inference/import/hf_config.h"
#include "inference/import/hf_tokenizer.h"
#include "inference/import/hf_tokenizer_config.h"
#include "inference/import/hf_weights.h"
#include "inference/import/limits.h"
#include "inference/import/metadata.h"
#include "inference/import/tensor_plan.h"
#include "inference/tokenizer/limits.h"

namespace ruvd::inference {
namespace {

constexpr std::string_view kArchitectures[] = {"dream", "llada", "llama", "qwen2", "qwen3"};

// Returns the architecture to write: the wanted one if it computes the same network.
absl::StatusOr<std::string> Architecture(const ImportOptions& options, const HfConfig& config) {
  const std::string& wanted = options.architecture;
  if (wanted.empty() || wanted == config.architecture) {
    return config.architecture;
  }
  bool known = false;
  for (const std::string_view name : kArchitectures) {
    known = known || wanted == name;
  }
  const bool same_network = wanted != "qwen3" && config.architecture != "qwen3";
  const bool llama3 = config.rope_scaling.kind == HfRopeScaling::Kind::kLlama3;
  if (!known || !same_network || llama3) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a {} network cannot be written as the architecture \"{}\"; {}",
                 config.architecture, wanted,
                 same_network && !llama3 ? "use dream, llada, llama or qwen2" : "leave --arch out");
  }
  return wanted;
}

ConversionSource SourceOf(const ImportedTensor& tensor) {
  ConversionSource source;
  if (tensor.source == nullptr) {
    source.bytes = {reinterpret_cast<const uint8_t*>(tensor.computed.data()),
                    tensor.computed.size() * sizeof(float)};
  } else {
    source.type = tensor.source->type;
    source.bytes = tensor.source->bytes;
  }
  source.columns = tensor.shape[0];
  source.rows = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  if (tensor.permuted_head > 0) {
    if (tensor.shape.size() == 1) {  // a bias: its values are the rows
      std::swap(source.columns, source.rows);
    }
    source.source_row = [&tensor](uint64_t row) { return tensor.SourceRow(row); };
  }
  return source;
}

absl::Status WriteTensors(const std::vector<ImportedTensor>& plan, ParallelRunner& runner,
                          GgufFileStream* stream, ImportResult* result) {
  for (const ImportedTensor& tensor : plan) {
    const ConversionSource source = SourceOf(tensor);
    ConversionError ignored;
    const absl::Status status = ConvertTensor(
        source, tensor.type, runner,
        [&](std::span<const uint8_t> bytes) { return stream->Append(bytes); }, &ignored);
    if (!status.ok()) {
      return ReasonOf(status) == reasons::kInvalidArgument
                 ? Annotate(status, fmt::format("tensor {}", tensor.name))
                 : status;
    }
    ++result->tensors;
    result->parameters += source.columns * source.rows;
  }
  return absl::OkStatus();
}

// Reads an optional file. Returns nullopt if the folder does not have it.
absl::StatusOr<std::optional<std::string>> ReadOptional(const std::filesystem::path& path,
                                                        uint64_t max_bytes) {
  std::error_code ignored;  // a file that cannot be accessed counts as absent
  if (!std::filesystem::exists(path, ignored)) {
    return std::optional<std::string>();
  }
  ASSIGN_OR_RETURN(std::string text, ReadFile(path.string(), max_bytes));
  return std::optional<std::string>(std::move(text));
}

// Reads config.json, tokenizer.json and, if they exist, tokenizer_config.json and
// chat_template.jinja. The latter is the newer place of the template and takes precedence.
absl::Status ReadTexts(const std::filesystem::path& base, HfConfig* config,
                       HfTokenizer* tokenizer) {
  ASSIGN_OR_RETURN(const std::string config_text,
                   ReadFile((base / "config.json").string(), limits::kMaxImportConfigBytes));
  ASSIGN_OR_RETURN(*config, ParseHfConfig(config_text));
  ASSIGN_OR_RETURN(const std::string tokenizer_text,
                   ReadFile((base / "tokenizer.json").string(), limits::kMaxImportTokenizerBytes));
  ASSIGN_OR_RETURN(*tokenizer, ParseHfTokenizer(tokenizer_text, config->vocabulary));
  ASSIGN_OR_RETURN(const auto jinja,
                   ReadOptional(base / "chat_template.jinja", limits::kMaxChatTemplateBytes));
  tokenizer->chat_template = jinja.value_or("");
  ASSIGN_OR_RETURN(const auto more,
                   ReadOptional(base / "tokenizer_config.json", limits::kMaxImportConfigBytes));
  HfTokenizerConfig additions;
  if (more) {
    ASSIGN_OR_RETURN(additions, ParseHfTokenizerConfig(*more));
  }
  ApplyTokenizerConfig(additions, tokenizer, config);
  return absl::OkStatus();
}

// Returns the name of the folder.
std::string FolderName(const std::filesystem::path& folder) {
  std::error_code ignored;  // on failure the name stays empty
  return std::filesystem::weakly_canonical(folder, ignored).filename().string();
}

}  // namespace

absl::StatusOr<ImportResult> ImportModel(const std::string& folder, const ImportOptions& options,
                                         const std::string& out_path, ParallelRunner& runner) {
  ASSIGN_OR_RETURN(const QuantizationScheme scheme, ParseQuantizationScheme(options.type));
  const std::filesystem::path base(folder);
  HfConfig config;
  HfTokenizer tokenizer;
  RETURN_IF_ERROR(ReadTexts(base, &config, &tokenizer));
  ASSIGN_OR_RETURN(const std::string architecture, Architecture(options, config));
  ASSIGN_OR_RETURN(const HfWeights weights, OpenHfWeights(folder));
  ASSIGN_OR_RETURN(const std::vector<ImportedTensor> plan,
                   PlanTensors(config, architecture, scheme, weights));

  GgufWriter header;
  WriteHyperParameters(config, architecture, scheme.file_type,
                       options.name.empty() ? FolderName(base) : options.name, &header);
  WriteTokenizer(tokenizer, config, &header);
  for (const ImportedTensor& tensor : plan) {
    header.DeclareTensor(tensor.name, tensor.type, tensor.shape);
  }
  ASSIGN_OR_RETURN(const auto stream, GgufFileStream::Create(out_path, header));
  ImportResult result;
  RETURN_IF_ERROR(WriteTensors(plan, runner, stream.get(), &result));
  RETURN_IF_ERROR(stream->Finish());
  result.bytes = stream->size();
  return result;
}

}  // namespace ruvd::inference
