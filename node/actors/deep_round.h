// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/train/change.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "node/actors/adapter_catalog.h"
#include "node/actors/deep_checkpoint.h"
#include "node/actors/general_text_gate.h"
#include "node/actors/learning_services.h"
#include "privacy/seal/seal.h"

namespace ruvd {

// The name of the adapter that deep rounds publish; no other adapter of the node may have it.
inline constexpr char kDeepAdapter[] = "deep";

// What a deep round works with. All borrowed.
struct DeepServices {
  LearningServices learning;
  AdapterCatalog* catalog = nullptr;
  GeneralTextGate* gate = nullptr;
  std::string checkpoint_path;
  std::optional<SealKey> checkpoint_key;
};

struct DeepOptions {
  float min_rating = 0.7F;
  int rank = 8;
  int steps = 200;
  int batch = 4;  // maskings of lessons in a step, and as many of general text
  double learning_rate = 1e-3;
  // General text follows what the model said before, in place of the text itself (replay-KL).
  bool follow_frozen = false;
  int checkpoint_every = 10;  // steps
  // Fewer lessons, or fewer that are held back, say too little about what all requests get.
  size_t least_lessons = 16;
};

enum class DeepOutcome : uint8_t {
  kPublished,
  kTooFewLessons,
  kNoImprovement,     // the held-out lessons gained no more than their standard error
  kWorseGeneralText,  // general text lost more than half a percent
  kErased,            // a lesson's user was erased meanwhile
};
std::string_view DeepOutcomeName(DeepOutcome outcome);  // "published", "too_few_lessons", ...

struct DeepResult {
  DeepOutcome outcome = DeepOutcome::kTooFewLessons;
  uint32_t version = 0;
  uint32_t lessons = 0;  // taught
  uint32_t held_back = 0;
  uint64_t steps = 0;
  uint64_t resumed_at = 0;  // step of the checkpoint that it went on from; 0: none
  // NELBO of the held-out lessons in nats per token, with what was served before and with the new
  // version, and the standard error of the difference.
  double held_out_before = 0;
  double held_out_after = 0;
  double standard_error = 0;
  double general_before = 0;
  double general_after = 0;
  std::optional<LearningChange> change;  // of what was published
};

// The deep loop of SONA (DESIGN section 6), once: a LoRA on all linear layers, beginning from the
// version served so far, is trained on the newest good completions mixed 1:1 with general text. It
// becomes the next version of `deep`, which all requests get, if held-out completions gain more
// than their standard error and general text loses no more than half a percent. The state is kept
// in a sealed file every few steps: a round that was killed goes on from there, bit for bit. Used
// on the learning thread only.
class DeepRound {
 public:
  // Goes on where an interrupted round was, if its lessons are all there still and nothing else
  // changed; otherwise begins anew. The errors of the stores and of the checkpoint's file.
  static absl::StatusOr<std::unique_ptr<DeepRound>> Begin(const DeepServices& services,
                                                          const DeepOptions& options,
                                                          Random& random);

  // Trains for about `budget`; true once there is nothing more to train. CANCELLED, and the errors
  // of between_slices and TrainingRun::Advance: the checkpoint stays.
  absl::StatusOr<bool> Work(Duration budget);
  // After that: measures, publishes or not, and removes the checkpoint. CANCELLED as above.
  absl::StatusOr<DeepResult> Finish();

  uint64_t step() const { return run_ == nullptr ? 0 : run_->step(); }

 private:
  DeepRound(const DeepServices& services, const DeepOptions& options)
      : services_(services), options_(options) {}
  absl::Status ChooseLessons(Random& random);
  absl::StatusOr<bool> LoadLessons();
  absl::Status MakeRun();
  absl::StatusOr<bool> Resume();
  absl::Status Save();
  Digest Task() const;
  absl::StatusOr<DeepResult> Judge();
  absl::Status Publish(std::shared_ptr<const Adapter> adapter, DeepResult* result);

  const DeepServices services_;
  const DeepOptions options_;
  DeepCheckpoint plan_;  // without the run
  std::vector<TrainingExample> taught_;
  std::vector<TrainingExample> held_back_;
  std::shared_ptr<const Talora> base_;  // the version served so far, or null
  std::unique_ptr<train::ChangeSet<float>> changes_;
  std::unique_ptr<train::Objective> objective_;
  std::unique_ptr<train::ModelWeights> weights_;
  std::unique_ptr<train::TrainingRun> run_;  // null: too few lessons
  uint64_t resumed_at_ = 0;
  uint64_t saved_at_ = 0;
};

}  // namespace ruvd
