// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/merge.h"
#include "inference/model/model.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"

namespace ruvd::cli {
namespace {

struct MergeFlags {
  std::string model;
  std::vector<std::string> files;
  std::string out;
  std::string method = "sum";
  std::string name;
  uint32_t version = 1;
  inference::MergeOptions options;
};

// Reads FILE or FILE=WEIGHT, the notation of inference.adapters.
absl::StatusOr<inference::MergePart> ReadPart(const std::string& text,
                                              const inference::Model& model) {
  std::string file = text;
  float weight = 1;
  if (const size_t equals = text.rfind('='); equals != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data() + equals + 1, end, weight);
    if (error == std::errc() && read == end) {
      file = text.substr(0, equals);
    } else {
      weight = 1;
    }
  }
  ASSIGN_OR_RETURN(auto adapter, inference::LoadAdapterFile(file, model));
  return inference::MergePart{.adapter = std::move(adapter), .weight = weight};
}

absl::Status Merge(CommandContext& context, MergeFlags& flags) {
  flags.options.method =
      inference::MergeMethodByName(flags.method).value_or(inference::MergeMethod::kSum);
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(flags.model));
  std::vector<inference::MergePart> parts;
  for (const std::string& file : flags.files) {
    ASSIGN_OR_RETURN(inference::MergePart part, ReadPart(file, *model));
    parts.push_back(std::move(part));
  }
  const std::string name =
      flags.name.empty() ? std::filesystem::path(flags.out).stem().string() : flags.name;
  ASSIGN_OR_RETURN(const auto merged,
                   inference::MergeAdapters(parts, flags.options, name, flags.version));
  RETURN_IF_ERROR(inference::SaveAdapterFile(*merged, *model, flags.out));
  int rank = 0;
  for (const auto& [target, change] : merged->targets) {
    rank = std::max(rank, change.rank);
  }
  const std::string label = fmt::format("{}@{}", merged->name, merged->version);
  context.out << (context.json
                      ? ToJsonLine(nlohmann::json{{"out", flags.out},
                                                  {"adapter", label},
                                                  {"kind", inference::KindName(merged->kind)},
                                                  {"rank", rank},
                                                  {"targets", merged->targets.size()}})
                      : fmt::format("{}: {} of kind {}, rank {}, {} targets\n",
                                    PrintableLine(flags.out), PrintableLine(label),
                                    inference::KindName(merged->kind), rank,
                                    merged->targets.size()));
  return absl::OkStatus();
}

}  // namespace

void AddAdapterMergeVerb(VerbTable& verbs) {
  auto flags = std::make_shared<MergeFlags>();
  inference::MergeOptions& options = flags->options;
  CLI::App& verb = verbs.Add("adapter merge", "Adapters", "Merge plain LoRA files into one",
                             [flags](CommandContext& context) { return Merge(context, *flags); });
  verb.add_option("file", flags->files, "Plain GGUF LoRA files, each FILE or FILE=WEIGHT")
      ->required();
  verb.add_option("--model", flags->model, "GGUF file of their base model")->required();
  verb.add_option("--out", flags->out, "File to write")->required();
  verb.add_option(
          "--method", flags->method,
          "Method: sum (exact), ties or dare (entry by entry), or slerp (between two files)")
      ->check(CLI::IsMember({"sum", "ties", "dare", "slerp"}))
      ->capture_default_str();
  verb.add_option("--rank", options.rank,
                  "Highest rank of the result; 0 means the rank of the exact result, or the "
                  "highest rank of the inputs")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  verb.add_option("--density", options.density, "ties, dare: share of entries that are kept")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_option("--position", options.position,
                  "slerp: position from 0 (the first file) to 1 (the second file)")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_option("--seed", options.seed, "dare: random seed for the dropped entries")
      ->capture_default_str();
  verb.add_option("--name", flags->name, "Name of the result; default: the name of the file");
  verb.add_option("--as-version", flags->version, "Version of the result")->capture_default_str();
}

}  // namespace ruvd::cli
