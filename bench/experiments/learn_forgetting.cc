// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What keeps an adapter from forgetting as it learns one domain after another:
// `learn_forgetting --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/adapter_arms.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/serving_gate.h"
#include "bench/experiments/sessions.h"
#include "inference/backend/backend.h"
#include "inference/train/ewc.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "One LoRA learns the domains one after the other, as the deep loop would; arms differ in what\n"
    "keeps it from forgetting: nothing, EWC++, replay 1:1 of general and earlier text, replay of\n"
    "general text that follows the model without adapter (replay-KL). Scored at the end, on "
    "common\n"
    "masks (exact NELBO of the second half of each piece given the first, nats/token): the last\n"
    "domain, the earlier ones against what they were when just learned, and general text; with "
    "the\n"
    "adapter always on ('raw') and as a node serves ('served': on where a pattern of the domains "
    "is\n"
    "near the prompt). 95 % bootstrap intervals over documents of the mean over seeds.";

struct Arguments : CommonArguments {
  std::vector<std::string> domains;
  std::vector<std::string> arms;
  int rank = 8;
  double learning_rate = 1.25e-3;
  double fisher_rate = 0.05;
  std::vector<double> strengths = {100, 10'000};
  double divergence_weight = 1;
  ArmSteps steps;
  int draws = 4;
  size_t pieces = 96;
};

constexpr CropShape kShape{.tokens = 128, .window = 64};
constexpr size_t kReplayPieces = 2048;
constexpr size_t kWhiteningPieces = 512;
constexpr size_t kPatternPieces = 256;
constexpr double kGeneralTarget = 0.01;  // of the NELBO of general text as served

struct ForgettingArm {
  std::string name;
  double strength = 0;  // of EWC
  bool replay = false;  // of general and earlier text
  bool follow = false;  // replay-KL on general text
};

std::vector<ForgettingArm> AllArms(const Arguments& arguments) {
  std::vector<ForgettingArm> arms = {{.name = "plain"}};
  for (const double strength : arguments.strengths) {
    arms.push_back({.name = fmt::format("ewc-{:g}", strength), .strength = strength});
  }
  arms.push_back({.name = "replay", .replay = true});
  arms.push_back({.name = "replay-kl", .follow = true});
  arms.push_back({.name = "replay+replay-kl", .replay = true, .follow = true});
  return arms;
}

// A text to train on and to be scored by.
struct DomainText {
  std::string name;
  std::vector<inference::TrainingExample> train;
  Crops valid;
  std::vector<bool> opens;  // by valid piece: whether the adapter would serve it
  inference::NelboTable untrained;
};

struct Bench {
  ArmParts parts;
  inference::Transformer* transformer = nullptr;
  std::vector<DomainText> domains;  // in the order they are learned
  DomainText general;               // train: what is replayed
  inference::NelboOptions nelbo;
};

absl::StatusOr<std::unique_ptr<inference::train::Objective>> StageObjective(
    const Bench& bench, const Arguments& arguments, const ForgettingArm& arm, size_t stage,
    uint64_t seed) {
  const int batch = arguments.steps.batch;
  const auto objective = [&](std::vector<inference::TrainingExample> examples) {
    return inference::train::MakeObjective(*bench.parts.model, std::move(examples),
                                           {.batch = batch, .seed = seed});
  };
  std::vector<inference::train::ObjectivePart> parts(1);
  ASSIGN_OR_RETURN(parts[0].objective, objective(bench.domains[stage].train));
  if (arm.replay) {
    // Half of the replayed text is general and half comes from the domains before; in the first
    // stage all of it is general.
    std::vector<inference::TrainingExample> old;
    for (size_t i = 0; i < bench.general.train.size(); ++i) {
      const bool earlier = stage > 0 && i % 2 == 1;
      const std::vector<inference::TrainingExample>& from =
          earlier ? bench.domains[i / 2 % stage].train : bench.general.train;
      old.push_back(from[i % from.size()]);
    }
    ASSIGN_OR_RETURN(parts.emplace_back().objective, objective(std::move(old)));
  }
  if (arm.follow) {
    inference::train::ObjectivePart& part = parts.emplace_back();
    part.follow_frozen = true;
    part.weight = arguments.divergence_weight;
    ASSIGN_OR_RETURN(part.objective, objective(bench.general.train));
  }
  return inference::train::MixObjectives(std::move(parts));
}

// Returns the adapter after each stage.
absl::StatusOr<std::vector<TrainedAdapter>> Learn(const Bench& bench, const Arguments& arguments,
                                                  const ForgettingArm& arm, uint64_t seed) {
  const inference::Model& model = *bench.parts.model;
  inference::train::ChangeSet<float> changes(bench.parts.weights->shape());
  RETURN_IF_ERROR(inference::train::AddLoras(model,
                                             inference::train::SitesFrom(model.config(), 0, false),
                                             arguments.rank, false, seed, &changes));
  std::optional<inference::train::EwcMemory> memory;
  std::vector<TrainedAdapter> stages;
  for (size_t stage = 0; stage < bench.domains.size(); ++stage) {
    ASSIGN_OR_RETURN(const auto objective, StageObjective(bench, arguments, arm, stage, seed));
    const inference::train::RunOptions options{
        .steps = arguments.steps.steps,
        .learning_rate = arguments.learning_rate,
        .ewc = {.strength = arm.strength,
                .fisher_rate = arm.strength > 0 ? arguments.fisher_rate : 0},
        .seed = seed};
    RETURN_IF_ERROR(inference::train::CheckRunOptions(options));
    inference::train::TrainingRun run({.weights = bench.parts.weights,
                                       .changes = &changes,
                                       .objective = objective.get(),
                                       .held_out = {},
                                       .runner = bench.parts.runner,
                                       .remembered = memory ? &*memory : nullptr},
                                      options);
    RETURN_IF_ERROR(run.Advance());
    if (arm.strength > 0) {
      ASSIGN_OR_RETURN(memory, inference::train::EwcMemoryOf(AsBytes(run.Checkpoint())));
    }
    stages.push_back({.talora = inference::StaticTalora(
                          inference::train::AdapterOf(model, changes, arm.name, 1)),
                      .parameters = changes.parameters().size()});
  }
  return stages;
}

// What an arm did on a text, by piece, mean over seeds.
struct TextScores {
  std::vector<double> raw;
  std::vector<double> served;
  std::vector<double> when_learned;  // raw, at the end of its own stage; of domains
};

void AddTo(const std::vector<double>& values, int seeds, std::vector<double>* sum) {
  sum->resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    (*sum)[i] += values[i] / seeds;
  }
}

absl::Status Score(const Bench& bench, const DomainText& text, const TrainedAdapter& adapter,
                   int seeds, TextScores* scores) {
  ASSIGN_OR_RETURN(const inference::NelboTable on,
                   EvaluateAdapter(*bench.transformer, text.valid.pieces, adapter, bench.nelbo));
  std::vector<double> served = on.nats;
  for (size_t i = 0; i < served.size(); ++i) {
    served[i] = text.opens[i] ? on.nats[i] : text.untrained.nats[i];
  }
  AddTo(on.nats, seeds, &scores->raw);
  AddTo(served, seeds, &scores->served);
  return absl::OkStatus();
}

struct ArmScores {
  std::string name;
  std::vector<TextScores> domains;
  TextScores general;
};

absl::StatusOr<ArmScores> RunArm(const Bench& bench, const Arguments& arguments,
                                 const ForgettingArm& arm) {
  ArmScores scores{
      .name = arm.name, .domains = std::vector<TextScores>(bench.domains.size()), .general = {}};
  for (int seed = 0; seed < arguments.seeds; ++seed) {
    ASSIGN_OR_RETURN(const std::vector<TrainedAdapter> stages,
                     Learn(bench, arguments, arm, static_cast<uint64_t>(seed) + 1));
    for (size_t d = 0; d < bench.domains.size(); ++d) {
      TextScores learned;
      RETURN_IF_ERROR(Score(bench, bench.domains[d], stages[d], arguments.seeds, &learned));
      AddTo(learned.raw, 1, &scores.domains[d].when_learned);
      RETURN_IF_ERROR(
          Score(bench, bench.domains[d], stages.back(), arguments.seeds, &scores.domains[d]));
    }
    RETURN_IF_ERROR(Score(bench, bench.general, stages.back(), arguments.seeds, &scores.general));
    fmt::print(stderr, "{} seed {}\n", arm.name, seed + 1);
  }
  return scores;
}

std::vector<double> Minus(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    differences[i] = a[i] - b[i];
  }
  return differences;
}

Interval Difference(const std::vector<double>& a, const std::vector<double>& b,
                    const std::vector<size_t>& documents) {
  return BootstrapDocuments(Minus(a, b), documents);
}

// Reports what an arm does on a text: against the untrained model, and against the plain arm.
nlohmann::json ReportText(const DomainText& text, const TextScores& own, const TextScores& plain,
                          const std::string& arm) {
  const std::vector<size_t>& documents = text.valid.documents;
  nlohmann::json report;
  const auto show = [&](const char* what, const Interval& interval) {
    report[what] = ToJson(interval);
    fmt::print("  {} | {} | {}: {:+.4f} [{:+.4f}, {:+.4f}]\n", arm, text.name, what, interval.mean,
               interval.low, interval.high);
  };
  show("raw", Difference(own.raw, text.untrained.nats, documents));
  show("served", Difference(own.served, text.untrained.nats, documents));
  if (!own.when_learned.empty()) {
    const std::vector<double> forgotten = Minus(own.raw, own.when_learned);
    show("forgotten", BootstrapDocuments(forgotten, documents));
    show("forgotten_against_plain",
         Difference(forgotten, Minus(plain.raw, plain.when_learned), documents));
  }
  show("raw_against_plain", Difference(own.raw, plain.raw, documents));
  show("served_against_plain", Difference(own.served, plain.served, documents));
  return report;
}

std::string Verdict(const nlohmann::json& arm, const Bench& bench) {
  const auto interval = [&](const std::string& text, const char* what) {
    return IntervalIn(arm[text][what]);
  };
  const std::string& first = bench.domains.front().name;
  const std::string& last = bench.domains.back().name;
  const auto judged = [&](const std::string& text) {
    return interval(text, "raw_against_plain").high < 0  ? "better"
           : interval(text, "raw_against_plain").low > 0 ? "worse"
                                                         : "no difference shown";
  };
  const Interval served = interval(bench.general.name, "served");
  const double allowed = kGeneralTarget * bench.general.untrained.NatsPerToken();
  return fmt::format(
      "against plain: {} {}, {} {}, general text {}; general text as served {} within 1 % "
      "({:+.4f} of {:.4f} nats, interval up to {:+.4f})",
      first, judged(first), last, judged(last), judged(bench.general.name),
      served.high <= allowed ? "is" : "is not shown to be", served.mean, allowed, served.high);
}

absl::StatusOr<DomainText> ReadText(const std::string& name, const std::string& train,
                                    size_t train_pieces, const std::string& valid, Bench& bench,
                                    size_t pieces) {
  const inference::Tokenizer& tokenizer = bench.parts.model->tokenizer();
  DomainText text{.name = name};
  ASSIGN_OR_RETURN(const Crops learned, ReadCrops(train, tokenizer, kShape, train_pieces));
  // All of a piece is learned, not its second half alone.
  for (const inference::ScoredDocument& piece : learned.pieces) {
    inference::TrainingExample& example = text.train.emplace_back();
    example.completion = piece.prompt;
    example.completion.insert(example.completion.end(), piece.completion.begin(),
                              piece.completion.end());
  }
  ASSIGN_OR_RETURN(text.valid, ReadCrops(valid, tokenizer, kShape, pieces));
  ASSIGN_OR_RETURN(text.untrained, inference::EvaluateNelbo(*bench.transformer, text.valid.pieces,
                                                            {}, bench.nelbo));
  return text;
}

absl::Status ReadAll(const Arguments& arguments, Bench* bench) {
  const auto& tokenizer = bench->parts.model->tokenizer();
  ASSIGN_OR_RETURN(bench->general, ReadText("general", arguments.base, kReplayPieces,
                                            arguments.eval, *bench, arguments.pieces));
  ASSIGN_OR_RETURN(const Crops base,
                   ReadCrops(arguments.base, tokenizer, kShape, kWhiteningPieces));
  ASSIGN_OR_RETURN(ServingGate gate, ServingGate::Create(*bench->transformer, base.pieces));
  for (const std::string& domain : arguments.domains) {
    const std::string path = fmt::format("{}/{}", arguments.corpus, domain);
    const std::string train = path + ".train.jsonl.zst";
    ASSIGN_OR_RETURN(bench->domains.emplace_back(),
                     ReadText(domain, train, limits::kMaxTrainingExamples,
                              path + ".valid.jsonl.zst", *bench, arguments.pieces));
    ASSIGN_OR_RETURN(const Crops learned, ReadCrops(train, tokenizer, kShape, kPatternPieces));
    RETURN_IF_ERROR(gate.Learn(learned.pieces));
  }
  std::vector<DomainText*> texts = {&bench->general};
  for (DomainText& domain : bench->domains) {
    texts.push_back(&domain);
  }
  for (DomainText* text : texts) {
    ASSIGN_OR_RETURN(text->opens, gate.Opens(text->valid.pieces));
    fmt::print("{}: untrained {:.4f} nats/token, {} pieces, the adapter serves {}\n", text->name,
               text->untrained.NatsPerToken(), text->opens.size(),
               std::ranges::count(text->opens, true));
  }
  return absl::OkStatus();
}

nlohmann::json ReportArm(const Bench& bench, const ArmScores& own, const ArmScores& plain) {
  nlohmann::json report;
  for (size_t d = 0; d < bench.domains.size(); ++d) {
    report[bench.domains[d].name] =
        ReportText(bench.domains[d], own.domains[d], plain.domains[d], own.name);
  }
  report[bench.general.name] = ReportText(bench.general, own.general, plain.general, own.name);
  report["verdict"] = Verdict(report, bench);
  fmt::print("verdict, {}: {}\n", own.name, report["verdict"].get<std::string>());
  return report;
}

absl::Status Run(Arguments arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  if (arguments.domains.empty()) {
    ASSIGN_OR_RETURN(arguments.domains, DomainsIn(arguments.corpus));
    arguments.domains.resize(std::min<size_t>(2, arguments.domains.size()));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const auto weights,
                   inference::train::ModelWeights::Create(model, nullptr, runner));
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kExact, .runner = runner}));
  Bench bench{.parts = {.model = model, .weights = weights.get(), .runner = &runner},
              .transformer = transformer.get(),
              .domains = {},
              .general = {},
              .nelbo = {.draws = arguments.draws, .seed = 99}};
  RETURN_IF_ERROR(ReadAll(arguments, &bench));
  nlohmann::json out = {{"experiment", "learn_forgetting"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"domains", arguments.domains},
                        {"rank", arguments.rank},
                        {"learning_rate", arguments.learning_rate},
                        {"fisher_rate", arguments.fisher_rate},
                        {"divergence_weight", arguments.divergence_weight},
                        {"steps", arguments.steps.steps},
                        {"batch", arguments.steps.batch},
                        {"draws", arguments.draws},
                        {"seeds", arguments.seeds}};
  std::optional<ArmScores> plain;
  for (const ForgettingArm& arm : AllArms(arguments)) {
    if (arm.name != "plain" && !arguments.arms.empty() &&
        std::ranges::count(arguments.arms, arm.name) == 0) {
      continue;  // the plain arm is what the others are compared with
    }
    ASSIGN_OR_RETURN(ArmScores own, RunArm(bench, arguments, arm));
    if (!plain) {
      plain = own;
    }
    out["arms"][arm.name] = ReportArm(bench, own, *plain);
  }
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  const ruvd::bench::CommonFlags flags = {.eval = "general text to be scored by",
                                          .needs_eval = true,
                                          .base = "public text to replay and to whiten by",
                                          .seeds = "trainings of each arm"};
  ruvd::bench::AddCommonFlags(flags, &app, &arguments);
  app.add_option("--domains", arguments.domains, "in their order; the first two by default")
      ->delimiter(',');
  app.add_option("--arms", arguments.arms, "beside plain; all by default")->delimiter(',');
  app.add_option("--rank", arguments.rank, "of the LoRA")->check(CLI::Range(1, 64));
  app.add_option("--learning-rate", arguments.learning_rate);
  app.add_option("--fisher-rate", arguments.fisher_rate, "of EWC++")
      ->check(CLI::Range(0.0001, 0.9999));
  app.add_option("--strengths", arguments.strengths, "of EWC++")->delimiter(',');
  app.add_option("--divergence-weight", arguments.divergence_weight, "of replay-KL");
  app.add_option("--steps", arguments.steps.steps, "of a domain")->check(CLI::Range(1, 10000));
  app.add_option("--batch", arguments.steps.batch, "pieces of a domain, and of each replay")
      ->check(CLI::Range(1, 256));
  app.add_option("--draws", arguments.draws, "maskings of a piece")->check(CLI::Range(1, 1000));
  app.add_option("--pieces", arguments.pieces, "of each text to be scored by");
  return ruvd::bench::RunExperiment(app, argc, argv, [&] {
    const absl::Status found = ruvd::bench::FindTexts(flags, &arguments);
    return found.ok() ? ruvd::bench::Run(arguments) : found;
  });
}
