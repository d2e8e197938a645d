// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a federation of nodes with different texts is worth: `federate --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/adapter_arms.h"
#include "bench/experiments/federate_report.h"
#include "bench/experiments/federate_rounds.h"
#include "bench/experiments/federate_world.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/frame_set.h"
#include "inference/backend/backend.h"
#include "inference/train/core_trainer.h"
#include "inference/train/model_weights.h"
#include "privacy/reasons.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "A federation of nodes, one domain of text each, that learn R-cores of one model together:\n"
    "local training, release under a tier, attacks, robust aggregation, a gate on each node's own\n"
    "held-out text, and a private LoRA on top. Compared with training alone and with training on\n"
    "all texts in one place, by exact NELBO in nats/token on common masks; below zero is better.\n"
    "Intervals: 95 % bootstrap over documents. Trained parts are kept in --cache for other runs.\n"
    "Exit status: 0 done (a refused release is a result), 1 failed, 2 bad flags or files.\n"
    "\n"
    "Small: federate --smoke --domains DOMAINS";

constexpr int kBadInput = 2;
constexpr int kFrameRank = 32;

// The objects that live as long as the experiment.
struct Workshop {
  explicit Workshop(const FederateSettings& settings) : runner(settings.threads) {}
  ThreadParallelRunner runner;
  std::shared_ptr<const inference::Model> model;
  std::unique_ptr<inference::train::ModelWeights> weights;
  std::unique_ptr<inference::Transformer> transformer;
  inference::FrameSet frame;
  std::unique_ptr<inference::train::CoreTrainer> trainer;
  std::optional<ResultCache> cache;
  std::optional<Scorer> scorer;
  std::optional<Scorer> gate_scorer;
  std::vector<DomainText> texts;
  Crops general;
  Crops gate_general;
  std::unique_ptr<ResultsFile> results;
};

// Returns the frame of the file that was named, or makes it for that file. Without a name the frame
// comes from a file of the cache, or it is kept in no file.
absl::StatusOr<inference::FrameSet> FrameFor(const FederateSettings& settings,
                                             const std::shared_ptr<const inference::Model>& model,
                                             ParallelRunner& runner) {
  const int rank = std::max(kFrameRank, settings.rank);
  std::string file = settings.frame;
  if (file.empty() && !settings.cache.empty()) {
    const std::string stem = std::filesystem::path(settings.model).stem().string();
    file = (std::filesystem::path(settings.cache) / fmt::format("frame-{}-r{}.gguf", stem, rank))
               .string();
  }
  std::error_code error;
  if (!file.empty() && std::filesystem::exists(file, error)) {
    ASSIGN_OR_RETURN(inference::FrameSet frame, inference::LoadFrameSet(file));
    RETURN_IF_ERROR(inference::CheckFrameSet(frame, *model));
    return frame;
  }
  constexpr size_t kPieces = 384;
  ASSIGN_OR_RETURN(const Crops text,
                   ReadCrops(settings.make_frame, model->tokenizer(), {}, kPieces));
  fmt::print(stderr, "making the frame {}\n", file);
  ASSIGN_OR_RETURN(inference::FrameSet frame, FrameOf(model, text.Examples(), rank, runner));
  if (!file.empty()) {
    RETURN_IF_ERROR(inference::SaveFrameSet(frame, file));
  }
  return frame;
}

// Fills in the texts that were not named with the files beside the domains.
absl::StatusOr<FederateSettings> WithTexts(FederateSettings settings, const DomainFiles& domain) {
  CommonArguments found;
  found.corpus = std::filesystem::path(domain.train).parent_path().string();
  found.eval = settings.eval;
  found.base = settings.make_frame;
  RETURN_IF_ERROR(
      FindTexts({.eval = "general text", .needs_eval = true, .base = "the frame"}, &found));
  settings.eval = found.eval;
  settings.make_frame = found.base;
  return settings;
}

// Pieces of general text: every other one is for the gate.
absl::Status ReadGeneral(const FederateSettings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(const Crops all,
                   ReadCrops(settings.eval, shop->model->tokenizer(), {}, 2 * settings.pieces));
  for (size_t i = 0; i < all.pieces.size(); ++i) {
    Crops& to = i % 2 == 0 ? shop->general : shop->gate_general;
    to.pieces.push_back(all.pieces[i]);
    to.documents.push_back(all.documents[i]);
  }
  if (shop->gate_general.pieces.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} has a single piece of 128 tokens; give more general text", settings.eval);
  }
  constexpr size_t kGatePieces = 32;
  const size_t count = std::min(kGatePieces, shop->gate_general.pieces.size());
  shop->gate_general.pieces.resize(count);
  shop->gate_general.documents.resize(count);
  return absl::OkStatus();
}

// Does every part of the work in which a flag or a file may turn out to be wrong.
absl::Status Prepare(const FederateSettings& given, Workshop* shop) {
  RETURN_IF_ERROR(CheckSettings(given));
  ASSIGN_OR_RETURN(const std::vector<DomainFiles> files,
                   ResolveDomains(given.domains, given.nodes));
  ASSIGN_OR_RETURN(const FederateSettings settings, WithTexts(given, files.front()));
  ASSIGN_OR_RETURN(shop->results, ResultsFile::Create(settings.json));
  ASSIGN_OR_RETURN(shop->cache, ResultCache::Open(settings.cache));
  ASSIGN_OR_RETURN(shop->model, inference::Model::Load(settings.model));
  RETURN_IF_ERROR(ReadGeneral(settings, shop));
  ASSIGN_OR_RETURN(shop->frame, FrameFor(settings, shop->model, shop->runner));
  for (const DomainFiles& domain : files) {
    ASSIGN_OR_RETURN(DomainText text, ReadDomain(domain, shop->model->tokenizer(),
                                                 {.train = settings.sequences,
                                                  .held_out = settings.held_out,
                                                  .valid = settings.pieces}));
    shop->texts.push_back(std::move(text));
  }
  return absl::OkStatus();
}

absl::StatusOr<FederateWorld> MakeWorld(const FederateSettings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(shop->weights,
                   inference::train::ModelWeights::Create(shop->model, nullptr, shop->runner));
  ASSIGN_OR_RETURN(shop->transformer, inference::DefaultBackend().Load(
                                          shop->model, {.precision = inference::Precision::kExact,
                                                        .runner = shop->runner}));
  ASSIGN_OR_RETURN(const inference::CoreShape shape,
                   CoreShapeOf(shop->frame, settings.rank, settings.boundaries));
  ASSIGN_OR_RETURN(shop->trainer,
                   inference::train::CoreTrainer::Create({.model = shop->model,
                                                          .weights = shop->weights.get(),
                                                          .frame = &shop->frame,
                                                          .runner = &shop->runner,
                                                          .pass = {}},
                                                         shape));
  constexpr uint64_t kResultMasks = 99;
  constexpr uint64_t kGateMasks = 7;
  shop->scorer.emplace(*shop->transformer, *shop->cache,
                       inference::NelboOptions{.draws = settings.draws, .seed = kResultMasks});
  shop->gate_scorer.emplace(*shop->transformer, *shop->cache,
                            inference::NelboOptions{.draws = settings.draws, .seed = kGateMasks});
  return FederateWorld{.model = shop->model.get(),
                       .frame = &shop->frame,
                       .trainer = shop->trainer.get(),
                       .cache = &*shop->cache,
                       .scorer = &*shop->scorer,
                       .gate_scorer = &*shop->gate_scorer,
                       .texts = shop->texts,
                       .general = &shop->general,
                       .gate_general = &shop->gate_general};
}

absl::StatusOr<ArmScores> ScoreArm(const FederateWorld& world, const AdaptersTogether& adapters) {
  ArmScores arm;
  for (const DomainText& text : world.texts) {
    ASSIGN_OR_RETURN(Scores scores, world.scorer->Score(adapters, text.valid));
    arm.domains.push_back(std::move(scores));
  }
  ASSIGN_OR_RETURN(arm.general, world.scorer->Score(adapters, *world.general));
  return arm;
}

absl::StatusOr<ArmScores> ScoreCores(const FederateWorld& world,
                                     const federation::BankedValues& values) {
  ASSIGN_OR_RETURN(const auto served, ServedCores(world, values));
  return ScoreArm(world, {served});
}

absl::StatusOr<std::vector<ArmScores>> ScoreFederation(const FederateWorld& world,
                                                       const FederationPlan& plan) {
  ASSIGN_OR_RETURN(const FederationOutcome outcome, RunFederation(world, plan));
  std::vector<ArmScores> arms;
  for (const NodeOutcome& node : outcome.nodes) {
    ASSIGN_OR_RETURN(ArmScores arm, ScoreCores(world, node.values));
    arms.push_back(std::move(arm));
  }
  return arms;
}

// Scores what a node gets by itself, and with its private adapter on top.
absl::Status ScoreOwn(const FederateWorld& world, const FederateSettings& settings, size_t node,
                      const federation::BankedValues& values, NodeScores* scores) {
  ASSIGN_OR_RETURN(const federation::BankedValues alone, TrainAlone(world, settings, node));
  ASSIGN_OR_RETURN(scores->local, ScoreCores(world, alone));
  ASSIGN_OR_RETURN(const auto overlay, TrainOverlay(world, settings, node, values));
  ASSIGN_OR_RETURN(const auto served, ServedCores(world, values));
  ASSIGN_OR_RETURN(scores->overlay, ScoreArm(world, {served, overlay}));
  ASSIGN_OR_RETURN(const auto lora,
                   TrainOverlay(world, settings, node, ZeroCores(world.trainer->shape())));
  scores->local_lora.domains.resize(world.texts.size());
  ASSIGN_OR_RETURN(scores->local_lora.domains[node],
                   world.scorer->Score({lora}, world.texts[node].valid));
  return absl::OkStatus();
}

absl::Status ScoreNodes(const FederateWorld& world, const FederateSettings& settings,
                        const FederationOutcome& outcome, ExperimentScores* scores) {
  for (size_t node = 0; node < outcome.nodes.size(); ++node) {
    const NodeOutcome& own = outcome.nodes[node];
    NodeScores& to = scores->nodes.emplace_back();
    to.spent = outcome.spent;
    to.bytes = own.bytes;
    to.committed = own.committed;
    ASSIGN_OR_RETURN(to.federated, ScoreCores(world, own.values));
    if (settings.compare == "all") {
      RETURN_IF_ERROR(ScoreOwn(world, settings, node, own.values, &to));
    }
  }
  return absl::OkStatus();
}

// Scores the federation that the expectations compare with: without attackers, or without noise.
absl::Status ScoreReferences(const FederateWorld& world, const FederationPlan& plan,
                             ExperimentScores* scores) {
  const FederateSettings& settings = plan.settings;
  if (plan.attackers > 0) {
    ASSIGN_OR_RETURN(scores->reference,
                     ScoreFederation(world, {.settings = settings, .honest = plan.honest}));
  } else if (settings.tier != "public") {
    FederateSettings open = settings;
    open.tier = "public";
    open.budget = settings.baseline;
    open.outer = "plain";
    open.outer_step = 1;
    ASSIGN_OR_RETURN(scores->reference,
                     ScoreFederation(world, {.settings = open, .honest = plan.honest}));
  }
  if (plan.attackers == 0 && settings.tier == "dp" && settings.unit == "example") {
    ASSIGN_OR_RETURN(
        scores->clipped,
        ScoreFederation(world, {.settings = settings, .honest = plan.honest, .noise = false}));
  }
  return absl::OkStatus();
}

nlohmann::json SettingsJson(const FederateSettings& s) {
  return {{"model", std::filesystem::path(s.model).filename().string()},
          {"nodes", s.nodes},
          {"tier", s.tier},
          {"unit", s.unit},
          {"epsilon", s.epsilon},
          {"delta", s.delta},
          {"clip", s.clip},
          {"attack", s.attack},
          {"attackers", s.attackers},
          {"strategy", s.strategy},
          {"rule", s.rule},
          {"outer", {s.outer, s.outer_step, s.outer_momentum}},
          {"gate", {s.gate, s.gate_errors}},
          {"budget", {s.budget.rounds, s.budget.steps, s.budget.batch}},
          {"baseline", {s.baseline.rounds, s.baseline.steps, s.baseline.batch}},
          {"rank", s.rank},
          {"boundaries", s.boundaries},
          {"overlay_rank", s.overlay_rank},
          {"sequences", s.sequences},
          {"pieces", s.pieces},
          {"held_out", s.held_out},
          {"draws", s.draws},
          {"seed", s.seed}};
}

absl::Status Run(const FederateSettings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(FederateWorld world, MakeWorld(settings, shop));
  const size_t attackers = settings.attack == "none" ? 0 : settings.attackers;
  const FederationPlan plan{
      .settings = settings, .honest = settings.nodes - attackers, .attackers = attackers};
  world.texts = world.texts.first(plan.honest);
  const absl::StatusOr<FederationOutcome> outcome = RunFederation(world, plan);
  if (ReasonOf(outcome.status()) == reasons::kSignalTooWeak) {
    fmt::print("refused: {}\n", MessageOf(outcome.status()));
    return shop->results->Write({{"experiment", "federate"},
                                 {"settings", SettingsJson(settings)},
                                 {"refused", MessageOf(outcome.status())}});
  }
  RETURN_IF_ERROR(outcome.status());
  ExperimentScores scores;
  ASSIGN_OR_RETURN(scores.base, ScoreArm(world, {}));
  if (settings.compare == "all") {
    ASSIGN_OR_RETURN(const federation::BankedValues centralised,
                     TrainCentralised(world, settings, plan.honest));
    ASSIGN_OR_RETURN(scores.centralised, ScoreCores(world, centralised));
  }
  RETURN_IF_ERROR(ScoreNodes(world, settings, *outcome, &scores));
  RETURN_IF_ERROR(ScoreReferences(world, plan, &scores));
  nlohmann::json json = Report(scores, world.texts,
                               {.rounds = static_cast<size_t>(settings.budget.rounds),
                                .attacked = attackers > 0,
                                .noised = attackers == 0 && settings.tier != "public",
                                .general = world.general});
  json["experiment"] = "federate";
  json["settings"] = SettingsJson(settings);
  json["rounds"] = outcome->rounds;
  return shop->results->Write(json);
}

int Fail(const absl::Status& status, int exit_status) {
  fmt::print(stderr, "{}\n", MessageOf(status));
  return exit_status;
}

int Main(int argc, char** argv) {
  const bool smoke = std::any_of(argv, argv + argc, [](const char* argument) {
    return std::string_view(argument) == "--smoke";
  });
  FederateSettings settings = smoke ? SmokeSettings() : FederateSettings();
  CLI::App app(kDescription);
  AddFederateFlags(&app, &settings);
  constexpr int kGoOn = -1;
  const int parsed = [&] {
    CLI11_PARSE(app, argc, argv);
    return kGoOn;
  }();
  if (parsed != kGoOn) {
    return parsed == 0 ? 0 : kBadInput;
  }
  FillDefaults(&settings);
  Workshop shop(settings);
  if (const absl::Status status = Prepare(settings, &shop); !status.ok()) {
    return Fail(status, kBadInput);
  }
  const absl::Status status = Run(settings, &shop);
  return status.ok() ? 0 : Fail(status, 1);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
