// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares ways of sampling by the text they give: `sampling_study --help`. Prints one JSON line
// for each.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/meter.h"
#include "bench/study_completions.h"
#include "bench/study_prompts.h"
#include "bench/study_samplers.h"
#include "bench/text_measures.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/text_documents.h"
#include "inference/train/score.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Completes prompts with every sampler and judges the text by the model's own next-token\n"
    "reading together with distinct-n and loops. JSON keys: cross_entropy (nats/token of the\n"
    "completion given the prompt, next-token reading) and loops (share of completions that go in\n"
    "circles), each with the 95 % interval over prompts; distinct_1, _2, _4; tokens_per_forward;\n"
    "ms_cpu, processor time per completion (what one alone costs with --batch 1); prompts, the\n"
    "means of each prompt, to compare two samplers in pairs. End-of-text does not end a "
    "completion,\n"
    "so that all have the same length. bench/study.py runs all of it and prints the tables.";

struct Arguments {
  std::string model;
  std::string mode = "block";
  std::string prompts = "selection";
  std::vector<std::string> only;  // names of candidates; empty: all
  std::string texts;              // modes text and given
  int tokens = 64;
  int seeds = 2;
  int batch = 16;
  int threads = 2;
  int nelbo = 0;  // draws of masks
  double tokens_per_forward = 2;
};

struct Study {
  const Arguments& arguments;
  const inference::Model& model;
  inference::Transformer& transformer;
  std::vector<std::vector<inference::TokenId>> prompts;
};

// Returns the beginnings of real documents in place of completions: what good text measures.
absl::StatusOr<std::vector<Text>> ReadReal(Study* study) {
  constexpr size_t kPromptTokens = 16;
  ASSIGN_OR_RETURN(const std::vector<std::string> documents,
                   inference::ReadTextDocuments(study->arguments.texts));
  const size_t length = kPromptTokens + static_cast<size_t>(study->arguments.tokens);
  constexpr size_t kWanted = 64;
  std::vector<Text> texts;
  study->prompts.clear();
  for (const std::string& document : documents) {
    const std::vector<inference::TokenId> tokens = study->model.tokenizer().Encode(document);
    if (tokens.size() < length || texts.size() == kWanted) {
      continue;
    }
    const auto border = tokens.begin() + kPromptTokens;
    texts.push_back({.prompt = study->prompts.size(),
                     .completion = {border, border + study->arguments.tokens},
                     .forwards = study->arguments.tokens});
    study->prompts.emplace_back(tokens.begin(), border);
  }
  return texts;
}

// Reads completions by another program for the same prompts, one JSON line each with the members
// prompt (its number), tokens and forwards.
absl::StatusOr<std::vector<Text>> ReadGiven(const Study& study) {
  std::ifstream file(study.arguments.texts);
  std::vector<Text> texts;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto member = [&](const char* name) {
      return json.is_object() ? json.value(name, nlohmann::json()) : nlohmann::json();
    };
    const nlohmann::json tokens = member("tokens");
    Text text;
    bool valid = member("prompt").is_number_unsigned() && member("forwards").is_number_unsigned() &&
                 tokens.is_array() && !tokens.empty();
    for (size_t i = 0; valid && i < tokens.size(); ++i) {
      valid = tokens[i].is_number_unsigned() &&
              tokens[i].get<uint64_t>() < static_cast<uint64_t>(study.model.config().vocabulary);
      text.completion.push_back(valid ? tokens[i].get<inference::TokenId>() : 0);
    }
    if (valid) {
      text.prompt = json["prompt"].get<size_t>();
      text.forwards = json["forwards"].get<int>();
    }
    if (!valid || text.prompt >= study.prompts.size()) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "line {} of {} is no completion of a prompt; each needs prompt, tokens of the "
                   "vocabulary and forwards",
                   texts.size() + 1, study.arguments.texts);
    }
    texts.push_back(std::move(text));
  }
  if (texts.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "no completion in {}; name a readable file with --texts", study.arguments.texts);
  }
  return texts;
}

nlohmann::ordered_json Json(const GroupInterval& interval) {
  return {interval.mean, interval.low, interval.high};
}

// Returns the mean of each prompt; prompts without completions are left out.
nlohmann::ordered_json MeansOf(const std::vector<std::vector<double>>& values) {
  nlohmann::ordered_json means = nlohmann::ordered_json::array();
  for (const std::vector<double>& group : values) {
    if (!group.empty()) {
      means.push_back(std::accumulate(group.begin(), group.end(), 0.0) /
                      static_cast<double>(group.size()));
    }
  }
  return means;
}

using Values = std::vector<std::vector<double>>;  // by prompt

// Returns the nats per token of each completion given its prompt.
absl::StatusOr<Values> Score(const Study& study, const std::vector<Text>& texts,
                             const inference::ScoreOptions& options) {
  Values values(study.prompts.size());
  for (const Text& text : texts) {
    ASSIGN_OR_RETURN(const double nats,
                     inference::ScoreCompletion(study.transformer, study.prompts[text.prompt],
                                                text.completion, nullptr, options));
    values[text.prompt].push_back(nats);
  }
  return values;
}

absl::StatusOr<nlohmann::ordered_json> Judge(const Study& study, const std::vector<Text>& texts) {
  const Values none(study.prompts.size());
  ASSIGN_OR_RETURN(const Values entropy,
                   Score(study, texts, {.mode = inference::DecodingMode::kAutoregressive}));
  Values loops = none;
  std::map<size_t, Values> distinct = {{1, none}, {2, none}, {4, none}};
  double forwards = 0;
  double tokens = 0;
  for (const Text& text : texts) {
    loops[text.prompt].push_back(Loops(text.completion) ? 1 : 0);
    for (auto& [n, values] : distinct) {
      values[text.prompt].push_back(Distinct(text.completion, n));
    }
    forwards += text.forwards;
    tokens += static_cast<double>(text.completion.size());
  }
  nlohmann::ordered_json json;
  json["cross_entropy"] = Json(BootstrapMean(entropy));
  json["loops"] = Json(BootstrapMean(loops));
  for (const auto& [n, values] : distinct) {
    json[fmt::format("distinct_{}", n)] = BootstrapMean(values).mean;
  }
  json["tokens_per_forward"] = tokens / forwards;
  json["completions"] = texts.size();
  json["prompts"] = {{"cross_entropy", MeansOf(entropy)},
                     {"loops", MeansOf(loops)},
                     {"distinct_2", MeansOf(distinct[2])}};
  if (study.arguments.nelbo > 0) {
    ASSIGN_OR_RETURN(const Values nelbo,
                     Score(study, texts,
                           {.mode = inference::DecodingMode::kBlock,
                            .samples = study.arguments.nelbo,
                            .block_length = study.model.config().block_length}));
    json["nelbo"] = Json(BootstrapMean(nelbo));
    json["prompts"]["nelbo"] = MeansOf(nelbo);
  }
  return json;
}

absl::Status Print(const Study& study, const std::string& name, const std::vector<Text>& texts,
                   double ms_cpu) {
  ASSIGN_OR_RETURN(const nlohmann::ordered_json judged, Judge(study, texts));
  nlohmann::ordered_json line;
  line["mode"] = study.arguments.mode;
  line["sampler"] = name;
  line["ms_cpu"] = ms_cpu / static_cast<double>(texts.size());
  line.update(judged);
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  return absl::OkStatus();
}

void PrintPrompts(const Study& study) {
  for (const std::vector<inference::TokenId>& prompt : study.prompts) {
    fmt::print("{}\n", nlohmann::json(prompt).dump());
  }
}

inference::DecodingMode ModeByName(const std::string& name) {
  return name == "block"       ? inference::DecodingMode::kBlock
         : name == "diffusion" ? inference::DecodingMode::kDiffusion
                               : inference::DecodingMode::kAutoregressive;
}

std::vector<Candidate> CandidatesOf(const Study& study) {
  const Arguments& arguments = study.arguments;
  const int block = study.model.config().block_length;
  if (arguments.mode == "speed") {
    return SpeedCandidates(arguments.tokens, block);
  }
  const inference::DecodingMode mode = ModeByName(arguments.mode);
  return Candidates(mode, arguments.tokens_per_forward,
                    mode == inference::DecodingMode::kBlock ? block : arguments.tokens);
}

absl::Status CompleteAll(const Study& study) {
  const Arguments& arguments = study.arguments;
  for (const Candidate& candidate : CandidatesOf(study)) {
    const auto wanted = std::ranges::find(arguments.only, candidate.name);
    if (!arguments.only.empty() && wanted == arguments.only.end()) {
      continue;
    }
    const Meter meter;
    ASSIGN_OR_RETURN(
        const std::vector<Text> texts,
        Complete(study.model, study.transformer, study.prompts, candidate,
                 {.tokens = arguments.tokens, .seeds = arguments.seeds, .batch = arguments.batch}));
    RETURN_IF_ERROR(Print(study, candidate.name, texts, meter.CpuMs()));
  }
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<inference::Transformer> transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kFast, .runner = runner}));
  Study study{arguments, *model, *transformer, {}};
  const std::span<const char* const> prompts = arguments.prompts == "reporting"
                                                   ? std::span<const char* const>(kReportingPrompts)
                                                   : kSelectionPrompts;
  for (const char* prompt : prompts) {
    study.prompts.push_back(model->tokenizer().Encode(prompt));
  }
  if (arguments.mode == "prompts") {
    PrintPrompts(study);
    return absl::OkStatus();
  }
  if (arguments.mode == "text") {
    ASSIGN_OR_RETURN(const std::vector<Text> texts, ReadReal(&study));
    return Print(study, "real text", texts, 0);
  }
  if (arguments.mode == "given") {
    ASSIGN_OR_RETURN(const std::vector<Text> texts, ReadGiven(study));
    return Print(study, arguments.only.empty() ? "given" : arguments.only[0], texts, 0);
  }
  return CompleteAll(study);
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription);
  Arguments arguments;
  app.add_option("--model", arguments.model, "GGUF file")->required();
  app.add_option("--mode", arguments.mode,
                 "block, diffusion, ar; speed: windows and thresholds; text: real text; given: "
                 "another program's; prompts: prints their tokens")
      ->check(CLI::IsMember({"block", "diffusion", "ar", "speed", "text", "given", "prompts"}))
      ->capture_default_str();
  app.add_option("--prompts", arguments.prompts, "selection or reporting")
      ->check(CLI::IsMember({"selection", "reporting"}))
      ->capture_default_str();
  app.add_option("--only", arguments.only,
                 "the sampler of this name, repeatable; a name for mode given");
  app.add_option("--texts", arguments.texts,
                 "mode text: documents; mode given: JSON lines of prompt, tokens, forwards");
  app.add_option("--tokens", arguments.tokens, "tokens of a completion")->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "completions of a prompt")->capture_default_str();
  app.add_option("--batch", arguments.batch, "completions at once")->capture_default_str();
  app.add_option("--threads", arguments.threads, "threads")->capture_default_str();
  app.add_option("--nelbo", arguments.nelbo,
                 "draws of masks for a second judge, the model's block-diffusion NELBO; 0: none")
      ->capture_default_str();
  app.add_option("--tokens-per-forward", arguments.tokens_per_forward,
                 "of the samplers that follow a schedule")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = Run(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(status));
  }
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
