// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_world.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/talora_file.h"
#include "inference/kernels/kernel_table.h"

namespace ruvd::bench {
namespace {

// What training depends on besides its texts, as part of a key of the cache
nlohmann::json TrainingKey(const FederateWorld& world, std::string_view kind) {
  const inference::CoreShape& shape = world.trainer->shape();
  return {{"kind", kind},
          {"model", ToHex(world.model->hash())},
          {"frame", ToHex(world.frame->id)},
          {"values", shape.values_per_bank()},
          {"boundaries", shape.boundaries},
          {"rounds", world.rounds},
          {"steps", world.local.steps},
          {"batch", world.local.batch},
          {"rate", world.local.learning_rate},
          {"products", ProductsName()},
          {"seed", world.seed}};
}

// A rise and fall of the learning rate over all steps, which suits training in one go.
inference::train::CoreSteps AllSteps(const FederateWorld& world) {
  const uint64_t all = static_cast<uint64_t>(world.rounds) * world.local.steps;
  return {.learning_rate = world.local.learning_rate, .count = all, .schedule_steps = all};
}

absl::StatusOr<federation::BankedValues> TrainCores(const FederateWorld& world,
                                                    const inference::train::Objective& objective) {
  ASSIGN_OR_RETURN(inference::train::CoreTrainer::Trained trained,
                   world.trainer->Train(ZeroCores(world.trainer->shape()), objective,
                                        AllSteps(world), /*state=*/nullptr));
  return std::move(trained.values);
}

}  // namespace

std::string_view ProductsName() {
  return inference::Kernels().rounded != nullptr ? "bfloat16" : "float32";
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> ServedCores(
    const FederateWorld& world, const federation::BankedValues& values) {
  return TaloraOfCores(*world.frame, world.trainer->shape(), values, "federated", /*version=*/1);
}

absl::StatusOr<federation::BankedValues> TrainAlone(const FederateWorld& world, size_t node) {
  nlohmann::json key = TrainingKey(world, "alone");
  key["text"] = ToHex(world.texts[node].digest);
  key["node"] = node;
  if (const auto kept = world.cache->Find(key)) {
    return kept->get<federation::BankedValues>();
  }
  fmt::print(stderr, "training {} alone\n", world.texts[node].name);
  ASSIGN_OR_RETURN(const auto objective,
                   ObjectiveOf(*world.model, world.texts[node], static_cast<int>(world.local.batch),
                               SeedOfNode(world.seed, node)));
  ASSIGN_OR_RETURN(federation::BankedValues values, TrainCores(world, *objective));
  RETURN_IF_ERROR(world.cache->Put(key, values));
  return values;
}

absl::StatusOr<federation::BankedValues> TrainCentralised(const FederateWorld& world,
                                                          size_t nodes) {
  nlohmann::json key = TrainingKey(world, "centralised");
  for (const DomainText& text : world.texts.first(nodes)) {
    key["texts"].push_back(ToHex(text.digest));
  }
  if (const auto kept = world.cache->Find(key)) {
    return kept->get<federation::BankedValues>();
  }
  fmt::print(stderr, "training {} domains together\n", nodes);
  ASSIGN_OR_RETURN(const auto objective,
                   PooledObjective(*world.model, world.texts.first(nodes),
                                   static_cast<int>(world.local.batch), world.seed));
  ASSIGN_OR_RETURN(federation::BankedValues values, TrainCores(world, *objective));
  RETURN_IF_ERROR(world.cache->Put(key, values));
  return values;
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> TrainOverlay(
    const FederateWorld& world, size_t node, int rank, const federation::BankedValues& cores) {
  const std::vector<float> flat = Flattened(cores);
  nlohmann::json key = TrainingKey(world, "overlay file");
  key["text"] = ToHex(world.texts[node].digest);
  key["node"] = node;
  key["overlay_rank"] = rank;
  key["cores"] =
      ToHex(Sha256({reinterpret_cast<const uint8_t*>(flat.data()), flat.size() * sizeof(float)}));
  constexpr char kName[] = "overlay";
  if (const auto kept = world.cache->Find(key)) {
    const std::optional<std::string> file = FromHex(kept->get<std::string>());
    return inference::ParseTaloraFile(AsBytes(file.value_or("")), *world.model, kName);
  }
  fmt::print(stderr, "training the overlay of {}\n", world.texts[node].name);
  const uint64_t seed = SeedOfNode(world.seed, node);
  ASSIGN_OR_RETURN(const auto objective, ObjectiveOf(*world.model, world.texts[node],
                                                     static_cast<int>(world.local.batch), seed));
  inference::train::CoreSteps steps = AllSteps(world);
  steps.learning_rate = kOverlayRate;
  ASSIGN_OR_RETURN(
      std::shared_ptr<const inference::Talora> overlay,
      world.trainer->TrainOverlay(cores, *objective, steps,
                                  {.rank = rank, .seed = seed, .labels = {.name = kName}}));
  ASSIGN_OR_RETURN(const std::string file, SerializeTaloraFile(*overlay, *world.model));
  RETURN_IF_ERROR(world.cache->Put(key, ToHex(AsBytes(file))));
  return overlay;
}

}  // namespace ruvd::bench
