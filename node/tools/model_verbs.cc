// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <memory>
#include <span>

#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/scheme.h"
#include "inference/gguf/value.h"
#include "inference/import/import.h"
#include "inference/tokenizer/chat_template.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kModelGroup[] = "Models";
// Shown bytes of a text, which may be very long in a file.
constexpr size_t kShownTextBytes = 256;

struct ImportFlags {
  std::string folder;
  std::string out;
  std::string type;
  std::string architecture;
  std::string name;
};

absl::Status Import(CommandContext& context, const ImportFlags& flags) {
  inference::ImportOptions options;
  options.type = flags.type;
  options.architecture = flags.architecture;
  options.name = flags.name;
  ASSIGN_OR_RETURN(const inference::ImportResult result,
                   inference::ImportModel(flags.folder, options, flags.out));
  if (context.json) {
    report::v1::ModelImportReport report;
    report.set_tensors(static_cast<uint32_t>(result.tensors));
    report.set_parameters(result.parameters);
    report.set_bytes(result.bytes);
    context.out << ToJsonLine(report);
  } else {
    context.out << fmt::format("{}: {} tensors, {} parameters, {} bytes\n", flags.out,
                               result.tensors, result.parameters, result.bytes);
  }
  return absl::OkStatus();
}

// Returns the most useful fields of the header, as far as the file has them.
std::vector<std::pair<std::string, std::string>> Headline(const inference::GgufReader& file) {
  std::vector<std::pair<std::string, std::string>> fields;
  const auto add_text = [&](const std::string& key) {
    if (const auto value = file.GetString(key); value.ok()) {
      fields.emplace_back(key, value->substr(0, kShownTextBytes));
    }
  };
  add_text("general.name");
  add_text("general.architecture");
  const std::string architecture =
      file.GetString("general.architecture").value_or("").substr(0, kShownTextBytes);
  for (const char* name :
       {"context_length", "embedding_length", "block_count", "feed_forward_length",
        "attention.head_count", "attention.head_count_kv", "vocab_size"}) {
    const std::string key = fmt::format("{}.{}", architecture, name);
    if (const auto value = file.GetUnsigned(key); value.ok()) {
      fields.emplace_back(key, fmt::format("{}", *value));
    }
  }
  add_text("tokenizer.ggml.model");
  add_text("tokenizer.ggml.pre");
  if (file.GetString("tokenizer.ggml.model").value_or("") == "gpt2" &&
      !file.Has("tokenizer.ggml.pre")) {
    fields.emplace_back("tokenizer.ggml.pre", "(missing: the default rules split the words)");
  }
  if (const auto jinja = file.GetString("tokenizer.chat_template"); jinja.ok()) {
    const auto format = inference::RecognizeChatTemplate(*jinja);
    fields.emplace_back("chat template",
                        format ? inference::ChatFormatName(*format) : "not recognised");
  }
  return fields;
}

struct InspectFlags {
  std::string path;
  bool tensors = false;
  bool keys = false;
};

std::string ShapeText(const inference::TensorInfo& tensor) {
  std::string text = fmt::format("{}", tensor.shape[0]);
  for (uint32_t i = 1; i < tensor.dimensions; ++i) {
    text = fmt::format("{} x {}", tensor.shape.at(i), text);
  }
  return text;
}

void PrintInspectedJson(CommandContext& context, const inference::GgufReader& file,
                        const InspectFlags& flags,
                        const std::map<std::string, std::string>& fields) {
  report::v1::InspectReport report;
  report.mutable_fields()->insert(fields.begin(), fields.end());
  for (const std::string& key : flags.keys ? file.Keys() : std::vector<std::string>()) {
    (*report.mutable_keys())[Printable(key)] =
        Printable(inference::gguf::ValueText(*file.RawValue(key)));
  }
  for (const inference::TensorInfo& tensor : file.tensors()) {
    if (flags.tensors) {
      report::v1::InspectReport::Tensor& message = *report.add_tensors();
      message.set_name(Printable(tensor.name));
      message.set_format(std::string(inference::TensorTypeName(tensor.type)));
      const auto shape = std::span(tensor.shape).first(tensor.dimensions);
      message.mutable_shape()->Add(shape.begin(), shape.end());
      message.set_bytes(tensor.bytes);
    }
  }
  context.out << ToJsonLine(report);
}

void PrintInspected(CommandContext& context, const inference::GgufReader& file,
                    const InspectFlags& flags,
                    const std::vector<std::pair<std::string, std::string>>& fields) {
  context.out << FormatFields(fields);
  std::vector<std::vector<std::string>> rows;
  for (const std::string& key : flags.keys ? file.Keys() : std::vector<std::string>()) {
    rows.push_back({key, inference::gguf::ValueText(*file.RawValue(key))});
  }
  if (flags.keys) {
    context.out << "\n" << FormatTable({"KEY", "VALUE"}, rows);
  }
  rows.clear();
  for (const inference::TensorInfo& tensor : file.tensors()) {
    rows.push_back({tensor.name, std::string(inference::TensorTypeName(tensor.type)),
                    ShapeText(tensor), fmt::format("{}", tensor.bytes)});
  }
  if (flags.tensors) {
    context.out << "\n" << FormatTable({"TENSOR", "FORMAT", "ROWS x COLUMNS", "BYTES"}, rows);
  }
}

absl::Status Inspect(CommandContext& context, const InspectFlags& flags) {
  ASSIGN_OR_RETURN(const auto file, inference::GgufReader::Open(flags.path));
  uint64_t values = 0;
  uint64_t bytes = 0;
  std::map<std::string, uint64_t> formats;
  for (const inference::TensorInfo& tensor : file->tensors()) {
    values += tensor.values();
    bytes += tensor.bytes;
    ++formats[std::string(inference::TensorTypeName(tensor.type))];
  }
  auto fields = Headline(*file);
  fields.emplace_back("parameters", fmt::format("{}", values));
  fields.emplace_back("tensor bytes", fmt::format("{}", bytes));
  for (const auto& [format, count] : formats) {
    fields.emplace_back(fmt::format("tensors {}", format), fmt::format("{}", count));
  }
  if (context.json) {
    PrintInspectedJson(context, *file, flags, std::map(fields.begin(), fields.end()));
  } else {
    PrintInspected(context, *file, flags, fields);
  }
  return absl::OkStatus();
}

void AddImport(VerbTable& verbs) {
  auto flags = std::make_shared<ImportFlags>();
  Verb verb = verbs.Add("model import", kModelGroup, "Convert a Hugging Face model folder to GGUF",
                        [flags](CommandContext& context) { return Import(context, *flags); });
  verb.Option("folder", flags->folder,
              "Folder with config.json, tokenizer.json and model.safetensors or its index")
      .Required();
  verb.Option("--out", flags->out, "GGUF file to write").Required();
  verb.Option("--type", flags->type,
              "Tensor formats, one of " + inference::QuantizationSchemeNames())
      .Required();
  verb.Option("--arch", flags->architecture,
              "Architecture, instead of the one that config.json names: dream or llada "
              "(diffusion), qwen2 or llama (autoregressive)")
      .OneOf({"dream", "llada", "llama", "qwen2", "qwen3"});
  verb.Option("--name", flags->name,
              "Name of the model (general.name); default: the name of the folder");
}

}  // namespace

void AddModelVerbs(VerbTable& verbs) {
  AddImport(verbs);
  auto flags = std::make_shared<InspectFlags>();
  Verb inspect = verbs.Add("model inspect", kModelGroup, "Show the contents of a GGUF file",
                           [flags](CommandContext& context) { return Inspect(context, *flags); });
  inspect.Option("file", flags->path, "GGUF file").Required();
  inspect.Switch("--tensors", flags->tensors, "List the tensors");
  inspect.Switch("--keys", flags->keys, "List the metadata");
}

}  // namespace ruvd::cli
