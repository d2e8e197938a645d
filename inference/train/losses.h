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

// A text to learn: tokens of the prompt (never masked) and of the wanted completion.
struct TrainingExample {
  std::vector<TokenId> prompt;
  std::vector<TokenId> completion;
  float weight = 1.0F;  // reward weight
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
  kBlockDiffusion,   // the same block by block on [x_t ; x_0]
  kNextToken,        // causal cross-entropy
};

struct LossOptions {
  LossKind kind = LossKind::kMaskedDiffusion;
  // Largest weight of a masked token's cross-entropy, which is 1/t = L/k in the NELBO. Training
  // clamps it (at 4 it gained 8-17 % in the pilot), evaluation does not (infinity).
  double weight_clamp = 4.0;
  int block_length = 16;  // of kBlockDiffusion
};

// How a model reads masked texts.
struct TextRules {
  TokenId mask = 0;
  bool shift = true;  // row i predicts token i + 1
};
// MODE_UNSUPPORTED where the model has no mask token.
absl::StatusOr<TextRules> RulesOf(const Model& model);

// The sequence of one masking of a completion. Its loss is scale * example.weight * (sum of
// min(L/k, clamp) * cross-entropy) / (length of the completion): nats per token. `corruption`
// counts from the completion's first token. Its t is the masked share of the whole completion, as
// EvaluateNelbo asks adapters for.
TrainingSequence CorruptedSequence(const TextRules& rules, const TrainingExample& example,
                                   const Corruption& corruption, const LossOptions& options,
                                   double scale);
// Its next-token loss, the mean over the completion's tokens times scale * example.weight. The
// first token of a text without a prompt has no prediction, so there must be two tokens.
TrainingSequence NextTokenSequence(const TrainingExample& example, double scale);

// Where the batches of a run come from. Immutable; what a step gets depends on its number only, so
// that an interrupted run goes on with the same batches.
class Objective {
 public:
  virtual ~Objective() = default;
  // The batch of a step: its loss is the sum over predictions of weight times cross-entropy.
  virtual std::vector<TrainingSequence> Draw(uint64_t step) const = 0;
  // Whether the weights depend on each sequence's loss with and without the changes.
  virtual bool compares() const { return false; }
  // Then: replaces the weights by the derivative of the objective by each cross-entropy and returns
  // the objective. `policy` and `reference` hold the sequences' losses.
  virtual double Compare(std::span<const double> policy, std::span<const double> reference,
                         std::span<TrainingSequence> batch) const;
};

struct ObjectiveOptions {
  LossOptions loss;
  int batch = 8;  // sequences of a step; of kPreference pairs
  uint64_t seed = 0;
};

// Mean loss of `batch` maskings; examples take turns in an order shuffled anew every epoch. The
// reward-weighted NELBO is the case of weights other than one. INVALID_ARGUMENT for no examples, an
// empty completion, a weight that is not finite, or an option out of range; MODE_UNSUPPORTED for a
// masked loss on a model without a mask token.
absl::StatusOr<std::unique_ptr<Objective>> MakeObjective(const Model& model,
                                                         std::vector<TrainingExample> examples,
                                                         const ObjectiveOptions& options);

// One of the objectives that a run follows together.
struct ObjectivePart {
  std::unique_ptr<Objective> objective;
  double weight = 1;  // of its loss, above 0
  // In place of its own loss: KL(frozen network || network with changes) at the same places. On
  // text that is not to be learnt it keeps what the model says of it ("replay-KL"; distillation
  // from the model before, arXiv 1606.09282).
  bool follow_frozen = false;
};

// The weighted sum of objectives; a step has a batch of each. Replay of general text beside new
// text is the case of two. INVALID_ARGUMENT for no part, one that is missing or compares, or a
// weight out of its range.
absl::StatusOr<std::unique_ptr<Objective>> MixObjectives(std::vector<ObjectivePart> parts);

struct PreferenceOptions {
  double beta = 0.1;
  int samples = 4;  // maskings of each completion, all budget on t (arXiv 2505.19223)
  int pairs = 1;    // of a step
  LossKind kind = LossKind::kMaskedDiffusion;  // how a completion's likelihood is bounded
  int block_length = 16;
  uint64_t seed = 0;
};

// VRPO (LLaDA 1.5, arXiv 2505.19223): mean of -log sigmoid(beta * ((B_w - B_w') - (B_l - B_l'))),
// B the ELBO of a completion in nats with the changes, B' without them, both on the same maskings.
absl::StatusOr<std::unique_ptr<Objective>> MakePreferenceObjective(
    const Model& model, std::vector<PreferencePair> pairs, const PreferenceOptions& options);

// `samples` maskings of examples for a held-out score, spread over them in turn, with exact weights
// and a common scale so that the sum of their losses is the mean in nats per token.
absl::StatusOr<std::vector<TrainingSequence>> HeldOutSequences(
    const Model& model, std::span<const TrainingExample> examples, const LossOptions& options,
    int samples, uint64_t seed);

}  // namespace train
}  // namespace ruvd::inference
