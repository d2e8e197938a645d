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
#include "node/serving/served_adapters.h"
#include "storage/state/state_store.h"

namespace ruvd::learning {

// The dependencies of a deep round. Everything is borrowed.
struct DeepServices {
  LearningServices learning;
  serving::AdapterCatalog* catalog = nullptr;
  GeneralTextGate* gate = nullptr;
  const GeneralPassages* general = nullptr;  // null: the built-in passages
  storage::StateStore* state = nullptr;      // keeps the checkpoint of a running round
  const DeepMemories* memories = nullptr;    // null: EWC++ remembers nothing between rounds
};

enum class DeepOutcome : uint8_t {
  kPublished,
  kTooFewLessons,
  kNoImprovement,     // the held-out lessons gained no more than their standard error
  kWorseGeneralText,  // general text lost more than half a percent
  kErased,            // a user of a lesson was erased, or a lesson withdrawn, meanwhile
  kBaseChanged,       // the version that it started from is no longer served
};
std::string_view DeepOutcomeName(DeepOutcome outcome);  // "published", "too_few_lessons", ...

struct DeepResult {
  DeepOutcome outcome = DeepOutcome::kTooFewLessons;
  uint32_t version = 0;
  uint32_t lessons = 0;        // lessons taught
  uint32_t held_back = 0;      // lessons that judge, without those that decide when to stop
  uint32_t least_lessons = 0;  // lessons that a round needs
  uint64_t steps = 0;
  uint64_t resumed_at = 0;  // step of the checkpoint that it resumed from; 0: none
  // NELBO of the held-out lessons in nats per token, with the adapters served before and with the
  // new version, and the standard error of the difference.
  double held_out_before = 0;
  double held_out_after = 0;
  double standard_error = 0;
  double general_before = 0;
  double general_after = 0;
  std::optional<storage::LearningChange> change;  // set if a version was published
};

// One round of the deep loop. A LoRA on all linear layers, starting from the served version, is
// trained on the newest good completions with a guard against forgetting (DeepGuard; general text
// 1:1 by default). It becomes the next version of `deep` if the held-out completions gain more than
// their standard error and general text loses at most half a percent, both measured as they would
// be served. It has the words of its lessons, which decide where it acts. The progress is written
// to the node's state every few steps; a round that was killed resumes from there with
// bit-identical results. It is trained on top of the other adapters of requests that choose nothing
// (MixForAllT), the global adapter included, and judged on top of those that requests get when
// training is done. Another global adapter does not end a round, because rounds of the cluster
// change it every few minutes: training keeps the one that it began with, and after a restart it
// continues on the newest one. Must be used on one thread.
class DeepRound {
 public:
  // Resumes an interrupted round if all of its lessons are still there and nothing else changed,
  // its options included; otherwise starts a new one. Returns the errors of the stores.
  static absl::StatusOr<std::unique_ptr<DeepRound>> Begin(const DeepServices& services,
                                                          const DeepOptions& options,
                                                          Random& random);

  // Trains for about `budget`; returns true once training is complete. Returns CANCELLED and the
  // errors of between_slices and TrainingRun::Advance. The checkpoint stays, except after a
  // divergence, which would happen again.
  absl::StatusOr<bool> Work(Duration budget);
  // Call when Work returned true: measures, publishes or not, and removes the checkpoint. Returns
  // CANCELLED as above.
  absl::StatusOr<DeepResult> Finish();

  uint64_t step() const { return training_ == nullptr ? 0 : training_->run().step(); }
  // Returns the largest number of steps that the round takes.
  uint64_t steps() const {
    return training_ == nullptr ? 0 : static_cast<uint64_t>(DeepSteps(options_, taught_.size()));
  }

 private:
  DeepRound(const DeepServices& services, const DeepOptions& options)
      : services_(services), options_(options) {}
  absl::Status ChooseLessons(Random& random);
  absl::StatusOr<bool> LoadLessons();
  absl::Status FindBeneath();
  // Returns the words of the lessons that the trained version has learned.
  inference::LessonWords Words() const;
  absl::Status BeginTraining();
  absl::StatusOr<bool> Resume();
  absl::Status Save();
  absl::Status Yield() const;
  absl::StatusOr<DeepResult> EvaluateCandidate();
  // Scores of each held-back lesson in nats per token.
  struct HeldBackScores {
    std::vector<double> before;  // with the served adapters
    std::vector<double> after;
  };
  absl::StatusOr<HeldBackScores> ScoreHeldBack(const serving::RangedPart& adapter);
  absl::StatusOr<GeneralTextGate::Verdict> CheckGeneralText(const serving::RangedPart& adapter);
  absl::StatusOr<bool> AnyLessonErased() const;
  // Returns the names of all lessons that decided the version's values, those of the versions that
  // it continues included; none if they are not known.
  absl::StatusOr<std::vector<std::string>> LessonsInside() const;
  absl::Status Publish(const std::shared_ptr<const inference::Talora>& adapter, DeepResult* result);
  void Remember(const inference::Talora& adapter) const;

  const DeepServices services_;
  const DeepOptions options_;
  DeepCheckpoint plan_;  // without the run
  std::vector<inference::TrainingExample> taught_;
  std::vector<inference::TrainingExample> selection_;  // decide when to stop
  std::vector<inference::TrainingExample> held_back_;
  std::vector<std::string> revocable_;  // the lessons that a person may take back
  // The other adapters of requests that choose nothing, when training began or was judged.
  std::vector<serving::RangedPart> beneath_;
  std::shared_ptr<const inference::Talora> base_;  // the served version, or null
  std::optional<DeepMemory> memory_;               // the memory of base_
  std::unique_ptr<DeepTraining> training_;         // null: too few lessons
  uint64_t resumed_at_ = 0;
  uint64_t saved_at_ = 0;
};

// Removes the EWC++ memories of versions that left the catalogue, and those with users' lessons
// that left the store.
void SweepDeepMemories(const DeepServices& services);

}  // namespace ruvd::learning
