// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/adapter_arms.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "inference/train/frame_estimate.h"
#include "inference/train/network_pass.h"

namespace ruvd::bench {
namespace {

using inference::train::ChangeSet;
using inference::train::Site;
using inference::train::TrainingSequence;

constexpr uint64_t kShuffleStream = 0x73687566666c6521ULL;

// The batches of another objective, each sequence at a random t.
class ShuffledBanks final : public inference::train::Objective {
 public:
  ShuffledBanks(std::unique_ptr<inference::train::Objective> objective, uint64_t seed)
      : objective_(std::move(objective)), seed_(seed) {}
  std::vector<TrainingSequence> Draw(uint64_t step) const override {
    std::vector<TrainingSequence> batch = objective_->Draw(step);
    Random random(Random(seed_ ^ kShuffleStream).Next() + step);
    for (TrainingSequence& sequence : batch) {
      sequence.t = random.Uniform();
    }
    return batch;
  }

 private:
  std::unique_ptr<inference::train::Objective> objective_;
  uint64_t seed_;
};

absl::Status AddArm(const ArmParts& parts, const AdapterArm& arm, uint64_t seed,
                    ChangeSet<float>* changes) {
  const std::vector<Site> sites = inference::train::SitesFrom(parts.model->config(), 0, false);
  return inference::train::AddTalora(*parts.model, sites, arm.plan,
                                     arm.core ? parts.frame : nullptr, seed, changes);
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return dot / std::max(1e-30, inference::train::Norm(a) * inference::train::Norm(b));
}

}  // namespace

absl::StatusOr<TrainedAdapter> TrainArm(const ArmParts& parts, const AdapterArm& arm,
                                        const std::vector<inference::TrainingExample>& examples,
                                        const ArmSteps& steps, uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  ChangeSet<float> changes(parts.weights->shape(), arm.schedule);
  RETURN_IF_ERROR(AddArm(parts, arm, seed, &changes));
  ASSIGN_OR_RETURN(std::unique_ptr<inference::train::Objective> objective,
                   inference::train::MakeObjective(*parts.model, examples,
                                                   {.batch = steps.batch, .seed = seed}));
  if (arm.shuffled) {
    objective = std::make_unique<ShuffledBanks>(std::move(objective), seed);
  }
  const inference::train::RunOptions options{
      .steps = steps.steps, .learning_rate = arm.learning_rate, .seed = seed};
  RETURN_IF_ERROR(inference::train::CheckRunOptions(options));
  inference::train::TrainingRun run({.weights = parts.weights,
                                     .changes = &changes,
                                     .objective = objective.get(),
                                     .held_out = {},
                                     .runner = parts.runner},
                                    options);
  RETURN_IF_ERROR(run.Advance());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  inference::train::AdapterLabels labels{.name = arm.name};
  if (arm.core) {
    labels.kind = inference::AdapterKind::kCore;
    labels.frame_id = parts.frame->id;
  }
  return TrainedAdapter{
      .talora = inference::train::TaloraOf(*parts.model, changes, labels, arm.plan.training),
      .shuffled = arm.shuffled,
      .parameters = changes.parameters().size(),
      .seconds = took.count()};
}

absl::StatusOr<inference::NelboTable> EvaluateAdapter(
    inference::Transformer& transformer, const std::vector<inference::ScoredDocument>& documents,
    const TrainedAdapter& adapter, const inference::NelboOptions& options) {
  Random random(options.seed ^ kShuffleStream);
  inference::AdapterMix mix;
  const inference::AdaptersOfStep adapters = [&](const inference::ReadingStep& step) {
    const double t = step.t;
    const double own = adapter.shuffled ? random.Uniform() : t;
    mix.parts.clear();
    AppendMix(*adapter.talora, static_cast<float>(own), {}, 1.0F, &mix);
    return &mix;
  };
  return EvaluateNelbo(transformer, documents, adapters, options);
}

absl::StatusOr<std::vector<double>> GradientCosines(
    const ArmParts& parts, const AdapterArm& arm, const TrainedAdapter& trained,
    const std::vector<inference::TrainingExample>& examples, uint64_t seed) {
  constexpr int kMaskings = 512;
  ChangeSet<float> changes(parts.weights->shape());
  RETURN_IF_ERROR(AddArm(parts, arm, seed, &changes));
  RETURN_IF_ERROR(inference::train::InitialiseFrom(*trained.talora->trunk, &changes));
  ASSIGN_OR_RETURN(const std::vector<TrainingSequence> sequences,
                   inference::train::HeldOutSequences(*parts.model, examples, {}, kMaskings, seed));
  std::array<std::vector<float>, 3> by_bank;
  by_bank.fill(std::vector<float>(changes.parameters().size()));
  std::vector<float*> places;
  for (const TrainingSequence& sequence : sequences) {
    places.push_back(by_bank[inference::BankIndex({}, static_cast<float>(sequence.t))].data());
  }
  inference::train::NetworkPass<float> pass(*parts.weights, *parts.runner, {});
  pass.Run(sequences, {.changes = &changes, .gradients = places});
  return std::vector<double>{Cosine(by_bank[0], by_bank[1]), Cosine(by_bank[0], by_bank[2]),
                             Cosine(by_bank[1], by_bank[2])};
}

absl::StatusOr<inference::FrameSet> FrameOf(const std::shared_ptr<const inference::Model>& model,
                                            const std::vector<inference::TrainingExample>& examples,
                                            int rank, ParallelRunner& runner) {
  constexpr uint64_t kBatch = 8;
  ASSIGN_OR_RETURN(const std::unique_ptr<inference::train::Objective> objective,
                   inference::train::MakeObjective(*model, examples,
                                                   {.batch = static_cast<int>(kBatch), .seed = 1}));
  std::vector<std::string> targets;
  for (const Site& site : inference::train::SitesFrom(model->config(), 0, false)) {
    targets.push_back(inference::train::TensorOf(site));
  }
  return inference::EstimateFrameSet(
      model, targets, {.rank = rank}, [&](uint64_t step) { return objective->Draw(step); },
      examples.size() / kBatch, runner);
}

}  // namespace ruvd::bench
