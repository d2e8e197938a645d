// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the adapter of one pattern gains, by its form: `learn_pattern --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "inference/adapter/frame_set.h"
#include "inference/backend/backend.h"
#include "inference/package/model_package.h"
#include "inference/train/network.h"
#include "inference/train/trainer.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "What a pattern's adapter gains on other text of its topic, by the adapter's form. A cluster "
    "is\n"
    "a document: some of its pieces are the lessons, others are held back, and the background\n"
    "round's own training runs with its default steps. Each --arm is FORM:RANK:LAYERS[:RATE]; the\n"
    "form is lora, or core for cores in the frame beside the model, and LAYERS counts from the "
    "last.\n"
    "Figures are the change of the held-back loss (NELBO, nats/token; below zero is better), and "
    "the\n"
    "difference from the first arm on the same masks, with 95 % bootstrap intervals over "
    "documents.";

struct Arguments : CommonArguments {
  std::vector<std::string> domains = {"kubernetes", "python", "medicine"};
  std::vector<std::string> arms = {"lora:2:2", "core:8:2"};
  std::vector<size_t> lessons = {1, 4};
  size_t held_out = 4;
  size_t documents = 8;  // of each domain
  CropShape shape{.tokens = 128, .window = 64};
};

struct Arm {
  std::string name;
  bool core = false;
  int rank = 0;
  int layers = 0;
  float rate = 0;  // 0: the trainer's default
};

template <typename Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number > 0;
}

absl::StatusOr<Arm> ParseArm(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  Arm arm{.name = text};
  if (parts.size() < 3 || parts.size() > 4 || (parts[0] != "lora" && parts[0] != "core") ||
      !Parse(parts[1], &arm.rank) || !Parse(parts[2], &arm.layers) ||
      (parts.size() == 4 && !Parse(parts[3], &arm.rate))) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "--arm {} is not FORM:RANK:LAYERS[:RATE], such as core:8:2:0.02", text);
  }
  arm.core = parts[0] == "core";
  return arm;
}

// One document: lessons come from its beginning, and the pieces behind them are held back.
using Document = std::vector<inference::TrainingExample>;

absl::StatusOr<std::vector<Document>> ReadDocuments(const Arguments& arguments,
                                                    const inference::Tokenizer& tokenizer) {
  constexpr size_t kAllPieces = 1 << 20;
  const size_t needed = *std::ranges::max_element(arguments.lessons) + arguments.held_out;
  std::vector<Document> documents;
  for (const std::string& domain : arguments.domains) {
    const std::string path = fmt::format("{}/{}.train.jsonl.zst", arguments.corpus, domain);
    ASSIGN_OR_RETURN(const Crops crops, ReadCrops(path, tokenizer, arguments.shape, kAllPieces));
    const std::vector<inference::TrainingExample> pieces = crops.Examples();
    std::vector<Document> long_enough;
    for (size_t from = 0; from < pieces.size();) {
      size_t to = from;
      while (to < pieces.size() && crops.documents[to] == crops.documents[from]) {
        ++to;
      }
      if (to - from >= needed) {
        long_enough.emplace_back(pieces.begin() + static_cast<std::ptrdiff_t>(from),
                                 pieces.begin() + static_cast<std::ptrdiff_t>(from + needed));
      }
      from = to;
    }
    const size_t count = std::min(arguments.documents, long_enough.size());
    for (size_t i = 0; i < count; ++i) {
      documents.push_back(std::move(long_enough[i * long_enough.size() / count]));
    }
  }
  if (documents.size() < kMinDocuments) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "only {} documents have {} pieces of {} tokens; ask for fewer lessons or give "
                 "longer texts",
                 documents.size(), needed, arguments.shape.tokens);
  }
  return documents;
}

struct Bench {
  std::unique_ptr<inference::Transformer> transformer;
  inference::FrameSet frame;
};

// The lists have one change for each document, in nats per token.
struct ArmChanges {
  std::vector<double> taught;
  std::vector<double> held_out;
  double seconds = 0;  // of one training
};

absl::StatusOr<ArmChanges> RunArm(const Bench& bench, const Arguments& arguments, const Arm& arm,
                                  const std::vector<Document>& documents, size_t lessons) {
  const inference::ModelConfig& config = bench.transformer->model().config();
  const auto sites = inference::train::SitesFrom(
      config, static_cast<size_t>(std::max(0, config.layers - arm.layers)), false);
  ArmChanges changes;
  for (size_t i = 0; i < documents.size(); ++i) {
    const std::span<const inference::TrainingExample> pieces = documents[i];
    const auto taught = pieces.first(lessons);
    const inference::TrainingOptions options{
        .rank = arm.rank, .learning_rate = arm.rate, .seed = i};
    const auto change =
        [&](std::span<const inference::TrainingExample> measured) -> absl::StatusOr<double> {
      ASSIGN_OR_RETURN(
          const inference::TrainingResult result,
          arm.core ? TrainCores(*bench.transformer, bench.frame, sites, taught, measured, nullptr,
                                options)
                   : TrainLora(*bench.transformer, sites, taught, measured, nullptr, options));
      return result.held_out_after - result.held_out_before;
    };
    const TimePoint begin = SystemClock().Now();
    ASSIGN_OR_RETURN(changes.held_out.emplace_back(), change(pieces.last(arguments.held_out)));
    changes.seconds += std::chrono::duration<double>(SystemClock().Now() - begin).count();
    ASSIGN_OR_RETURN(changes.taught.emplace_back(), change(taught));
  }
  changes.seconds /= static_cast<double>(documents.size());
  return changes;
}

nlohmann::json Compared(const std::string& text, const std::vector<double>& arm,
                        const std::vector<double>& first) {
  std::vector<double> differences = arm;
  for (size_t i = 0; i < differences.size(); ++i) {
    differences[i] -= first[i];
  }
  const Interval change = Bootstrap(arm);
  const Interval against = Bootstrap(differences);
  const auto worse = std::ranges::count_if(arm, [](double value) { return value >= 0; });
  fmt::print("  {} {}, against the first {}, no gain in {} of {}", text, ToText(change),
             ToText(against), worse, arm.size());
  return {{"change", ToJson(change)},
          {"against_first", ToJson(against)},
          {"without_gain", worse},
          {"documents", arm.size()}};
}

nlohmann::json Report(const std::string& name, size_t lessons, const ArmChanges& arm,
                      const ArmChanges& first) {
  fmt::print("{:<16} {:>2} lessons", name, lessons);
  const nlohmann::json taught = Compared("taught", arm.taught, first.taught);
  const nlohmann::json held_out = Compared("other", arm.held_out, first.held_out);
  fmt::print("  {:.1f} s\n", arm.seconds);
  return {{"arm", name},
          {"lessons", lessons},
          {"taught", taught},
          {"other", held_out},
          {"seconds", arm.seconds}};
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results, ResultsFile::Create(arguments.out));
  ThreadParallelRunner runner(arguments.threads);
  Bench bench;
  ASSIGN_OR_RETURN(bench.frame, inference::LoadFrameSet(inference::FramePath(arguments.model)));
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ASSIGN_OR_RETURN(bench.transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kExact, .runner = runner}));
  ASSIGN_OR_RETURN(const std::vector<Document> documents,
                   ReadDocuments(arguments, model->tokenizer()));
  std::vector<Arm> arms;
  for (const std::string& text : arguments.arms) {
    ASSIGN_OR_RETURN(arms.emplace_back(), ParseArm(text));
  }
  nlohmann::json report = nlohmann::json::array();
  for (const size_t lessons : arguments.lessons) {
    ArmChanges first;
    for (const Arm& arm : arms) {
      ASSIGN_OR_RETURN(const ArmChanges changes, RunArm(bench, arguments, arm, documents, lessons));
      if (first.taught.empty()) {
        first = changes;
      }
      report.push_back(Report(arm.name, lessons, changes, first));
    }
  }
  return results->Write({{"arms", report}});
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription);
  Arguments arguments;
  app.add_option("--model", arguments.model, "the model file, with its frame beside it")
      ->required();
  app.add_option("--corpus", arguments.corpus, "folder with DOMAIN.train.jsonl.zst")->required();
  app.add_option("--domains", arguments.domains, "domains whose documents are the clusters")
      ->delimiter(',');
  app.add_option("--arm", arguments.arms, "the forms that are compared; the first is the baseline");
  app.add_option("--lessons", arguments.lessons, "lessons of a cluster")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--held-out", arguments.held_out, "pieces of a document that are held back")
      ->check(CLI::Range(1, 64));
  app.add_option("--documents", arguments.documents, "documents of each domain")
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", arguments.threads, "threads that compute")->check(CLI::Range(1, 64));
  app.add_option("--out", arguments.out, "JSON file of the results");
  return RunExperiment(app, argc, argv, [&] { return Run(arguments); });
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
