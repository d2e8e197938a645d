// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/train/losses.h"
#include "node/learning/deep_checkpoint.h"
#include "node/learning/deep_memory.h"
#include "node/learning/deep_options.h"
#include "node/learning/deep_training.h"
#include "node/learning/general_text.h"
#include "node/learning/general_text_gate.h"
#include "node/learning/learning_services.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/adapter_reach.h"
#include "node/serving/served_adapters.h"
#include "privacy/seal/seal.h"

namespace ruvd::learning {

// What a deep round works with. All borrowed.
struct DeepServices {
  LearningServices learning;
  serving::AdapterCatalog* catalog = nullptr;
  GeneralTextGate* gate = nullptr;
  const GeneralPassages* general = nullptr;  // null: the built-in ones
  std::string checkpoint_path;
  std::optional<privacy::SealKey> checkpoint_key;
  const DeepMemories* memories = nullptr;  // null: EWC++ remembers nothing from round to round
};

enum class DeepOutcome : uint8_t {
  kPublished,
  kTooFewLessons,
  kNoImprovement,     // the held-out lessons gained no more than their standard error
  kWorseGeneralText,  // general text lost more than half a percent
  kErased,            // a lesson's user was erased meanwhile
  kBaseChanged,       // the version that it began from is no longer the served one
};
std::string_view DeepOutcomeName(DeepOutcome outcome);  // "published", "too_few_lessons", ...

struct DeepResult {
  DeepOutcome outcome = DeepOutcome::kTooFewLessons;
  uint32_t version = 0;
  uint32_t lessons = 0;        // taught
  uint32_t held_back = 0;      // that judge; those that say when to stop are left out
  uint32_t least_lessons = 0;  // that a round needs
  uint64_t steps = 0;
  uint64_t resumed_at = 0;  // step of the checkpoint that it went on from; 0: none
  // NELBO of the held-out lessons in nats per token, with what was served before and with the new
  // version, and the standard error of the difference.
  double held_out_before = 0;
  double held_out_after = 0;
  double standard_error = 0;
  double general_before = 0;
  double general_after = 0;
  std::optional<storage::LearningChange> change;  // of what was published
};

// The deep loop of SONA (DESIGN section 6), once: a LoRA on all linear layers, beginning from the
// version served so far, is trained on the newest good completions under a guard against forgetting
// (DeepGuard; general text 1:1 by default). It becomes the next version of `deep`, which all
// requests get, or those with prompts like the lessons' (DeepOptions::scope), if held-out
// completions gain more than their standard error and general text loses no more than half a
// percent, both as they would be served. The state is kept in a sealed file every few steps: a
// round that was killed goes on from there, bit for bit. Trained and judged on top of the other
// adapters of requests that choose nothing. Used on one thread.
class DeepRound {
 public:
  // Goes on where an interrupted round was, if its lessons are all there still and nothing else
  // changed, its options least of all; otherwise begins anew. The errors of the stores and of the
  // checkpoint's file.
  static absl::StatusOr<std::unique_ptr<DeepRound>> Begin(const DeepServices& services,
                                                          const DeepOptions& options,
                                                          Random& random);

  // Trains for about `budget`; true once there is nothing more to train. CANCELLED, and the errors
  // of between_slices and TrainingRun::Advance: the checkpoint stays, but where training diverged,
  // which it would do again.
  absl::StatusOr<bool> Work(Duration budget);
  // After that: measures, publishes or not, and removes the checkpoint. CANCELLED as above.
  absl::StatusOr<DeepResult> Finish();

  uint64_t step() const { return training_ == nullptr ? 0 : training_->run().step(); }
  // That it takes at most.
  uint64_t steps() const {
    return training_ == nullptr ? 0 : static_cast<uint64_t>(DeepSteps(options_, taught_.size()));
  }

 private:
  DeepRound(const DeepServices& services, const DeepOptions& options)
      : services_(services), options_(options) {}
  absl::Status ChooseLessons(Random& random);
  absl::StatusOr<bool> LoadLessons();
  absl::Status BeginTraining();
  absl::StatusOr<bool> Resume();
  absl::Status Save();
  absl::Status Yield() const;
  absl::StatusOr<DeepResult> Judge();
  // Nats per token of each held-back lesson.
  struct HeldBackScores {
    std::vector<double> before;  // with what is served
    std::vector<double> after;
  };
  absl::StatusOr<HeldBackScores> ScoreHeldBack(
      const std::shared_ptr<const inference::Talora>& adapter);
  absl::StatusOr<GeneralTextGate::Verdict> CheckGeneralText(const inference::Talora& adapter);
  void FindReach();
  absl::StatusOr<bool> SomeWereErased() const;
  absl::Status Publish(const std::shared_ptr<const inference::Talora>& adapter, DeepResult* result);
  void Remember(const inference::Talora& adapter) const;

  const DeepServices services_;
  const DeepOptions options_;
  DeepCheckpoint plan_;  // without the run
  std::vector<inference::TrainingExample> taught_;
  std::vector<inference::TrainingExample> selection_;  // say when to stop
  std::vector<inference::TrainingExample> held_back_;
  // Of their prompts, in the same order; where the adapter is not for all.
  std::vector<std::vector<float>> taught_prompts_;
  std::vector<std::vector<float>> held_back_prompts_;
  std::vector<std::string> of_users_;  // responses among the lessons that somebody may erase
  inference::AdapterMix beneath_;      // what else requests get that choose nothing
  std::shared_ptr<const inference::Talora> base_;  // the version served so far, or null
  std::shared_ptr<const serving::AdapterReach> base_reach_;
  std::optional<serving::AdapterReach> reach_;  // of what is trained; nullopt: all prompts
  std::optional<DeepMemory> memory_;            // of that version
  std::unique_ptr<DeepTraining> training_;      // null: too few lessons
  uint64_t resumed_at_ = 0;
  uint64_t saved_at_ = 0;
};

// Removes what EWC++ remembers of versions that the catalogue has no more, and of users' lessons
// that left.
void SweepDeepMemories(const DeepServices& services);

}  // namespace ruvd::learning
