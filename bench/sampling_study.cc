// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares ways of sampling by the text they give: `sampling_study --help`. One JSON line for each.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
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
    "Completes 32 prompts with every sampler and judges the text by the model's own next-token\n"
    "reading together with distinct-n and loops. JSON keys: cross_entropy (nats/token of the\n"
    "completion given the prompt, next-token reading) and loops (share of completions that go in\n"
    "circles), each with the 95 % interval over prompts; distinct_1, _2, _4; tokens_per_forward.\n"
    "End-of-text does not end a completion, so that all have the same length.";

struct Arguments {
  std::string model;
  std::string mode = "block";
  std::string only;   // candidates whose name contains this
  std::string texts;  // mode text
  int tokens = 64;
  int seeds = 2;
  int batch = 16;
  int threads = 2;
  double tokens_per_forward = 2;
};

struct Study {
  const Arguments& arguments;
  const Model& model;
  Transformer& transformer;
  std::vector<std::vector<TokenId>> prompts;
};

// The beginnings of real documents in place of completions: what good text measures.
absl::StatusOr<std::vector<Text>> ReadReal(Study* study) {
  constexpr size_t kPromptTokens = 16;
  ASSIGN_OR_RETURN(const std::vector<std::string> documents,
                   ReadTextDocuments(study->arguments.texts));
  const size_t length = kPromptTokens + static_cast<size_t>(study->arguments.tokens);
  const size_t wanted = kStudyPrompts.size() * static_cast<size_t>(study->arguments.seeds);
  std::vector<Text> texts;
  study->prompts.clear();
  for (const std::string& document : documents) {
    const std::vector<TokenId> tokens = study->model.tokenizer().Encode(document);
    if (tokens.size() < length || texts.size() == wanted) {
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

nlohmann::ordered_json Json(const Interval& interval) {
  return {interval.mean, interval.low, interval.high};
}

absl::StatusOr<nlohmann::ordered_json> Judge(const Study& study, const std::vector<Text>& texts) {
  std::vector<std::vector<double>> entropy(study.prompts.size());
  std::vector<std::vector<double>> loops(study.prompts.size());
  std::vector<std::vector<double>> distinct(5);
  double forwards = 0;
  double tokens = 0;
  for (const Text& text : texts) {
    ASSIGN_OR_RETURN(const double nats,
                     ScoreCompletion(study.transformer, study.prompts[text.prompt], text.completion,
                                     nullptr, {.mode = DecodingMode::kAutoregressive}));
    entropy[text.prompt].push_back(nats);
    loops[text.prompt].push_back(Loops(text.completion) ? 1 : 0);
    for (const size_t n : {1, 2, 4}) {
      distinct[n].push_back(Distinct(text.completion, n));
    }
    forwards += text.forwards;
    tokens += static_cast<double>(text.completion.size());
  }
  nlohmann::ordered_json json;
  json["cross_entropy"] = Json(BootstrapMean(entropy));
  json["loops"] = Json(BootstrapMean(loops));
  for (const size_t n : {1, 2, 4}) {
    json[fmt::format("distinct_{}", n)] = BootstrapMean({distinct[n]}).mean;
  }
  json["tokens_per_forward"] = tokens / forwards;
  json["completions"] = texts.size();
  return json;
}

absl::Status Print(const Study& study, const std::string& name, const std::vector<Text>& texts) {
  ASSIGN_OR_RETURN(const nlohmann::ordered_json judged, Judge(study, texts));
  nlohmann::ordered_json line;
  line["mode"] = study.arguments.mode;
  line["sampler"] = name;
  line.update(judged);
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  return absl::OkStatus();
}

DecodingMode ModeByName(const std::string& name) {
  return name == "block"       ? DecodingMode::kBlock
         : name == "diffusion" ? DecodingMode::kDiffusion
                               : DecodingMode::kAutoregressive;
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<Transformer> transformer,
                   DefaultBackend().Load(model, {.precision = Precision::kFast, .runner = runner}));
  Study study{arguments, *model, *transformer, {}};
  for (const char* prompt : kStudyPrompts) {
    study.prompts.push_back(model->tokenizer().Encode(prompt));
  }
  if (arguments.mode == "text") {
    ASSIGN_OR_RETURN(const std::vector<Text> texts, ReadReal(&study));
    return Print(study, "real text", texts);
  }
  const DecodingMode mode = ModeByName(arguments.mode);
  const int scope = mode == DecodingMode::kBlock ? model->config().block_length : arguments.tokens;
  for (const Candidate& candidate : Candidates(mode, arguments.tokens_per_forward, scope)) {
    if (candidate.name.find(arguments.only) != std::string::npos) {
      ASSIGN_OR_RETURN(
          const std::vector<Text> texts,
          Complete(
              study.model, study.transformer, study.prompts, candidate,
              {.tokens = arguments.tokens, .seeds = arguments.seeds, .batch = arguments.batch}));
      RETURN_IF_ERROR(Print(study, candidate.name, texts));
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription);
  Arguments arguments;
  app.add_option("--model", arguments.model, "GGUF file")->required();
  app.add_option("--mode", arguments.mode, "block, diffusion, ar, or text: real text")
      ->check(CLI::IsMember({"block", "diffusion", "ar", "text"}))
      ->capture_default_str();
  app.add_option("--only", arguments.only, "samplers whose name contains this");
  app.add_option("--texts", arguments.texts, "file of documents for mode text");
  app.add_option("--tokens", arguments.tokens, "tokens of a completion")->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "completions of a prompt")->capture_default_str();
  app.add_option("--batch", arguments.batch, "completions at once")->capture_default_str();
  app.add_option("--threads", arguments.threads, "threads")->capture_default_str();
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
