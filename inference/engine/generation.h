// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/engine/sampling_options.h"
#include "inference/instant/instant_memory.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/retrieval/uncertainty.h"
#include "inference/sampler/commit_trail.h"
#include "inference/sampler/proposal.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// The mode of a completion that asks for none: block diffusion where the model was trained so,
// diffusion where there are gaps, next token for architectures that know nothing else.
DecodingMode DefaultDecodingMode(const ModelConfig& config, bool infill);

struct Commit {
  int position = 0;  // from the first generated token
  TokenId token = 0;
  float confidence = 0;
  // With SamplingOptions::logprobs: of this token and of the likeliest ones.
  float logprob = 0;
  std::vector<TokenLogprob> likeliest = {};
};

// What one step did.
struct StepResult {
  int step = 0;
  float t = 0;  // masked share of the active window before the step
  // In nats, over the positions whose proposals the step needed.
  float mean_entropy = 0;
  int masked = 0;  // still masked after the step, in the whole window
  // In order of position. With remasking one may replace an earlier one of its position.
  std::vector<Commit> commits;
  // Positions (from the first generated token) that are masked again after the commits.
  std::vector<int> remasked;
  std::string text;  // completion text that became final with this step
  bool done = false;
};

// What a round of a step brought: its result, or nullopt where the step needs another round.
using RoundResult = absl::StatusOr<std::optional<StepResult>>;

enum class FinishReason : uint8_t { kLength, kEndOfText, kStop };

// How sure the model was of the positions that a step evaluated, and the final hidden states that
// it read them from. Valid during the call that shows them.
struct StepSignals {
  int step = 0;
  float t = 0;
  std::span<const PositionUncertainty> positions;
  std::span<const float> hidden;  // positions x width
};

struct StepScratch;

// One completion, advanced a step at a time so that the caller can cancel, re-schedule and stream
// between steps. It holds no transformer: it says which forward it needs, and is given what came
// out, so that one forward can serve many (StepTogether in engine/step_together.h). Not
// thread-safe.
class Generation {
 public:
  // Chooses the adapters of the next step from t; called once a step. Null: the base model always.
  using AdapterPolicy = std::function<AdapterMix(float t)>;

  // Checks the options against the model. `prefixes`: where completions of one transformer share
  // the keys and values of what their texts have in common, and their memory; null for float32
  // memory of its own. Errors: CONTEXT_TOO_LONG (how many tokens are too many),
  // MODE_UNSUPPORTED, INVALID_ARGUMENT (which option, which range, or which other option or mode it
  // contradicts), KV_BUDGET_EXCEEDED (not even alone would the text's keys and values fit into the
  // memory of `prefixes`).
  static absl::StatusOr<std::unique_ptr<Generation>> Create(
      const Model& model, std::vector<TokenId> prompt, const SamplingOptions& options,
      AdapterPolicy adapters, std::shared_ptr<PrefixTree> prefixes = nullptr);
  // Infilling: `canvas` is the whole text with kNoToken at each position to fill;
  // options.max_tokens is not read. The completion is the text from the first such position to the
  // last one, given tokens in between included. End-of-text is not proposed before a given token.
  static absl::StatusOr<std::unique_ptr<Generation>> CreateInfill(
      const Model& model, std::vector<TokenId> canvas, const SamplingOptions& options,
      AdapterPolicy adapters, std::shared_ptr<PrefixTree> prefixes = nullptr);

  Generation();
  virtual ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Must be called before the first step, if at all. `memory` changes the logits of every position
  // before its token is chosen; null: nothing does. With `record`, trail() gets what is committed.
  // Without memory every token and probability stays what it was, bit for bit.
  virtual void Remember(std::shared_ptr<const InstantMemory> memory, bool record) = 0;
  // What was committed so far; empty unless it is recorded. Given tokens are not in it. Once done,
  // only what text() shows whole and the token that ended it: nothing committed behind the end, and
  // nothing of a stop string.
  virtual const CommitTrail& trail() const = 0;

  // Must be called before the first step, if at all. Shows every step's uncertainty once its tokens
  // are committed; what the watcher changes of the adapters counts from the next step on. The
  // completion stays the same, bit for bit, if it changes nothing.
  using StepWatcher = std::function<void(const StepSignals&)>;
  virtual void Watch(StepWatcher watcher) = 0;

  // Runs one denoising step or decodes one token, alone. Must not be called once done. After
  // KV_BUDGET_EXCEEDED the step may be tried again, once others have given memory back; after
  // another error the generation must not be used any more.
  absl::StatusOr<StepResult> Step(Transformer& transformer);

  // --- One round, as StepTogether drives it; a step takes one round or more ---
  // The sequences of the next forward; none where no forward is needed. Valid, and the same in
  // another call, until TakeOutputs. Must not be called once done.
  virtual std::span<const ForwardInput> NextForward() = 0;
  // Takes the outputs of those sequences, in order.
  virtual void TakeOutputs(std::span<const ForwardOutput> outputs) = 0;
  // The hidden states whose logits are needed after this forward, none where it only filled a
  // cache. Valid until EndRound.
  virtual LogitsInput WantedLogits() const = 0;
  // Rows of logits that must be handed over in one piece.
  virtual int rows_together() const = 0;
  // Takes the logits of the next rows (rows x vocabulary), in order; changes them.
  virtual void TakeLogits(std::span<float> logits) = 0;
  // Called after all of the above. Errors: MODEL_CORRUPT where logits were not finite; nothing is
  // committed then, and the generation must not be used any more.
  virtual RoundResult EndRound() = 0;

  // --- Memory of keys and values that completions share (the pool of `prefixes`) ---
  // Pages it holds, alone or with others.
  virtual size_t pages_held() const = 0;
  // Gives them all back; the next forwards compute again what is needed of them. The completion
  // stays the same, bit for bit. Not between TakeOutputs and EndRound, not once done.
  virtual void ReleasePages() = 0;

  virtual bool done() const = 0;
  virtual FinishReason finish_reason() const = 0;
  // Prompt and window, masks where nothing is committed yet.
  virtual const std::vector<TokenId>& tokens() const = 0;
  // Tokens before the first generated one.
  virtual int prompt_length() const = 0;
  // Positions from the first that may be generated to the last one, given ones between them
  // included.
  virtual int window() const = 0;
  // Tokens of the window whose text is final: once done, those up to the end-of-text token, itself
  // included, or to the one that completed a stop string.
  virtual int completion_tokens() const = 0;
  virtual int steps() const = 0;
  // Sequences evaluated: those that fill a cache and both sides of guidance count.
  virtual int forwards() const = 0;
  // The final text; complete once done.
  virtual const std::string& text() const = 0;

 private:
  std::unique_ptr<StepScratch> scratch_;  // of Step
};

}  // namespace ruvd::inference
