// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/import/import.h"
#include "inference/tokenizer/chat_template.h"
#include "node/cli/command.h"
#include "node/cli/terminal.h"
#include "node/cli/verbs.h"

namespace ruvd {
namespace {

constexpr char kGroup[] = "Models";

struct ImportFlags {
  std::string folder;
  std::string out;
  std::string type;
  std::string architecture = "dream";
  std::string name;
};

absl::Status Import(CommandContext& context, const ImportFlags& flags) {
  ImportOptions options;
  ASSIGN_OR_RETURN(options.type, ParseImportType(flags.type));
  options.architecture = flags.architecture;
  options.name = flags.name;
  ASSIGN_OR_RETURN(const ImportResult result, ImportModel(flags.folder, options, flags.out));
  if (context.json) {
    context.out << nlohmann::json{{"tensors", result.tensors},
                                  {"parameters", result.parameters},
                                  {"bytes", result.bytes}}
                       .dump()
                << "\n";
  } else {
    context.out << fmt::format("{}: {} tensors, {} parameters, {} bytes\n", flags.out,
                               result.tensors, result.parameters, result.bytes);
  }
  return absl::OkStatus();
}

// What of the header people ask for, where the file has it.
std::vector<std::pair<std::string, std::string>> Headline(const GgufReader& file) {
  std::vector<std::pair<std::string, std::string>> fields;
  const auto add_text = [&](const std::string& key) {
    if (const auto value = file.GetString(key); value.ok()) {
      fields.emplace_back(key, *value);
    }
  };
  add_text("general.name");
  add_text("general.architecture");
  const auto architecture = file.GetString("general.architecture");
  for (const char* name :
       {"context_length", "embedding_length", "block_count", "feed_forward_length",
        "attention.head_count", "attention.head_count_kv", "vocab_size"}) {
    const std::string key = fmt::format("{}.{}", architecture.value_or(""), name);
    if (const auto value = file.GetUnsigned(key); value.ok()) {
      fields.emplace_back(key, fmt::format("{}", *value));
    }
  }
  add_text("tokenizer.ggml.model");
  add_text("tokenizer.ggml.pre");
  if (file.GetString("tokenizer.ggml.model").value_or("") == "gpt2" &&
      !file.Has("tokenizer.ggml.pre")) {
    fields.emplace_back("tokenizer.ggml.pre", "(missing: words are split by the default rules)");
  }
  if (const auto jinja = file.GetString("tokenizer.chat_template"); jinja.ok()) {
    const auto format = RecognizeChatTemplate(*jinja);
    fields.emplace_back("chat template", format ? ChatFormatName(*format) : "not recognised");
  }
  return fields;
}

absl::Status Inspect(CommandContext& context, const std::string& path, bool with_tensors) {
  ASSIGN_OR_RETURN(const auto file, GgufReader::Open(path));
  uint64_t values = 0;
  std::map<std::string, uint64_t> formats;
  for (const TensorInfo& tensor : file->tensors()) {
    values += tensor.values();
    ++formats[std::string(TensorTypeName(tensor.type))];
  }
  auto fields = Headline(*file);
  fields.emplace_back("parameters", fmt::format("{}", values));
  for (const auto& [format, count] : formats) {
    fields.emplace_back(fmt::format("tensors {}", format), fmt::format("{}", count));
  }
  if (context.json) {
    context.out << nlohmann::json(std::map(fields.begin(), fields.end())).dump() << "\n";
    return absl::OkStatus();
  }
  context.out << FormatFields(fields);
  if (with_tensors) {
    std::vector<std::vector<std::string>> rows;
    rows.reserve(file->tensors().size());
    for (const TensorInfo& tensor : file->tensors()) {
      rows.push_back({tensor.name, std::string(TensorTypeName(tensor.type)),
                      fmt::format("{} x {}", tensor.shape[1], tensor.shape[0]),
                      fmt::format("{}", tensor.bytes)});
    }
    context.out << "\n" << FormatTable({"TENSOR", "FORMAT", "ROWS x COLUMNS", "BYTES"}, rows);
  }
  return absl::OkStatus();
}

void AddImport(VerbTable& verbs) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App& verb = verbs.Add("model import", kGroup, "Convert a Hugging Face folder to GGUF",
                             [flags](CommandContext& context) { return Import(context, *flags); });
  verb.add_option("folder", flags->folder, "With config.json, model.safetensors, tokenizer.json")
      ->required();
  verb.add_option("--out", flags->out, "GGUF file to write")->required();
  verb.add_option("--type", flags->type, "f32, f16, q8_0 or q4_0")->required();
  verb.add_option("--arch", flags->architecture, "dream (diffusion) or qwen2 (left to right)")
      ->check(CLI::IsMember({"dream", "qwen2"}))
      ->capture_default_str();
  verb.add_option("--name", flags->name, "general.name; default the folder's name");
}

}  // namespace

void AddModelVerbs(VerbTable& verbs) {
  AddImport(verbs);
  struct InspectFlags {
    std::string path;
    bool tensors = false;
  };
  auto flags = std::make_shared<InspectFlags>();
  CLI::App& inspect = verbs.Add(
      "model inspect", kGroup, "What a GGUF file holds",
      [flags](CommandContext& context) { return Inspect(context, flags->path, flags->tensors); });
  inspect.add_option("file", flags->path, "GGUF file")->required();
  inspect.add_flag("--tensors", flags->tensors, "List them");
}

}  // namespace ruvd
