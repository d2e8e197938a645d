// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/limits.h"

namespace ruvd::inference::train {
namespace {

// Constants that keep the random streams of one seed apart.
constexpr uint64_t kEpochStream = 0x65706f6368000000ULL;
constexpr uint64_t kStepStream = 0x7374657000000000ULL;

Random StreamOf(uint64_t seed, uint64_t stream, uint64_t number) {
  return Random(Random(Random(seed ^ stream).Next() + number).Next());
}

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

std::vector<TokenId> Joined(const std::vector<TokenId>& prompt,
                            const std::vector<TokenId>& completion) {
  std::vector<TokenId> tokens = prompt;
  tokens.insert(tokens.end(), completion.begin(), completion.end());
  return tokens;
}

int BlockLength(const LossOptions& options) {
  return options.kind == LossKind::kBlockDiffusion ? options.block_length : 0;
}

std::vector<size_t> SpansOfExample(const TrainingExample& example, const LossOptions& options) {
  const std::vector<TokenId> tokens = Joined(example.prompt, example.completion);
  return SpansOf({.tokens = tokens, .first = example.prompt.size()}, BlockLength(options));
}

// Returns the examples at places [begin, begin + count) of an endless sequence of shuffled epochs.
std::vector<size_t> TakeTurns(size_t examples, uint64_t seed, uint64_t begin, size_t count) {
  std::vector<size_t> order(examples);
  std::vector<size_t> taken;
  uint64_t shuffled = std::numeric_limits<uint64_t>::max();
  for (uint64_t place = begin; place < begin + count; ++place) {
    if (place / examples != shuffled) {
      shuffled = place / examples;
      std::iota(order.begin(), order.end(), size_t{0});
      StreamOf(seed, kEpochStream, shuffled).Shuffle(std::span(order));
    }
    taken.push_back(order[place % examples]);
  }
  return taken;
}

// Masks each example once, or makes its next-token sequence; each gets an equal part of `scale`.
std::vector<TrainingSequence> MakeSequences(const TextRules& rules,
                                            std::span<const TrainingExample* const> examples,
                                            const LossOptions& options, double scale,
                                            Random random) {
  std::vector<TrainingSequence> sequences;
  const double part = scale / static_cast<double>(examples.size());
  if (options.kind == LossKind::kNextToken) {
    for (const TrainingExample* example : examples) {
      sequences.push_back(NextTokenSequence(*example, part));
    }
    return sequences;
  }
  std::vector<std::vector<size_t>> spans;
  for (const TrainingExample* example : examples) {
    spans.push_back(SpansOfExample(*example, options));
  }
  const std::vector<Corruption> corruptions = DrawCorruptions(spans, random);
  for (size_t i = 0; i < examples.size(); ++i) {
    sequences.push_back(CorruptedSequence(rules, *examples[i], corruptions[i], options, part));
  }
  return sequences;
}

absl::Status CheckLoss(const LossOptions& options) {
  if (!(options.weight_clamp > 0)) {
    return Invalid("the weight clamp is {}; choose one above zero", options.weight_clamp);
  }
  if (options.kind == LossKind::kBlockDiffusion && options.block_length < 1) {
    return Invalid("the block length is {}; choose one above zero", options.block_length);
  }
  return absl::OkStatus();
}

absl::Status CheckTokens(const Model& model, const std::vector<TokenId>& tokens) {
  const auto vocabulary = static_cast<TokenId>(model.config().vocabulary);
  return std::ranges::all_of(tokens, [&](TokenId token) { return token < vocabulary; })
             ? absl::OkStatus()
             : Invalid("a training text has a token outside the vocabulary of {}", vocabulary);
}

absl::Status CheckText(const Model& model, const std::vector<TokenId>& prompt,
                       const std::vector<TokenId>& completion, LossKind kind) {
  const size_t length = prompt.size() + completion.size();
  if (completion.empty() || (kind == LossKind::kNextToken && length < 2)) {
    return Invalid("a training text needs a completion, and for next-token losses two tokens");
  }
  if (length > static_cast<size_t>(model.config().context)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "a training text of {} tokens exceeds the context of {}; shorten it", length,
                 model.config().context);
  }
  RETURN_IF_ERROR(CheckTokens(model, prompt));
  return CheckTokens(model, completion);
}

absl::Status CheckExamples(const Model& model, std::span<const TrainingExample> examples,
                           LossKind kind) {
  if (examples.empty() || examples.size() > limits::kMaxTrainingExamples) {
    return Invalid("training takes 1 to {} examples, not {}", limits::kMaxTrainingExamples,
                   examples.size());
  }
  for (const TrainingExample& example : examples) {
    RETURN_IF_ERROR(CheckText(model, example.prompt, example.completion, kind));
    if (!std::isfinite(example.weight)) {
      return Invalid("a training example's weight is not finite");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TextRules> RulesFor(const Model& model, LossKind kind) {
  return kind == LossKind::kNextToken ? TextRules{} : RulesOf(model);
}

class ExampleObjective final : public Objective {
 public:
  ExampleObjective(const TextRules& rules, std::vector<TrainingExample> examples,
                   const ObjectiveOptions& options)
      : rules_(rules), examples_(std::move(examples)), options_(options) {}

  std::vector<TrainingSequence> Draw(uint64_t step) const override {
    const auto batch = static_cast<size_t>(options_.batch);
    std::vector<const TrainingExample*> taken;
    for (const size_t i : TakeTurns(examples_.size(), options_.seed, step * batch, batch)) {
      taken.push_back(&examples_[i]);
    }
    return MakeSequences(rules_, taken, options_.loss, 1.0,
                         StreamOf(options_.seed, kStepStream, step));
  }

 private:
  TextRules rules_;
  std::vector<TrainingExample> examples_;
  ObjectiveOptions options_;
};

// Joins the sequences of all parts; those that follow the frozen network come last.
class MixedObjective final : public Objective {
 public:
  explicit MixedObjective(std::vector<ObjectivePart> parts) : parts_(std::move(parts)) {
    std::ranges::stable_partition(parts_, [](const auto& part) { return !part.follow_frozen; });
  }

  std::vector<TrainingSequence> Draw(uint64_t step) const override {
    std::vector<TrainingSequence> batch;
    for (const ObjectivePart& part : parts_) {
      for (TrainingSequence& sequence : part.objective->Draw(step)) {
        sequence.follows_frozen = part.follow_frozen;
        sequence.share *= part.weight;
        for (Prediction& prediction : sequence.predictions) {
          prediction.weight *= part.weight;
        }
        batch.push_back(std::move(sequence));
      }
    }
    return batch;
  }

 private:
  std::vector<ObjectivePart> parts_;
};

// A batch consists of pairs: `samples` maskings of the chosen completion, then of the rejected one.
class PreferenceObjective final : public Objective {
 public:
  PreferenceObjective(const TextRules& rules, std::vector<PreferencePair> pairs,
                      const PreferenceOptions& options)
      : rules_(rules), pairs_(std::move(pairs)), options_(options) {}

  std::vector<TrainingSequence> Draw(uint64_t step) const override {
    const auto count = static_cast<size_t>(options_.pairs);
    const LossOptions loss{.kind = options_.kind,
                           .weight_clamp = std::numeric_limits<double>::infinity(),
                           .block_length = options_.block_length};
    Random random = StreamOf(options_.seed, kStepStream, step);
    std::vector<TrainingSequence> batch;
    for (const size_t i : TakeTurns(pairs_.size(), options_.seed, step * count, count)) {
      for (const auto* completion : {&pairs_[i].chosen, &pairs_[i].rejected}) {
        const TrainingExample example{.prompt = pairs_[i].prompt, .completion = *completion};
        const std::vector<const TrainingExample*> copies(static_cast<size_t>(options_.samples),
                                                         &example);
        // The ELBO is that of the whole completion, not per token.
        const auto tokens = static_cast<double>(completion->size());
        for (TrainingSequence& sequence :
             MakeSequences(rules_, copies, loss, tokens, random.Fork())) {
          batch.push_back(std::move(sequence));
        }
      }
    }
    // The objective has no loss of a single sequence, so all sequences have equal shares.
    for (TrainingSequence& sequence : batch) {
      sequence.share = 1.0 / static_cast<double>(batch.size());
    }
    return batch;
  }

  bool compares() const override { return true; }

  double Compare(std::span<const double> policy, std::span<const double> reference,
                 std::span<TrainingSequence> batch) const override {
    const auto samples = static_cast<size_t>(options_.samples);
    const auto pairs = static_cast<double>(batch.size() / (2 * samples));
    double objective = 0;
    for (size_t begin = 0; begin < batch.size(); begin += 2 * samples) {
      double margin = 0;  // B = -loss
      for (size_t i = 0; i < 2 * samples; ++i) {
        const double gain = reference[begin + i] - policy[begin + i];
        margin += i < samples ? gain : -gain;
      }
      margin *= options_.beta;
      objective +=
          (margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin) /
          pairs;
      const double pull = options_.beta / (1 + std::exp(margin)) / pairs;
      for (size_t i = 0; i < 2 * samples; ++i) {
        for (Prediction& prediction : batch[begin + i].predictions) {
          prediction.weight *= i < samples ? pull : -pull;
        }
      }
    }
    return objective;
  }

 private:
  TextRules rules_;
  std::vector<PreferencePair> pairs_;
  PreferenceOptions options_;
};

}  // namespace

absl::StatusOr<TextRules> RulesOf(const Model& model) {
  const std::optional<TokenId> mask = model.tokenizer().mask_id();
  if (!mask.has_value()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
                 "the model has no mask token, so masked-diffusion training is impossible; use a "
                 "diffusion model or the next-token loss");
  }
  return TextRules{.mask = *mask, .shift = model.config().shift_logits};
}

TrainingSequence CorruptedSequence(const TextRules& rules, const TrainingExample& example,
                                   const Corruption& corruption, const LossOptions& options,
                                   double scale) {
  const std::vector<TokenId> tokens = Joined(example.prompt, example.completion);
  CorruptedText text = CorruptText({.tokens = tokens, .first = example.prompt.size()}, corruption,
                                   BlockLength(options), rules.mask, rules.shift);
  TrainingSequence sequence{
      .tokens = std::move(text.tokens),
      .attention = text.attention,
      .predictions = {},
      .t = static_cast<double>(corruption.masked.size()) / static_cast<double>(corruption.length),
      .share = scale};
  const double part =
      scale * static_cast<double>(example.weight) / static_cast<double>(corruption.length);
  for (size_t i = 0; i < text.rows.size(); ++i) {
    const double weight = std::min(corruption.masked[i].weight, options.weight_clamp);
    sequence.predictions.push_back({.row = static_cast<uint32_t>(text.rows[i]),
                                    .target = text.targets[i],
                                    .weight = part * weight});
  }
  return sequence;
}

TrainingSequence NextTokenSequence(const TrainingExample& example, double scale) {
  const std::vector<TokenId> tokens = Joined(example.prompt, example.completion);
  const size_t first = std::max<size_t>(example.prompt.size(), 1);
  TrainingSequence sequence{.tokens = {tokens.begin(), tokens.end() - 1},
                            .attention = {.kind = Attention::Kind::kCausal},
                            .predictions = {},
                            .share = scale};
  const double part =
      scale * static_cast<double>(example.weight) / static_cast<double>(tokens.size() - first);
  for (size_t i = first; i < tokens.size(); ++i) {
    sequence.predictions.push_back(
        {.row = static_cast<uint32_t>(i - 1), .target = tokens[i], .weight = part});
  }
  return sequence;
}

double Objective::Compare(std::span<const double> policy, std::span<const double> /*reference*/,
                          std::span<TrainingSequence> /*batch*/) const {
  return std::accumulate(policy.begin(), policy.end(), 0.0);
}

absl::StatusOr<std::unique_ptr<Objective>> MakeObjective(const Model& model,
                                                         std::vector<TrainingExample> examples,
                                                         const ObjectiveOptions& options) {
  RETURN_IF_ERROR(CheckLoss(options.loss));
  if (options.batch < 1 || options.batch > limits::kMaxTrainingBatch) {
    return Invalid("the batch is {}; choose 1 to {}", options.batch, limits::kMaxTrainingBatch);
  }
  RETURN_IF_ERROR(CheckExamples(model, examples, options.loss.kind));
  ASSIGN_OR_RETURN(const TextRules rules, RulesFor(model, options.loss.kind));
  return std::make_unique<ExampleObjective>(rules, std::move(examples), options);
}

absl::StatusOr<std::unique_ptr<Objective>> MixObjectives(std::vector<ObjectivePart> parts) {
  const bool sound = std::ranges::all_of(parts, [](const ObjectivePart& part) {
    return part.objective != nullptr && !part.objective->compares() && std::isfinite(part.weight) &&
           part.weight > 0;
  });
  if (parts.empty() || !sound) {
    return Invalid(
        "only objectives with their own losses and weights above zero can be mixed; preferences "
        "cannot be mixed");
  }
  return std::make_unique<MixedObjective>(std::move(parts));
}

absl::StatusOr<std::unique_ptr<Objective>> MakePreferenceObjective(
    const Model& model, std::vector<PreferencePair> pairs, const PreferenceOptions& options) {
  RETURN_IF_ERROR(CheckLoss({.kind = options.kind, .block_length = options.block_length}));
  if (!(options.beta > 0) || options.samples < 1 || options.pairs < 1 ||
      2 * int64_t{options.samples} * options.pairs > limits::kMaxTrainingBatch) {
    return Invalid(
        "beta, samples and pairs must be above zero, and two samples of every pair at "
        "most {}",
        limits::kMaxTrainingBatch);
  }
  if (pairs.empty() || pairs.size() > limits::kMaxTrainingExamples) {
    return Invalid("training takes 1 to {} pairs, not {}", limits::kMaxTrainingExamples,
                   pairs.size());
  }
  for (const PreferencePair& pair : pairs) {
    RETURN_IF_ERROR(CheckText(model, pair.prompt, pair.chosen, options.kind));
    RETURN_IF_ERROR(CheckText(model, pair.prompt, pair.rejected, options.kind));
  }
  ASSIGN_OR_RETURN(const TextRules rules, RulesFor(model, options.kind));
  return std::make_unique<PreferenceObjective>(rules, std::move(pairs), options);
}

absl::StatusOr<std::vector<TrainingSequence>> HeldOutSequences(
    const Model& model, std::span<const TrainingExample> examples, const LossOptions& options,
    int samples, uint64_t seed) {
  RETURN_IF_ERROR(CheckLoss(options));
  RETURN_IF_ERROR(CheckExamples(model, examples, options.kind));
  if (samples < 1 || samples > limits::kMaxHeldOutSamples) {
    return Invalid("the held-out samples are {}; choose 1 to {}", samples,
                   limits::kMaxHeldOutSamples);
  }
  ASSIGN_OR_RETURN(const TextRules rules, RulesFor(model, options.kind));
  LossOptions exact = options;
  exact.weight_clamp = std::numeric_limits<double>::infinity();
  std::vector<TrainingExample> unweighted(examples.begin(), examples.end());
  std::vector<const TrainingExample*> taken;
  for (TrainingExample& example : unweighted) {
    example.weight = 1.0F;
  }
  for (const size_t i : TakeTurns(unweighted.size(), seed, 0, static_cast<size_t>(samples))) {
    taken.push_back(&unweighted[i]);
  }
  return MakeSequences(rules, taken, exact, 1.0, StreamOf(seed, kStepStream, 0));
}

}  // namespace ruvd::inference::train
