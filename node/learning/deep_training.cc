// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_training.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/limits.h"
#include "node/log/log.h"
#include "node/serving/served_adapters.h"

namespace ruvd::learning {
namespace {

// Rate of the running Fisher, as in the benchmark `learn_forgetting`: within a round of 200 steps,
// the Fisher of the round before fades except for what the new lessons share with it.
constexpr double kFisherRate = 0.05;
constexpr ptrdiff_t kGeneralPieceTokens = 128;
// For the lessons that decide when to stop: maskings of each, evaluations in a row without a new
// best before training stops, and a constant that makes their masks differ from those of training.
constexpr int kSelectionDraws = 2;
constexpr int kSelectionPatience = 4;
constexpr uint64_t kSelectionStream = 0x73656c656374696fULL;

// Cuts passages into pieces, each with its first token as the prompt; longer pieces would cost more
// than the lessons.
std::vector<inference::TrainingExample> GeneralExamples(const GeneralPassages& general) {
  std::vector<inference::TrainingExample> examples;
  for (const std::vector<inference::TokenId>& tokens : general.replayed) {
    for (auto from = tokens.begin(); tokens.end() - from > 1;) {
      const auto to = from + std::min<ptrdiff_t>(tokens.end() - from, kGeneralPieceTokens);
      examples.push_back({.prompt = {from, from + 1}, .completion = {from + 1, to}});
      from = to;
    }
  }
  return examples;
}

void WriteTokens(std::span<const inference::TokenId> tokens, ByteWriter* out) {
  out->Write<uint64_t>(tokens.size());
  for (const inference::TokenId token : tokens) {
    out->Write(token);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeepTraining>> DeepTraining::Create(const DeepTrainingInputs& inputs,
                                                                   const DeepOptions& options) {
  std::unique_ptr<DeepTraining> training(new DeepTraining(options));
  inference::Transformer& transformer = *inputs.transformer;
  training->model_ = transformer.shared_model();
  training->name_ = inputs.name;
  training->version_ = inputs.version;
  RETURN_IF_ERROR(training->AddChanges(inputs));
  RETURN_IF_ERROR(training->AddObjective(inputs));
  RETURN_IF_ERROR(training->AddSelection(inputs));
  ASSIGN_OR_RETURN(
      training->weights_,
      inference::train::ModelWeights::Create(
          transformer.shared_model(), inputs.beneath.empty() ? nullptr : &inputs.beneath,
          transformer.runner(), inference::train::TrainingPrecision::kMixed));
  const bool ewc = UsesEwc(options.guard);
  const bool select = !training->selection_.empty();
  const inference::train::RunOptions run_options{
      .steps = DeepSteps(options, inputs.taught.size()),
      .learning_rate = options.learning_rate,
      .evaluate_every = select ? options.select_every : 0,
      .patience = select ? kSelectionPatience : 0,
      .ewc = {.strength = ewc ? options.ewc_strength : 0,
              .fisher_rate = ewc ? kFisherRate : 0,
              .examples = options.batch},
      .seed = inputs.seed,
      .task = training->Task(inputs),
      .pass = {.memory_bytes = options.memory_bytes},
      .cancelled = inputs.cancelled};
  RETURN_IF_ERROR(inference::train::CheckRunOptions(run_options));
  const inference::train::RunParts parts{
      .weights = training->weights_.get(),
      .changes = training->changes_.get(),
      .objective = training->objective_.get(),
      .held_out = training->selection_,
      .runner = &transformer.runner(),
      .remembered = training->remembered_ ? &*training->remembered_ : nullptr};
  training->run_ = std::make_unique<inference::train::TrainingRun>(parts, run_options);
  return training;
}

absl::Status DeepTraining::AddChanges(const DeepTrainingInputs& inputs) {
  changes_ = std::make_unique<inference::train::ChangeSet<float>>(
      inference::train::NetworkShape::Of(model_->config()), DeepBanks(options_.banks));
  const std::vector<inference::train::Site> sites =
      inference::train::SitesFrom(model_->config(), 0, false);
  if (options_.banks == 0) {
    RETURN_IF_ERROR(inference::train::AddLoras(*model_, sites, options_.rank, false, inputs.seed,
                                               changes_.get()));
  } else {
    const inference::train::TaloraPlan plan{
        .trunk_rank = options_.rank,
        .residual_ranks = std::vector<int>(static_cast<size_t>(options_.banks), options_.bank_rank),
        .training = options_.bank_training};
    RETURN_IF_ERROR(
        inference::train::AddTalora(*model_, sites, plan, nullptr, inputs.seed, changes_.get()));
  }
  if (inputs.base == nullptr) {
    return absl::OkStatus();
  }
  if (!inference::train::InitialiseFrom(*inputs.base, changes_.get()).ok()) {
    LogInfo("{} has another rank or other banks, so the next version starts from zero",
            AdapterLabel(*inputs.base));
    return absl::OkStatus();
  }
  continues_ = true;
  if (!UsesEwc(options_.guard)) {
    return absl::OkStatus();
  }
  if (inputs.remembered != nullptr &&
      inputs.remembered->anchor.size() == changes_->parameters().size()) {
    remembered_ = *inputs.remembered;
  } else {
    LogInfo("there is no EWC++ memory that fits {}, so this round runs without the penalty",
            AdapterLabel(*inputs.base));
  }
  return absl::OkStatus();
}

absl::Status DeepTraining::AddObjective(const DeepTrainingInputs& inputs) {
  std::vector<inference::train::ObjectivePart> parts(1);
  ASSIGN_OR_RETURN(parts[0].objective, inference::train::MakeObjective(
                                           *model_, {inputs.taught.begin(), inputs.taught.end()},
                                           {.batch = options_.batch, .seed = inputs.seed}));
  if (ReplaysText(options_.guard)) {
    inference::train::ObjectivePart& general = parts.emplace_back();
    ASSIGN_OR_RETURN(general.objective,
                     inference::train::MakeObjective(
                         *model_, GeneralExamples(*inputs.general),
                         {.batch = options_.general_batch, .seed = inputs.seed + 1}));
    general.follow_frozen = UsesFrozenKl(options_.guard);
  }
  ASSIGN_OR_RETURN(objective_, inference::train::MixObjectives(std::move(parts)));
  return absl::OkStatus();
}

absl::Status DeepTraining::AddSelection(const DeepTrainingInputs& inputs) {
  if (inputs.selection.empty()) {
    return absl::OkStatus();
  }
  const int samples = kSelectionDraws * static_cast<int>(inputs.selection.size());
  ASSIGN_OR_RETURN(selection_,
                   inference::train::HeldOutSequences(*model_, inputs.selection, {}, samples,
                                                      inputs.seed ^ kSelectionStream));
  return absl::OkStatus();
}

// Returns a hash of all inputs that decide the run's numbers, besides its own options and changes.
// Only the presence of a global adapter counts: its versions follow each other faster than a round
// trains, so that an interrupted round could never continue. They differ little, and the result is
// judged on the newest one.
Digest DeepTraining::Task(const DeepTrainingInputs& inputs) const {
  ByteWriter out;
  out.WriteBytes(model_->hash()).Write(inputs.version).Write(options_.batch);
  out.Write(options_.general_batch).Write(static_cast<uint8_t>(options_.guard));
  out.WriteBytes(inputs.base == nullptr ? Digest{} : inference::AdapterId(*inputs.base));
  out.Write<uint64_t>(inputs.beneath.parts.size());
  for (const inference::AdapterMix::Part& part : inputs.beneath.parts) {
    const bool global = part.adapter->name == serving::kGlobalAdapter;
    out.WriteBytes(global ? Digest{} : inference::AdapterId(*part.adapter)).Write(part.weight);
  }
  out.Write<uint64_t>(inputs.taught.size());
  for (const inference::TrainingExample& example : inputs.taught) {
    WriteTokens(example.prompt, &out);
    WriteTokens(example.completion, &out);
    out.Write(example.weight);
  }
  out.Write<uint64_t>(inputs.selection.size());
  for (const inference::TrainingExample& example : inputs.selection) {
    WriteTokens(example.prompt, &out);
    WriteTokens(example.completion, &out);
  }
  if (ReplaysText(options_.guard)) {
    for (const std::vector<inference::TokenId>& passage : inputs.general->replayed) {
      WriteTokens(passage, &out);
    }
  }
  return Sha256(out.str());
}

std::shared_ptr<const inference::Talora> DeepTraining::Result() const {
  return options_.banks == 0
             ? inference::StaticTalora(
                   inference::train::AdapterOf(*model_, *changes_, name_, version_))
             : inference::train::TaloraOf(*model_, *changes_, {.name = name_, .version = version_},
                                          options_.bank_training);
}

absl::StatusOr<std::optional<inference::train::EwcMemory>> DeepTraining::Memory() const {
  if (!UsesEwc(options_.guard)) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(inference::train::EwcMemory memory,
                   inference::train::EwcMemoryOf(AsBytes(run_->Checkpoint())));
  return memory;
}

}  // namespace ruvd::learning
