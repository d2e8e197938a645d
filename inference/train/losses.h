// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/evaluate/nelbo.h"
#include "inference/model/model.h"
#include "inference/train/network.h"

namespace ruvd::inference {

// A text to learn: tokens of the prompt (never masked) and of the desired completion.
struct TrainingExample {
  std::vector<TokenId> prompt;
  std::vector<TokenId> completion;
  float weight = 1.0F;  // weight of its loss, for example a reward
};

// Two completions of a prompt, the first of which is preferred.
struct PreferencePair {
  std::vector<TokenId> prompt;
  std::vector<TokenId> chosen;
  std::vector<TokenId> rejected;
};

namespace train {

enum class LossKind : uint8_t {
  kMaskedDiffusion,  // exact-count NELBO of the completion, bidirectional attention
  kBlockDiffusion,   // the same per block on [x_t ; x_0]
  kNextToken,        // causal cross-entropy
};

struct LossOptions {
  LossKind kind = LossKind::kMaskedDiffusion;
  // Largest weight of a masked token's cross-entropy, which is 1/t = L/k in the NELBO. Training
  // clamps it, because a clamp of 4 lowered the loss by 8-17 % in the experiments behind the
  // shipped models; evaluation does not clamp it (infinity).
  double weight_clamp = 4.0;
  int block_length = 16;  // for kBlockDiffusion
};

// How a model reads masked texts.
struct TextRules {
  TokenId mask = 0;
  bool shift = true;  // row i predicts token i + 1
};
// Returns the rules of a model, or MODE_UNSUPPORTED if it has no mask token.
absl::StatusOr<TextRules> RulesOf(const Model& model);

// Makes the sequence of one masking of a completion. Its loss is scale * example.weight * (sum of
// min(L/k, clamp) * cross-entropy) / (length of the completion), in nats per token. `corruption`
// counts from the completion's first token. The sequence's t is the masked share of the whole
// completion, for which EvaluateNelbo asks adapters, too.
TrainingSequence CorruptedSequence(const TextRules& rules, const TrainingExample& example,
                                   const Corruption& corruption, const LossOptions& options,
                                   double scale);
// Makes the sequence of a next-token loss: the mean over the completion's tokens times scale *
// example.weight. The first token of a text without a prompt has no prediction, so such a text
// needs two tokens.
TrainingSequence NextTokenSequence(const TrainingExample& example, double scale);

// The source of a run's batches. Immutable; a step's batch depends only on the step's number, so
// that an interrupted run continues with the same batches.
class Objective {
 public:
  virtual ~Objective() = default;
  // Returns the batch of a step. Its loss is the sum over predictions of weight times
  // cross-entropy.
  virtual std::vector<TrainingSequence> Draw(uint64_t step) const = 0;
  // Returns whether the weights depend on each sequence's loss with and without the changes.
  virtual bool compares() const { return false; }
  // Called if compares() is true: replaces the weights by the derivative of the objective by each
  // cross-entropy, and returns the objective. `policy` and `reference` hold the sequences' losses
  // with and without the changes.
  virtual double Compare(std::span<const double> policy, std::span<const double> reference,
                         std::span<TrainingSequence> batch) const;
};

struct ObjectiveOptions {
  LossOptions loss;
  int batch = 8;  // sequences per step; for preferences, pairs
  uint64_t seed = 0;
};

// Makes an objective that is the mean loss of `batch` maskings. Examples take turns in an order
// that is shuffled anew every epoch. With weights other than one it is the reward-weighted NELBO.
// INVALID_ARGUMENT if there are no examples, a completion is empty, a weight is not finite, or an
// option is out of range; MODE_UNSUPPORTED for a masked loss on a model without a mask token.
absl::StatusOr<std::unique_ptr<Objective>> MakeObjective(const Model& model,
                                                         std::vector<TrainingExample> examples,
                                                         const ObjectiveOptions& options);

// One of the objectives that a run combines.
struct ObjectivePart {
  std::unique_ptr<Objective> objective;
  double weight = 1;  // weight of its loss, above 0
  // Replaces its own loss by KL(frozen network || network with changes) at the same predictions. On
  // text that should not be learned, this keeps what the model predicts there ("replay-KL";
  // distillation from the earlier model, arXiv 1606.09282).
  bool follow_frozen = false;
};

// Makes the weighted sum of objectives; each step has a batch of each. For example, two objectives
// combine new text with replay of general text. INVALID_ARGUMENT if there are no parts, a part is
// null or compares, or a weight is out of range.
absl::StatusOr<std::unique_ptr<Objective>> MixObjectives(std::vector<ObjectivePart> parts);

struct PreferenceOptions {
  double beta = 0.1;
  // maskings of each completion; the whole sampling budget goes to t (arXiv 2505.19223)
  int samples = 4;
  int pairs = 1;  // pairs per step
  LossKind kind =
      LossKind::kMaskedDiffusion;  // the loss that bounds the likelihood of a completion
  int block_length = 16;
  uint64_t seed = 0;
};

// Makes the objective of VRPO (LLaDA 1.5, arXiv 2505.19223): the mean of -log sigmoid(beta * ((B_w
// - B_w') - (B_l - B_l'))), where B is the ELBO of a completion in nats with the changes and B'
// without them, both on the same maskings.
absl::StatusOr<std::unique_ptr<Objective>> MakePreferenceObjective(
    const Model& model, std::vector<PreferencePair> pairs, const PreferenceOptions& options);

// Returns `samples` maskings of examples for a held-out score. The examples take turns. Weights are
// exact and have a common scale, so that the sum of the losses is the mean in nats per token.
absl::StatusOr<std::vector<TrainingSequence>> HeldOutSequences(
    const Model& model, std::span<const TrainingExample> examples, const LossOptions& options,
    int samples, uint64_t seed);

}  // namespace train
}  // namespace ruvd::inference
