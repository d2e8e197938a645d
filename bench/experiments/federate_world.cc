// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_world.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

// Trains cores from zero by the baseline's budget.
absl::StatusOr<federation::BankedValues> TrainCores(const FederateWorld& world,
                                                    const FederateSettings& settings,
                                                    const inference::train::Objective& objective) {
  TrainableAdapter& adapter = *world.adapter;
  adapter.SetCores(InBanks(std::vector<float>(adapter.core_parameters()), adapter.banks()));
  const LocalPlan plan = PlanOf(settings, settings.baseline);
  LocalTraining training(*world.pass, objective, adapter.core_parameters(), plan);
  RETURN_IF_ERROR(training.Run(0, plan.total_steps, &adapter.changes()));
  return adapter.Cores();
}

}  // namespace

nlohmann::json TrainingKey(const FederateWorld& world, const FederateSettings& settings,
                           const TrainingBudget& budget) {
  return {{"model", ToHex(world.parts.model->hash())},
          {"frame", ToHex(world.parts.frame->id)},
          {"rounds", budget.rounds},
          {"steps", budget.steps},
          {"batch", budget.batch},
          {"rank", settings.rank},
          {"boundaries", settings.boundaries},
          {"rate", settings.learning_rate},
          {"seed", settings.seed}};
}

LocalPlan PlanOf(const FederateSettings& settings, const TrainingBudget& budget) {
  return {
      .learning_rate =
          settings.learning_rate > 0 ? settings.learning_rate : CoreRate(settings.rank),
      .total_steps = static_cast<uint64_t>(budget.rounds) * static_cast<uint64_t>(budget.steps)};
}

std::shared_ptr<const inference::Talora> ServedCores(const FederateWorld& world,
                                                     const federation::BankedValues& values) {
  world.adapter->SetCores(values);
  return world.adapter->CoresAdapter();
}

absl::StatusOr<federation::BankedValues> TrainAlone(const FederateWorld& world,
                                                    const FederateSettings& settings, size_t node) {
  nlohmann::json key = TrainingKey(world, settings, settings.baseline);
  key["kind"] = "alone";
  key["text"] = ToHex(world.texts[node].digest);
  key["node"] = node;
  if (const auto kept = world.cache->Find(key)) {
    return kept->get<federation::BankedValues>();
  }
  fmt::print(stderr, "training {} alone\n", world.texts[node].name);
  ASSIGN_OR_RETURN(const auto objective,
                   ObjectiveOf(*world.parts.model, world.texts[node], settings.baseline.batch,
                               SeedOfNode(settings.seed, node)));
  ASSIGN_OR_RETURN(federation::BankedValues values, TrainCores(world, settings, *objective));
  RETURN_IF_ERROR(world.cache->Put(key, values));
  return values;
}

absl::StatusOr<federation::BankedValues> TrainCentralised(const FederateWorld& world,
                                                          const FederateSettings& settings,
                                                          size_t nodes) {
  nlohmann::json key = TrainingKey(world, settings, settings.baseline);
  key["kind"] = "centralised";
  for (const DomainText& text : world.texts.first(nodes)) {
    key["texts"].push_back(ToHex(text.digest));
  }
  if (const auto kept = world.cache->Find(key)) {
    return kept->get<federation::BankedValues>();
  }
  fmt::print(stderr, "training {} domains together\n", nodes);
  ASSIGN_OR_RETURN(const auto objective,
                   PooledObjective(*world.parts.model, world.texts.first(nodes),
                                   settings.baseline.batch, settings.seed));
  ASSIGN_OR_RETURN(federation::BankedValues values, TrainCores(world, settings, *objective));
  RETURN_IF_ERROR(world.cache->Put(key, values));
  return values;
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> TrainOverlay(
    const FederateWorld& world, const FederateSettings& settings, size_t node,
    const federation::BankedValues& cores) {
  const std::vector<float> flat = Flattened(cores);
  nlohmann::json key = TrainingKey(world, settings, settings.baseline);
  key["kind"] = "overlay";
  key["text"] = ToHex(world.texts[node].digest);
  key["node"] = node;
  key["overlay_rank"] = settings.overlay_rank;
  key["cores"] =
      ToHex(Sha256({reinterpret_cast<const uint8_t*>(flat.data()), flat.size() * sizeof(float)}));
  ASSIGN_OR_RETURN(const auto adapter,
                   TrainableAdapter::Create(world.parts,
                                            {.rank = settings.rank,
                                             .boundaries = settings.boundaries,
                                             .overlay_rank = settings.overlay_rank},
                                            SeedOfNode(settings.seed, node)));
  std::vector<float>& parameters = adapter->changes().parameters();
  if (const auto kept = world.cache->Find(key)) {
    parameters = kept->get<std::vector<float>>();
    return adapter->OverlayAdapter();
  }
  fmt::print(stderr, "training the overlay of {}\n", world.texts[node].name);
  adapter->SetCores(cores);
  ASSIGN_OR_RETURN(const auto objective,
                   ObjectiveOf(*world.parts.model, world.texts[node], settings.baseline.batch,
                               SeedOfNode(settings.seed, node)));
  LocalPlan plan = PlanOf(settings, settings.baseline);
  plan.learning_rate = kOverlayRate;
  plan.frozen = adapter->core_parameters();
  LocalTraining training(*world.pass, *objective, parameters.size(), plan);
  RETURN_IF_ERROR(training.Run(0, plan.total_steps, &adapter->changes()));
  RETURN_IF_ERROR(world.cache->Put(key, parameters));
  return adapter->OverlayAdapter();
}

}  // namespace ruvd::bench
