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
#include "inference/memory/memory_reader.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/retrieval/uncertainty.h"
#include "inference/sampler/commit_trail.h"
#include "inference/sampler/proposal.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Returns the mode of a completion that does not ask for one: block diffusion if the model was
// trained for it, diffusion if there are gaps, and autoregressive for architectures that support
// nothing else.
DecodingMode DefaultDecodingMode(const ModelConfig& config, bool infill);

struct Commit {
  int position = 0;  // counted from the first generated token
  TokenId token = 0;
  float confidence = 0;
  // Set with SamplingOptions::logprobs: the values of this token and of the likeliest ones
  float logprob = 0;
  std::vector<TokenLogprob> likeliest = {};
};

// What one step did.
struct StepResult {
  int step = 0;
  float t = 0;  // masked share of the active window before the step
  // Entropy in nats over the positions whose proposals the step needed
  float mean_entropy = 0;
  int masked = 0;  // masks that are left in the whole window after the step
  // Ordered by position. With remasking, a commit may replace an earlier one at the same position.
  std::vector<Commit> commits;
  // Positions (counted from the first generated token) that are masked again after the commits
  std::vector<int> remasked;
  std::string text;  // completion text that became final with this step
  bool done = false;
  int block = 0;        // number of the block that the step denoised, from 0
  AdapterMix adapters;  // that acted in the step
  // Whether the watcher searched for other adapters after the step; set by the one who watches
  bool retrieved = false;
};

// The result of a round: the result of a step, or nullopt if the step needs another round.
using ForwardRoundResult = absl::StatusOr<std::optional<StepResult>>;

enum class FinishReason : uint8_t { kLength, kEndOfText, kStop };

// How sure the model was of the positions that a step evaluated, and the final hidden states that
// these values were read from. The spans are valid only during the call of the watcher.
struct StepSignals {
  int step = 0;
  float t = 0;
  std::span<const PositionUncertainty> positions;
  std::span<const float> hidden;  // positions x width
};

struct StepScratch;

// One completion, advanced step by step so that the caller can cancel, reschedule and stream
// between steps. It does not own a transformer: it says which forward it needs, and is given the
// outputs, so that one forward can serve many generations (StepTogether in engine/step_together.h).
// Not thread-safe.
class Generation {
 public:
  // Chooses the adapters of the next step from t; called once per step. Null: always the base
  // model.
  using AdapterPolicy = std::function<AdapterMix(float t)>;

  // Checks the options against the model. With `prefixes`, completions of one transformer share
  // memory and the keys and values of common beginnings of their texts; null gives the completion
  // its own memory in float32. Errors: CONTEXT_TOO_LONG (with the number of surplus tokens),
  // MODE_UNSUPPORTED, INVALID_ARGUMENT (with the option and its range, or the option or mode that
  // it contradicts), KV_BUDGET_EXCEEDED (the text's keys and values would not fit into the memory
  // of `prefixes` even without other completions).
  static absl::StatusOr<std::unique_ptr<Generation>> Create(
      const Model& model, std::vector<TokenId> prompt, const SamplingOptions& options,
      AdapterPolicy adapters, std::shared_ptr<PrefixTree> prefixes = nullptr);
  // Creates a generation that fills gaps. `canvas` is the whole text with kNoToken at each position
  // to fill; options.max_tokens is not read. The completion is the text from the first such
  // position to the last one, including given tokens in between. The end-of-text token is not
  // proposed before a given token.
  static absl::StatusOr<std::unique_ptr<Generation>> CreateInfill(
      const Model& model, std::vector<TokenId> canvas, const SamplingOptions& options,
      AdapterPolicy adapters, std::shared_ptr<PrefixTree> prefixes = nullptr);

  Generation();
  virtual ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // May be called only before the first step. `memory` changes the logits of every position before
  // its token is chosen; null means no change, and then every token and probability stays the same,
  // bit for bit. With `record`, trail() collects the commits.
  virtual void SetInstantMemory(std::shared_ptr<const InstantMemory> memory, bool record) = 0;
  // May be called only before the first step. The memory of the reader takes part in the choice of
  // every token, after SetInstantMemory's; null, or an empty memory, changes no bit.
  virtual void SetTokenMemory(std::unique_ptr<MemoryReader> reader) = 0;
  // Returns the positions committed so far; empty unless they are recorded. It does not contain
  // given tokens. Once the generation is done, it contains only the tokens that text() shows
  // completely and the token that ended the text: nothing committed after the end, and nothing of a
  // stop string.
  virtual const CommitTrail& trail() const = 0;

  // May be called only before the first step. `watcher` sees the uncertainty of every step after
  // its tokens are committed. If it changes the adapters, the change takes effect in the next step.
  // If it changes nothing, the completion stays the same, bit for bit.
  using StepWatcher = std::function<void(const StepSignals&)>;
  virtual void Watch(StepWatcher watcher) = 0;

  // Runs one denoising step or decodes one token, for this generation alone. Must not be called
  // once done. After KV_BUDGET_EXCEEDED the step may be tried again when other generations have
  // released memory; after any other error the generation must not be used any more.
  absl::StatusOr<StepResult> Step(Transformer& transformer);

  // --- One round, as StepTogether drives it; a step takes one round or more ---
  // Returns the sequences of the next forward; empty if no forward is needed. The result is valid,
  // and the same on repeated calls, until TakeOutputs. Must not be called once done.
  virtual std::span<const ForwardInput> NextForward() = 0;
  // Takes the outputs of those sequences, in order.
  virtual void TakeOutputs(std::span<const ForwardOutput> outputs) = 0;
  // Returns the hidden states whose logits are needed after this forward; empty if the forward only
  // filled a cache. The result is valid until EndRound.
  virtual LogitsInput NextLogits() const = 0;
  // The number of rows of logits that must be passed to one TakeLogits call
  virtual int rows_together() const = 0;
  // Takes the logits of the next rows (rows x vocabulary), in order. It changes them.
  virtual void TakeLogits(std::span<float> logits) = 0;
  // Ends the round; called after all of the above. MODEL_CORRUPT if logits were not finite: then
  // nothing is committed, and the generation must not be used any more.
  virtual ForwardRoundResult EndRound() = 0;

  // --- Memory of keys and values that completions share (the pool of `prefixes`) ---
  // The number of pages that it holds, alone or together with others
  virtual size_t pages_held() const = 0;
  // Releases all pages; the next forwards compute again what they need. The completion stays the
  // same, bit for bit. Must not be called between TakeOutputs and EndRound, or once done.
  virtual void ReleasePages() = 0;

  virtual bool done() const = 0;
  virtual FinishReason finish_reason() const = 0;
  // Prompt and window, with masks where nothing is committed yet
  virtual const std::vector<TokenId>& tokens() const = 0;
  // Tokens before the first generated one
  virtual int prompt_length() const = 0;
  // Number of positions from the first to the last that may be generated, including given ones in
  // between
  virtual int window() const = 0;
  // Tokens of the window whose text is final. Once done, these are the tokens up to and including
  // the end-of-text token, or up to the token that completed a stop string.
  virtual int completion_tokens() const = 0;
  virtual int steps() const = 0;
  // Sequences evaluated, including those that fill a cache and both sides of guidance
  virtual int forwards() const = 0;
  // Tokens of the prompt whose keys and values were in the cache when decoding began
  virtual int cached_tokens() const = 0;
  // Name of the rule that chooses which positions to commit; empty in autoregressive mode
  virtual std::string sampler() const = 0;
  // How much the memory of SetTokenMemory took part so far
  virtual MemoryUse memory_use() const = 0;
  // The final text; complete once done
  virtual const std::string& text() const = 0;

 private:
  std::unique_ptr<StepScratch> scratch_;  // used by Step
};

}  // namespace ruvd::inference
