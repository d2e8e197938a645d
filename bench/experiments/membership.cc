// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a node's releases say about which texts are its lessons: `membership --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/federate_lessons.h"
#include "bench/experiments/federate_scores.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_training.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/membership_attack.h"
#include "bench/experiments/membership_releases.h"
#include "bench/experiments/paired.h"
#include "inference/adapter/core_shape.h"
#include "inference/backend/backend.h"
#include "inference/package/model_package.h"

namespace ruvd::bench {
namespace {

using privacy::ConsentTier;

constexpr char kDescription[] =
    "Membership inference on what one node releases: half of some texts of a domain are its\n"
    "lessons, and an attacker who sees all released sums of gradients guesses which half. The "
    "loss\n"
    "attack compares by how much the cluster's adapter lowers the exact NELBO of each text; the\n"
    "gradient attack takes the product of each text's gradient and the sum of all releases. Area\n"
    "under the ROC curve: 0.5 is a guess, 1 is certainty. Intervals: 95 % bootstrap over texts.\n"
    "Exit status: 0 done, 1 failed, 2 bad flags or files.";

constexpr size_t kMaskedNodes = 4;

struct Settings {
  FederateSettings federate;
  size_t lessons = 128;
  size_t maskings = 8;
  size_t rounds = 20;
};

// The objects that live as long as the experiment.
struct Workshop {
  explicit Workshop(const Settings& settings) : runner(settings.federate.threads) {}
  ThreadParallelRunner runner;
  std::shared_ptr<const inference::Model> model;
  std::unique_ptr<inference::Transformer> transformer;
  inference::FrameSet frame;
  inference::CoreShape shape;
  federation::LearnerPlan plan;
  std::optional<ResultCache> cache;
  std::unique_ptr<ResultsFile> results;
  Crops candidates;  // the even ones are lessons
  std::vector<inference::TrainingExample> examples;
  std::vector<std::vector<inference::TrainingExample>> lessons;  // by node
};

absl::Status ReadTexts(const Settings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(const std::vector<DomainFiles> files,
                   ResolveDomains(settings.federate.domains, kMaskedNodes));
  const inference::Tokenizer& tokenizer = shop->model->tokenizer();
  ASSIGN_OR_RETURN(shop->candidates,
                   ReadCrops(files.front().train, tokenizer, {}, 2 * settings.lessons));
  shop->examples = shop->candidates.Examples();
  std::vector<inference::TrainingExample>& attacked = shop->lessons.emplace_back();
  for (size_t i = 0; i < shop->examples.size(); i += 2) {
    attacked.push_back(shop->examples[i]);
  }
  for (size_t node = 1; node < kMaskedNodes; ++node) {
    ASSIGN_OR_RETURN(const Crops crops,
                     ReadCrops(files[node].train, tokenizer, {}, settings.lessons));
    shop->lessons.push_back(crops.Examples());
  }
  return absl::OkStatus();
}

// Does every part of the work in which a flag or a file may turn out to be wrong.
absl::Status Prepare(const Settings& settings, Workshop* shop) {
  const FederateSettings& federate = settings.federate;
  ASSIGN_OR_RETURN(shop->results, ResultsFile::Create(federate.json));
  ASSIGN_OR_RETURN(shop->cache, ResultCache::Open(""));
  ASSIGN_OR_RETURN(shop->model, inference::Model::Load(federate.model));
  ASSIGN_OR_RETURN(shop->frame, inference::LoadFrameSet(federate.frame.empty()
                                                            ? inference::FramePath(federate.model)
                                                            : federate.frame));
  RETURN_IF_ERROR(inference::CheckFrameSet(shop->frame, *shop->model));
  ASSIGN_OR_RETURN(shop->shape,
                   inference::CoreShapeOf(shop->frame, RankOf(federate), federate.boundaries));
  ASSIGN_OR_RETURN(shop->plan,
                   PlanOf(federate, shop->shape, federation::ContributionKind::kGradient));
  ASSIGN_OR_RETURN(shop->transformer, inference::DefaultBackend().Load(
                                          shop->model, {.precision = inference::Precision::kExact,
                                                        .runner = shop->runner}));
  return ReadTexts(settings, shop);
}

// Splits scores into those of lessons and those of others.
Interval AucOf(const std::vector<double>& scores) {
  std::vector<double> members;
  std::vector<double> others;
  for (size_t i = 0; i < scores.size(); ++i) {
    (i % 2 == 0 ? members : others).push_back(scores[i]);
  }
  return AucInterval(members, others);
}

struct Arm {
  std::string name;
  ReleaseTerms terms;
};

std::vector<Arm> Arms(const Settings& settings) {
  std::vector<Arm> arms;
  const auto add = [&](std::string name, ConsentTier tier, double epsilon) {
    arms.push_back({.name = std::move(name),
                    .terms = {.tier = tier,
                              .epsilon = epsilon,
                              .delta = settings.federate.delta,
                              .rounds = static_cast<uint32_t>(settings.rounds),
                              .seed = settings.federate.seed}});
  };
  add("plain sum of all lessons", ConsentTier::kPublic, 8);
  arms.back().terms.every_lesson = true;
  add("plain sum, sampled as at epsilon 8", ConsentTier::kPublic, 8);
  add("dp, epsilon 8", ConsentTier::kDp, 8);
  add("dp, epsilon 3", ConsentTier::kDp, 3);
  add("masked sum of 4 nodes, epsilon 8", ConsentTier::kMasked, 8);
  return arms;
}

absl::Status Run(const Settings& settings, Workshop* shop) {
  ASSIGN_OR_RETURN(const auto trainer,
                   TextLessonTrainer::Create(
                       {.model = shop->model, .frame = &shop->frame, .runner = &shop->runner},
                       shop->plan, shop->examples));
  ASSIGN_OR_RETURN(
      const std::vector<std::vector<float>> directions,
      Directions(ZeroCores(shop->shape), *trainer, settings.maskings, ~settings.federate.seed));
  constexpr uint64_t kResultMasks = 99;
  const Scorer scorer(*shop->transformer, *shop->cache,
                      {.draws = settings.federate.draws, .seed = kResultMasks});
  ASSIGN_OR_RETURN(const Scores before, scorer.Score({}, shop->candidates));
  nlohmann::json json = {{"experiment", "membership"},
                         {"lessons", shop->lessons.front().size()},
                         {"values", shop->shape.values()},
                         {"rounds", settings.rounds},
                         {"noise_multiplier", shop->plan.grid.NoiseMultiplier()}};
  fmt::print("{} lessons and as many other texts, {} values, {} rounds, noise multiplier {:.3g}\n",
             shop->lessons.front().size(), shop->shape.values(), settings.rounds,
             shop->plan.grid.NoiseMultiplier());
  fmt::print("{:<36} {:>7} {:>7}  {:<24} {}\n", "release", "rate", "epsilon", "loss attack",
             "gradient attack");
  for (const Arm& arm : Arms(settings)) {
    ASSIGN_OR_RETURN(const Releases releases, RunReleases({.model = shop->model,
                                                           .frame = &shop->frame,
                                                           .runner = &shop->runner,
                                                           .plan = &shop->plan,
                                                           .lessons = shop->lessons},
                                                          arm.terms));
    ASSIGN_OR_RETURN(const auto served, TaloraOfCores(shop->frame, shop->shape, releases.values,
                                                      "federated", /*version=*/1));
    ASSIGN_OR_RETURN(const Scores after, scorer.Score({served}, shop->candidates));
    const Interval loss = AucOf(Minus(before.nats, after.nats));
    const Interval gradient = AucOf(Products(directions, releases.sum));
    fmt::print("{:<36} {:>7.3f} {:>7.3f}  {:<24} {}\n", arm.name, releases.rate, releases.epsilon,
               ToText(loss), ToText(gradient));
    json["arms"].push_back({{"name", arm.name},
                            {"rate", releases.rate},
                            {"epsilon", releases.epsilon},
                            {"loss", ToJson(loss)},
                            {"gradient", ToJson(gradient)}});
  }
  return shop->results->Write(json);
}

void AddFlags(CLI::App* app, Settings* settings) {
  FederateSettings& federate = settings->federate;
  app->add_option("--model", federate.model, "Model file")->capture_default_str();
  app->add_option("--frame", federate.frame, "Frame of the cores; that of the model by default");
  app->add_option("--domains", federate.domains,
                  "Folder of domains, or four beginnings of files; the first is attacked")
      ->required();
  app->add_option("--lessons", settings->lessons, "Lessons of each node, and texts that are none")
      ->check(CLI::Range(16, 10'000))
      ->capture_default_str();
  app->add_option("--rounds", settings->rounds, "Rounds that a lesson may take part in")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--maskings", settings->maskings, "Maskings of a text in the gradient attack")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--draws", federate.draws, "Maskings of a text in the loss attack")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--threads", federate.threads, "Threads")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--seed", federate.seed, "Seed of samples, maskings and noise")
      ->capture_default_str();
  app->add_option("--json", federate.json, "File for the figures");
}

int Main(int argc, char** argv) {
  Settings settings;
  settings.federate.tier = "dp";
  settings.federate.draws = 8;
  CLI::App app(kDescription);
  AddFlags(&app, &settings);
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
