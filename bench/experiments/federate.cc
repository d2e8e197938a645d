// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a federation of nodes with different texts is worth: `federate --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_report.h"
#include "bench/experiments/federate_rounds.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_world.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "federation/learner/plan.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/frame_set.h"
#include "inference/backend/backend.h"
#include "inference/package/model_package.h"
#include "inference/train/core_trainer.h"
#include "inference/train/model_weights.h"
#include "privacy/consent/consent.h"
#include "privacy/reasons.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "A federation of nodes, one domain of text each, that learn R-cores of one model together by\n"
    "the rounds of a node: contributions under a tier, attacks, robust aggregation, and a private\n"
    "LoRA on top. Nodes do not gate here what they serve. Compared with training alone and with\n"
    "training on all texts in one place, by exact NELBO in nats/token on common masks; below zero\n"
    "is better. Intervals: 95 % bootstrap over documents. Trained parts are kept in --cache for\n"
    "other runs. What is not given by a flag is what a node does by default.\n"
    "Exit status: 0 done (a refused release is a result), 1 failed, 2 bad flags or files.\n"
    "\n"
    "Small: federate --smoke --domains DOMAINS";

using federation::ContributionKind;
using privacy::ConsentTier;

// The objects that live as long as the experiment.
struct Workshop {
  explicit Workshop(const FederateSettings& settings) : runner(settings.threads) {}
  ThreadParallelRunner runner;
  std::shared_ptr<const inference::Model> model;
  std::unique_ptr<inference::train::ModelWeights> weights;
  std::unique_ptr<inference::Transformer> transformer;
  inference::FrameSet frame;
  inference::CoreShape shape;
  federation::LearnerPlan open;  // of rounds without noise
  std::unique_ptr<inference::train::CoreTrainer> trainer;
  std::optional<ResultCache> cache;
  std::optional<Scorer> scorer;
  std::vector<DomainText> texts;
  Crops general;
  std::unique_ptr<ResultsFile> results;
};

// Does every part of the work in which a flag or a file may turn out to be wrong.
absl::Status Prepare(const FederateSettings& settings, Workshop* shop) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(const std::vector<DomainFiles> files,
                   ResolveDomains(settings.domains, settings.nodes));
  ASSIGN_OR_RETURN(shop->results, ResultsFile::Create(settings.json));
  ASSIGN_OR_RETURN(shop->cache, ResultCache::Open(settings.cache));
  ASSIGN_OR_RETURN(shop->model, inference::Model::Load(settings.model));
  ASSIGN_OR_RETURN(shop->frame, inference::LoadFrameSet(settings.frame.empty()
                                                            ? inference::FramePath(settings.model)
                                                            : settings.frame));
  RETURN_IF_ERROR(inference::CheckFrameSet(shop->frame, *shop->model));
  ASSIGN_OR_RETURN(const std::string general, GeneralText(settings.eval, files.front()));
  const inference::Tokenizer& tokenizer = shop->model->tokenizer();
  ASSIGN_OR_RETURN(shop->general, ReadCrops(general, tokenizer, {}, settings.pieces));
  for (const DomainFiles& domain : files) {
    ASSIGN_OR_RETURN(DomainText text,
                     ReadDomain(domain, tokenizer, settings.sequences, settings.pieces));
    shop->texts.push_back(std::move(text));
  }
  ASSIGN_OR_RETURN(shop->shape,
                   inference::CoreShapeOf(shop->frame, RankOf(settings), settings.boundaries));
  ASSIGN_OR_RETURN(shop->open, PlanOf(settings, shop->shape, ContributionKind::kDelta));
  return PlanOf(settings, shop->shape, KindOf(settings)).status();
}

absl::StatusOr<FederateWorld> MakeWorld(const FederateSettings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(shop->weights, inference::train::ModelWeights::Create(
                                      shop->model, nullptr, shop->runner,
                                      inference::train::TrainingPrecision::kMixed));
  ASSIGN_OR_RETURN(shop->transformer, inference::DefaultBackend().Load(
                                          shop->model, {.precision = inference::Precision::kExact,
                                                        .runner = shop->runner}));
  ASSIGN_OR_RETURN(shop->trainer,
                   inference::train::CoreTrainer::Create({.model = shop->model,
                                                          .weights = shop->weights.get(),
                                                          .frame = &shop->frame,
                                                          .runner = &shop->runner,
                                                          .pass = {}},
                                                         shop->shape));
  constexpr uint64_t kResultMasks = 99;
  shop->scorer.emplace(*shop->transformer, *shop->cache,
                       inference::NelboOptions{.draws = settings.draws, .seed = kResultMasks});
  return FederateWorld{.model = shop->model,
                       .frame = &shop->frame,
                       .runner = &shop->runner,
                       .trainer = shop->trainer.get(),
                       .cache = &*shop->cache,
                       .scorer = &*shop->scorer,
                       .texts = shop->texts,
                       .general = &shop->general,
                       .local = shop->open.local,
                       .rounds = settings.rounds,
                       .seed = settings.seed};
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

// Scores what a node gets by itself, and with its private adapter on top.
absl::Status ScoreOwn(const FederateWorld& world, int overlay_rank, size_t node,
                      const federation::BankedValues& values, NodeScores* scores) {
  ASSIGN_OR_RETURN(const federation::BankedValues alone, TrainAlone(world, node));
  ASSIGN_OR_RETURN(scores->local, ScoreCores(world, alone));
  ASSIGN_OR_RETURN(const auto overlay, TrainOverlay(world, node, overlay_rank, values));
  ASSIGN_OR_RETURN(const auto served, ServedCores(world, values));
  ASSIGN_OR_RETURN(scores->overlay, ScoreArm(world, {served, overlay}));
  ASSIGN_OR_RETURN(const auto lora,
                   TrainOverlay(world, node, overlay_rank, ZeroCores(world.trainer->shape())));
  scores->local_lora.domains.resize(world.texts.size());
  ASSIGN_OR_RETURN(scores->local_lora.domains[node],
                   world.scorer->Score({lora}, world.texts[node].valid));
  return absl::OkStatus();
}

absl::Status ScoreNodes(const FederateWorld& world, const FederateSettings& settings,
                        const FederationOutcome& outcome, ExperimentScores* scores) {
  ASSIGN_OR_RETURN(const ArmScores federated, ScoreCores(world, outcome.values));
  for (size_t node = 0; node < outcome.spent.size(); ++node) {
    NodeScores& to = scores->nodes.emplace_back();
    to.spent = outcome.spent[node];
    to.bytes = outcome.bytes[node];
    to.federated = federated;
    if (settings.compare == "all") {
      RETURN_IF_ERROR(ScoreOwn(world, settings.overlay_rank, node, outcome.values, &to));
    }
  }
  return absl::OkStatus();
}

// Returns the scores by node, all of which have the global adapter.
absl::StatusOr<std::vector<ArmScores>> ScoreFederation(const FederateWorld& world,
                                                       const FederationRun& run) {
  ASSIGN_OR_RETURN(const FederationOutcome outcome, RunFederation(world, run));
  ASSIGN_OR_RETURN(const ArmScores arm, ScoreCores(world, outcome.values));
  return std::vector<ArmScores>(run.honest, arm);
}

// Scores the federation that the expectations compare with: without attackers, or without noise.
absl::Status ScoreReferences(const FederateWorld& world, const FederationRun& run,
                             ExperimentScores* scores) {
  FederationRun other = run;
  other.attackers = 0;
  if (run.attackers > 0) {
    ASSIGN_OR_RETURN(scores->reference, ScoreFederation(world, other));
    return absl::OkStatus();
  }
  if (run.tier == ConsentTier::kPublic) {
    return absl::OkStatus();
  }
  other.tier = ConsentTier::kPublic;
  if (run.tier == ConsentTier::kDp) {
    ASSIGN_OR_RETURN(scores->clipped, ScoreFederation(world, other));
  }
  other.kind = ContributionKind::kDelta;
  other.settings.outer = "";  // that of gradients does not suit
  other.settings.outer_step = 0;
  ASSIGN_OR_RETURN(scores->reference, ScoreFederation(world, other));
  return absl::OkStatus();
}

nlohmann::json SettingsJson(const FederateSettings& s) {
  return {{"model", std::filesystem::path(s.model).filename().string()},
          {"nodes", s.nodes},
          {"tier", s.tier},
          {"epsilon", s.epsilon},
          {"delta", s.delta},
          {"attack", s.attack},
          {"attackers", s.attackers},
          {"participation", s.participation},
          {"rounds", s.rounds},
          {"batch", s.batch},
          {"overlay_rank", s.overlay_rank},
          {"sequences", s.sequences},
          {"pieces", s.pieces},
          {"draws", s.draws},
          {"seed", s.seed}};
}

// What the plan decides, by the names of its fields
nlohmann::json PlanJson(const federation::LearnerPlan& plan) {
  nlohmann::json json = {{"id", ToHex(plan.Id())},
                         {"rank", plan.rank},
                         {"boundaries", plan.boundaries},
                         {"values_per_bank", plan.values_per_bank},
                         {"strategy", static_cast<int>(plan.strategy.strategy)},
                         {"rule", plan.rule},
                         {"quorum", plan.quorum},
                         {"hold", plan.local.hold},
                         {"outer",
                          {{"kind", static_cast<int>(plan.outer.kind)},
                           {"step", plan.outer.step},
                           {"momentum", plan.outer.momentum}}}};
  if (plan.kind == ContributionKind::kDelta) {
    json["local"] = {{"learning_rate", plan.local.learning_rate},
                     {"steps", plan.local.steps},
                     {"batch", plan.local.batch},
                     {"prox", plan.local.prox}};
  } else {
    json["clip_norm"] = plan.clip_norm;
    json["noise_multiplier"] = plan.grid.NoiseMultiplier();
    json["nominal_batch"] = plan.nominal_batch;
  }
  return json;
}

absl::StatusOr<nlohmann::json> ScoreAll(const FederateWorld& world, const FederationRun& run,
                                        const FederationOutcome& outcome) {
  ExperimentScores scores;
  ASSIGN_OR_RETURN(scores.base, ScoreArm(world, {}));
  if (run.settings.compare == "all") {
    ASSIGN_OR_RETURN(const federation::BankedValues centralised,
                     TrainCentralised(world, run.honest));
    ASSIGN_OR_RETURN(scores.centralised, ScoreCores(world, centralised));
  }
  RETURN_IF_ERROR(ScoreNodes(world, run.settings, outcome, &scores));
  RETURN_IF_ERROR(ScoreReferences(world, run, &scores));
  return Report(scores, world.texts,
                {.attacked = run.attackers > 0,
                 .noised = run.attackers == 0 && run.tier != ConsentTier::kPublic,
                 .general = world.general});
}

absl::Status Run(const FederateSettings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(FederateWorld world, MakeWorld(settings, shop));
  const size_t attackers = settings.attack == "none" ? 0 : settings.attackers;
  const FederationRun run{.settings = settings,
                          .kind = KindOf(settings),
                          .tier = TierOf(settings),
                          .honest = settings.nodes - attackers,
                          .attackers = attackers};
  world.texts = world.texts.first(run.honest);
  ASSIGN_OR_RETURN(const federation::LearnerPlan plan, PlanOf(settings, shop->shape, run.kind));
  nlohmann::json json = {
      {"experiment", "federate"}, {"settings", SettingsJson(settings)}, {"plan", PlanJson(plan)}};
  const absl::StatusOr<FederationOutcome> outcome = RunFederation(world, run);
  if (ReasonOf(outcome.status()) == reasons::kSignalTooWeak) {
    fmt::print("refused: {}\n", MessageOf(outcome.status()));
    json["refused"] = MessageOf(outcome.status());
    return shop->results->Write(json);
  }
  RETURN_IF_ERROR(outcome.status());
  ASSIGN_OR_RETURN(const nlohmann::json report, ScoreAll(world, run, *outcome));
  json.update(report);
  json["rounds"] = outcome->rounds;
  return shop->results->Write(json);
}

int Main(int argc, char** argv) {
  FederateSettings settings = HasFlag(argc, argv, "--smoke") ? SmokeSettings() : FederateSettings();
  CLI::App app(kDescription);
  AddFederateFlags(&app, &settings);
  std::optional<Workshop> shop;
  return RunPrepared(
      app, argc, argv,
      [&] {
        shop.emplace(settings);
        return Prepare(settings, &*shop);
      },
      [&] { return Run(settings, &*shop); });
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
