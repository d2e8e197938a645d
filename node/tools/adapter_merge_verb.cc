// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/merge.h"
#include "inference/adapter/talora_file.h"
#include "inference/limits.h"
#include "inference/model/model.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

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

// A file to merge, and the words of the lessons that it learned, if it says so.
struct NamedPart {
  inference::MergePart part;
  std::optional<inference::LessonWords> words;
};

// Reads FILE or FILE=WEIGHT, the notation of inference.adapters.
absl::StatusOr<NamedPart> ReadPart(const std::string& text, const inference::Model& model) {
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
  ASSIGN_OR_RETURN(const auto with_words, inference::LoadTaloraFile(file, model));
  return NamedPart{.part = {.adapter = std::move(adapter), .weight = weight},
                   .words = with_words->words};
}

// Returns the words of all parts together; nullopt if those of one are not known.
std::optional<inference::LessonWords> WordsOf(const std::vector<NamedPart>& parts) {
  inference::LessonWords sum;
  for (const NamedPart& part : parts) {
    if (!part.words || part.words->lessons > limits::kMaxWordLessons - sum.lessons) {
      return std::nullopt;
    }
    AddWords(*part.words, &sum);
  }
  return sum;
}

absl::Status Merge(CommandContext& context, MergeFlags& flags) {
  flags.options.method =
      inference::MergeMethodByName(flags.method).value_or(inference::MergeMethod::kSum);
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(flags.model));
  std::vector<NamedPart> named;
  std::vector<inference::MergePart> parts;
  for (const std::string& file : flags.files) {
    ASSIGN_OR_RETURN(NamedPart part, ReadPart(file, *model));
    parts.push_back(part.part);
    named.push_back(std::move(part));
  }
  const std::string name =
      flags.name.empty() ? std::filesystem::path(flags.out).stem().string() : flags.name;
  ASSIGN_OR_RETURN(const auto merged,
                   inference::MergeAdapters(parts, flags.options, name, flags.version));
  ASSIGN_OR_RETURN(const std::string bytes,
                   inference::SerializeAdapterFile(*merged, *model, WordsOf(named)));
  RETURN_IF_ERROR(WriteFileAtomically(flags.out, bytes));
  int rank = 0;
  for (const auto& [target, change] : merged->targets) {
    rank = std::max(rank, change.rank);
  }
  const std::string label = fmt::format("{}@{}", merged->name, merged->version);
  report::v1::MergeReport report;
  report.set_out(flags.out);
  report.set_adapter(label);
  report.set_kind(std::string(inference::KindName(merged->kind)));
  report.set_rank(static_cast<uint32_t>(rank));
  report.set_targets(static_cast<uint32_t>(merged->targets.size()));
  context.out << (context.json ? ToJsonLine(report)
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
  Verb verb = verbs.Add("adapter merge", "Adapters", "Merge plain LoRA files into one",
                        [flags](CommandContext& context) { return Merge(context, *flags); });
  verb.Option("file", flags->files, "Plain GGUF LoRA files, each FILE or FILE=WEIGHT").Required();
  verb.Option("--model", flags->model, "GGUF file of their base model").Required();
  verb.Option("--out", flags->out, "File to write").Required();
  verb.Option("--method", flags->method,
              "Method: sum (exact), ties or dare (entry by entry), or slerp (between two files)")
      .OneOf({"sum", "ties", "dare", "slerp"})
      .ShowDefault();
  verb.Option("--rank", options.rank,
              "Highest rank of the result; 0 means the rank of the exact result, or the "
              "highest rank of the inputs")
      .InRange(0, 256)
      .ShowDefault();
  verb.Option("--density", options.density, "ties, dare: share of entries that are kept")
      .InRange(0.0, 1.0)
      .ShowDefault();
  verb.Option("--position", options.position,
              "slerp: position from 0 (the first file) to 1 (the second file)")
      .InRange(0.0, 1.0)
      .ShowDefault();
  verb.Option("--seed", options.seed, "dare: random seed for the dropped entries").ShowDefault();
  verb.Option("--name", flags->name, "Name of the result; default: the name of the file");
  verb.Option("--as-version", flags->version, "Version of the result").ShowDefault();
}

}  // namespace ruvd::cli
