// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/talora.h"
#include "inference/train/change.h"
#include "inference/train/ewc.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "inference/transformer/transformer.h"
#include "node/learning/deep_options.h"
#include "node/learning/general_text.h"

namespace ruvd::learning {

// Inputs of a deep round's training; all are borrowed during Create, the transformer for longer.
struct DeepTrainingInputs {
  inference::Transformer* transformer = nullptr;
  std::span<const inference::TrainingExample> taught;
  // Lessons whose losses decide when to stop: when they rise, the best parameters so far stay.
  // Empty: all steps are taken.
  std::span<const inference::TrainingExample> selection;
  const GeneralPassages* general = nullptr;
  inference::AdapterMix beneath;                            // the other adapters that requests get
  std::shared_ptr<const inference::Talora> base;            // the version to continue from, or null
  const inference::train::EwcMemory* remembered = nullptr;  // the EWC++ memory of `base`, or null
  uint64_t seed = 0;
  std::string name;  // name of the resulting adapter
  uint32_t version = 0;
  std::function<bool()> cancelled = nullptr;
};

// The training of a deep round with all that it borrows: a LoRA on all linear layers, with timestep
// banks if the options ask for them. Deterministic: the numbers follow from inputs and options, and
// a checkpoint can only be resumed with the same ones, except for the global adapter, which may be
// another version. Not thread-safe.
class DeepTraining {
 public:
  // Starts from the base if it has the same ranks and banks, or is static with the same rank;
  // otherwise from zero, which is logged. Returns the errors of MakeObjective, AddLoras and
  // CheckRunOptions.
  static absl::StatusOr<std::unique_ptr<DeepTraining>> Create(const DeepTrainingInputs& inputs,
                                                              const DeepOptions& options);

  inference::train::TrainingRun& run() { return *run_; }
  const inference::train::TrainingRun& run() const { return *run_; }
  // Returns whether training began with the base version, and not at zero.
  bool continues() const { return continues_; }
  // Returns the adapter with the current parameters.
  std::shared_ptr<const inference::Talora> Result() const;
  // Returns the EWC++ memory for the next round, once the run is done; nullopt without EWC++. If
  // training stopped early, the running Fisher is that of the last step and the anchor that of the
  // best one.
  absl::StatusOr<std::optional<inference::train::EwcMemory>> Memory() const;

 private:
  explicit DeepTraining(const DeepOptions& options) : options_(options) {}
  absl::Status AddChanges(const DeepTrainingInputs& inputs);
  absl::Status AddObjective(const DeepTrainingInputs& inputs);
  absl::Status AddSelection(const DeepTrainingInputs& inputs);
  Digest Task(const DeepTrainingInputs& inputs) const;

  const DeepOptions options_;
  std::shared_ptr<const inference::Model> model_;
  std::string name_;
  uint32_t version_ = 0;
  std::optional<inference::train::EwcMemory> remembered_;
  bool continues_ = false;  // begins with the base version
  std::unique_ptr<inference::train::ChangeSet<float>> changes_;
  std::unique_ptr<inference::train::Objective> objective_;
  std::vector<inference::train::TrainingSequence> selection_;
  std::unique_ptr<inference::train::ModelWeights> weights_;
  std::unique_ptr<inference::train::TrainingRun> run_;
};

}  // namespace ruvd::learning
