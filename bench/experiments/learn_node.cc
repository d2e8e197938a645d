// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a node's own loops gain on one domain, and what that costs general text: `learn_node
// --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/served_node.h"
#include "bench/experiments/taught_node.h"
#include "inference/model/model.h"
#include "node/learning/deep_options.h"
#include "node/terminal/enum_name.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Starts a node on an empty folder and is its only user: asks for completions of pieces of a\n"
    "domain's train file and corrects each by an edit, lets the background loop learn all of it\n"
    "and then the deep loop. Before and after, the node scores the ends of other pieces given\n"
    "their beginnings (the domain's valid file and --eval), as it would serve them and without "
    "any\n"
    "adapter, on common masks (NELBO, nats/token; below zero is better). Intervals: 95 % "
    "bootstrap\n"
    "over documents. The verdict asks for 0.12 nats/token less on the domain, general text within\n"
    "1 %, both in the mean, within --limit-minutes of learning.";

struct Arguments {
  std::string model;
  std::string corpus;
  std::string domain = "kubernetes";
  std::string eval;
  std::string out;
  size_t lessons = 256;
  size_t pieces = 64;
  size_t general_pieces = 64;
  int samples = 8;
  int threads = 1;
  double limit_minutes = 20;
  bool deep_only = false;
  int deep_steps = learning::DeepOptions().steps;
  std::optional<float> similarity;  // nullopt: that of the model's scale
  CropShape shape{.tokens = 128, .window = 64};
  std::vector<std::string> settings;
};

// Pieces to be scored.
struct Text {
  std::string name;
  std::vector<TextPair> pairs;
  std::vector<size_t> documents;
};

// One way of serving the pieces: nats per token of each pair, and for how many of them an adapter
// was used.
struct Reading {
  std::vector<double> nats;
  size_t adapted = 0;
};

absl::StatusOr<Text> ReadText(const std::string& path, const std::string& name,
                              const inference::Tokenizer& tokenizer, const CropShape& shape,
                              size_t most) {
  Text text{.name = name};
  ASSIGN_OR_RETURN(const Crops crops, ReadCrops(path, tokenizer, shape, most));
  text.pairs = PairsOf(crops, tokenizer, &text.documents);
  if (text.pairs.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "no piece of {} can be cut at its characters' borders; give other texts", path);
  }
  return text;
}

absl::StatusOr<Reading> Read(ServedNode& node, const Text& text, const Arguments& arguments,
                             bool adapters) {
  Reading reading;
  for (const TextPair& pair : text.pairs) {
    inference::v1::ScoreRequest request;
    request.set_prompt(pair.prompt);
    request.set_completion(pair.completion);
    request.set_samples(static_cast<uint32_t>(arguments.samples));
    request.set_seed(99);
    request.mutable_adapters()->set_disabled(!adapters);
    ASSIGN_OR_RETURN(const inference::v1::ScoreResponse score, node.Score(request));
    reading.nats.push_back(score.nats_per_token());
    reading.adapted += score.adapters_used_size() > 0 ? 1 : 0;
  }
  return reading;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

nlohmann::json Report(const Text& text, const Reading& frozen, const Reading& served,
                      const std::string& when) {
  std::vector<double> differences;
  for (size_t i = 0; i < frozen.nats.size(); ++i) {
    differences.push_back(served.nats[i] - frozen.nats[i]);
  }
  const Interval interval = BootstrapDocuments(differences, text.documents);
  const double base = Mean(frozen.nats);
  fmt::print("{:<18} {:<10} {}  of {:.3f} nats/token, {:+.2f} %; adapters in {} of {} pieces\n",
             when, text.name, ToText(interval), base, 100 * interval.mean / base, served.adapted,
             text.pairs.size());
  return {{"difference", ToJson(interval)},
          {"frozen", base},
          {"pieces", text.pairs.size()},
          {"adapted", served.adapted}};
}

struct Texts {
  std::vector<TextPair> lessons;
  Text domain;
  Text general;
};

absl::StatusOr<Texts> ReadTexts(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  const inference::Tokenizer& tokenizer = model->tokenizer();
  const std::string path = fmt::format("{}/{}", arguments.corpus, arguments.domain);
  Texts texts;
  ASSIGN_OR_RETURN(Text train, ReadText(path + ".train.jsonl.zst", "lessons", tokenizer,
                                        arguments.shape, arguments.lessons));
  texts.lessons = std::move(train.pairs);
  ASSIGN_OR_RETURN(texts.domain, ReadText(path + ".valid.jsonl.zst", arguments.domain, tokenizer,
                                          arguments.shape, arguments.pieces));
  ASSIGN_OR_RETURN(texts.general, ReadText(arguments.eval, "general", tokenizer, arguments.shape,
                                           arguments.general_pieces));
  return texts;
}

absl::Status LearnInBackground(ServedNode& node, nlohmann::json* out) {
  uint32_t kept = 0;
  uint32_t without_gain = 0;
  uint32_t merged = 0;
  for (bool replay = true;; replay = false) {
    ASSIGN_OR_RETURN(const learning::v1::BackgroundResult round, node.RunBackground(replay));
    kept += round.patterns_kept();
    without_gain += round.patterns_without_gain();
    merged += round.patterns_merged();
    if (round.lessons_waiting() == 0) {
      break;
    }
  }
  fmt::print("background loop: {} patterns kept, {} without gain, {} merged\n", kept, without_gain,
             merged);
  *out = {{"kept", kept}, {"without_gain", without_gain}, {"merged", merged}};
  return absl::OkStatus();
}

absl::Status LearnDeep(ServedNode& node, nlohmann::json* out) {
  ASSIGN_OR_RETURN(const learning::v1::DeepResult round, node.RunDeep());
  const std::string outcome = cli::EnumName(round.outcome());
  fmt::print(
      "deep loop: {} after {} steps on {} lessons; {} held back: {:.3f} -> {:.3f} (standard error "
      "{:.3f}), general text {:.3f} -> {:.3f}\n",
      outcome, round.steps(), round.lessons(), round.held_back_lessons(),
      round.held_out_loss_before(), round.held_out_loss_after(), round.standard_error(),
      round.general_loss_before(), round.general_loss_after());
  *out = {{"outcome", outcome},
          {"steps", round.steps()},
          {"held_out_before", round.held_out_loss_before()},
          {"held_out_after", round.held_out_loss_after()},
          {"general_before", round.general_loss_before()},
          {"general_after", round.general_loss_after()}};
  return absl::OkStatus();
}

node::NodeTuning TuningOf(const Arguments& arguments) {
  node::NodeTuning tuning;
  tuning.deep.steps = arguments.deep_steps;
  tuning.similarity = arguments.similarity;
  if (arguments.deep_only) {  // no background round starts beside the deep one
    tuning.round_after_ratings = std::numeric_limits<int>::max();
    tuning.round_after = std::chrono::hours(24);
  }
  return tuning;
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ASSIGN_OR_RETURN(const Texts texts, ReadTexts(arguments));
  ASSIGN_OR_RETURN(const config::NodeConfig config,
                   ConfigOf(arguments.model, arguments.threads, arguments.settings));
  ASSIGN_OR_RETURN(const std::unique_ptr<ServedNode> node,
                   ServedNode::Start(config, TuningOf(arguments)));
  RETURN_IF_ERROR(node->Pause());  // everything is learned in one go below
  RETURN_IF_ERROR(TeachAll(*node, texts.lessons));
  ASSIGN_OR_RETURN(const Reading domain, Read(*node, texts.domain, arguments, false));
  ASSIGN_OR_RETURN(const Reading general, Read(*node, texts.general, arguments, false));
  RETURN_IF_ERROR(node->Resume());
  nlohmann::json out = {{"experiment", "learn_node"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"domain", arguments.domain},
                        {"lessons", texts.lessons.size()},
                        {"tokens", arguments.shape.tokens},
                        {"window", arguments.shape.window},
                        {"settings", arguments.settings},
                        {"deep_steps", arguments.deep_steps},
                        {"samples", arguments.samples}};
  double seconds = 0;
  const auto learn = [&](const std::string& loop, const auto& round) -> absl::Status {
    const TimePoint begun = SystemClock().Now();
    RETURN_IF_ERROR(round(*node, &out[loop]));
    const double took = std::chrono::duration<double>(SystemClock().Now() - begun).count();
    out[loop]["seconds"] = took;
    seconds += took;
    ASSIGN_OR_RETURN(const Reading own, Read(*node, texts.domain, arguments, true));
    ASSIGN_OR_RETURN(const Reading others, Read(*node, texts.general, arguments, true));
    out[loop]["domain"] = Report(texts.domain, domain, own, "after " + loop);
    out[loop]["general"] = Report(texts.general, general, others, "after " + loop);
    return absl::OkStatus();
  };
  if (!arguments.deep_only) {
    RETURN_IF_ERROR(learn("background", LearnInBackground));
  }
  RETURN_IF_ERROR(learn("deep", LearnDeep));
  constexpr double kGain = 0.12;
  constexpr double kLoss = 0.01;
  const double gain = -out["deep"]["domain"]["difference"]["mean"].get<double>();
  const double loss = out["deep"]["general"]["difference"]["mean"].get<double>() /
                      out["deep"]["general"]["frozen"].get<double>();
  const bool met = gain >= kGain && loss <= kLoss && seconds <= 60 * arguments.limit_minutes;
  out["learning_seconds"] = seconds;
  out["verdict"] = fmt::format(
      "{}: the domain gains {:.3f} nats/token as served (0.12 asked for), general text changes by "
      "{:+.2f} % (at most 1), after {:.1f} minutes of learning",
      met ? "met" : "NOT met", gain, 100 * loss, seconds / 60);
  fmt::print("verdict: {}\n", out["verdict"].get<std::string>());
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--model", arguments.model, "GGUF file")->required();
  app.add_option("--corpus", arguments.corpus, "folder of NAME.train and NAME.valid .jsonl.zst")
      ->required();
  app.add_option("--domain", arguments.domain, "NAME");
  app.add_option("--eval", arguments.eval, "general text")->required();
  app.add_option("--out", arguments.out, "file of the results, JSON");
  app.add_option("--lessons", arguments.lessons, "pieces that are taught")
      ->check(CLI::Range(16, 4096));
  app.add_option("--pieces", arguments.pieces, "of the valid file");
  app.add_option("--general-pieces", arguments.general_pieces, "of --eval");
  app.add_option("--samples", arguments.samples, "maskings of a piece")->check(CLI::Range(1, 64));
  app.add_option("--threads", arguments.threads, "inference.threads of the node")
      ->check(CLI::Range(1, 64));
  app.add_option("--tokens", arguments.shape.tokens, "of a piece")->check(CLI::Range(8, 512));
  app.add_option("--window", arguments.shape.window, "tokens of a piece that are to be learned")
      ->check(CLI::Range(1, 512));
  app.add_option("--set", arguments.settings, "KEY=VALUE of the node's configuration");
  app.add_option("--deep-steps", arguments.deep_steps, "most steps of the deep round")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--similarity", arguments.similarity,
                 "least cosine similarity at which a pattern's adapter applies")
      ->check(CLI::Range(-1.0, 1.0));
  app.add_flag("--deep-only", arguments.deep_only, "leave the background loop out");
  app.add_option("--limit-minutes", arguments.limit_minutes, "of learning");
  CLI11_PARSE(app, argc, argv);
  arguments.shape.window = std::min(arguments.shape.window, arguments.shape.tokens - 1);
  const absl::Status status = ruvd::bench::Run(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
  }
  return status.ok() ? 0 : 1;
}
