// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_world.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/talora_file.h"

namespace ruvd::bench {
namespace {

// Trains cores from zero by the baseline's budget.
absl::StatusOr<federation::BankedValues> TrainCores(const FederateWorld& world,
                                                    const FederateSettings& settings,
                                                    const inference::train::Objective& objective) {
  ASSIGN_OR_RETURN(inference::train::CoreTrainer::Trained trained,
                   world.trainer->Train(ZeroCores(world.trainer->shape()), objective,
                                        StepsOf(settings, settings.baseline), /*state=*/nullptr));
  return std::move(trained.values);
}

}  // namespace

nlohmann::json TrainingKey(const FederateWorld& world, const FederateSettings& settings,
                           const TrainingBudget& budget) {
  return {{"model", ToHex(world.model->hash())},
          {"frame", ToHex(world.frame->id)},
          {"rounds", budget.rounds},
          {"steps", budget.steps},
          {"batch", budget.batch},
          {"rank", settings.rank},
          {"boundaries", settings.boundaries},
          {"rate", settings.learning_rate},
          {"seed", settings.seed}};
}

inference::train::CoreSteps StepsOf(const FederateSettings& settings,
                                    const TrainingBudget& budget) {
  const uint64_t all = static_cast<uint64_t>(budget.rounds) * static_cast<uint64_t>(budget.steps);
  return {.learning_rate =
              settings.learning_rate > 0 ? settings.learning_rate : CoreRate(settings.rank),
          .count = all,
          .schedule_steps = all};
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> ServedCores(
    const FederateWorld& world, const federation::BankedValues& values) {
  return TaloraOfCores(*world.frame, world.trainer->shape(), values, "federated", /*version=*/1);
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
                   ObjectiveOf(*world.model, world.texts[node], settings.baseline.batch,
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
  ASSIGN_OR_RETURN(const auto objective, PooledObjective(*world.model, world.texts.first(nodes),
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
  key["kind"] = "overlay file";
  key["text"] = ToHex(world.texts[node].digest);
  key["node"] = node;
  key["overlay_rank"] = settings.overlay_rank;
  key["cores"] =
      ToHex(Sha256({reinterpret_cast<const uint8_t*>(flat.data()), flat.size() * sizeof(float)}));
  constexpr char kName[] = "overlay";
  if (const auto kept = world.cache->Find(key)) {
    const std::optional<std::string> file = FromHex(kept->get<std::string>());
    return inference::ParseTaloraFile(AsBytes(file.value_or("")), *world.model, kName);
  }
  fmt::print(stderr, "training the overlay of {}\n", world.texts[node].name);
  const uint64_t seed = SeedOfNode(settings.seed, node);
  ASSIGN_OR_RETURN(const auto objective,
                   ObjectiveOf(*world.model, world.texts[node], settings.baseline.batch, seed));
  inference::train::CoreSteps steps = StepsOf(settings, settings.baseline);
  steps.learning_rate = kOverlayRate;
  ASSIGN_OR_RETURN(std::shared_ptr<const inference::Talora> overlay,
                   world.trainer->TrainOverlay(
                       cores, *objective, steps,
                       {.rank = settings.overlay_rank, .seed = seed, .labels = {.name = kName}}));
  ASSIGN_OR_RETURN(const std::string file, SerializeTaloraFile(*overlay, *world.model));
  RETURN_IF_ERROR(world.cache->Put(key, ToHex(AsBytes(file))));
  return overlay;
}

}  // namespace ruvd::bench
