// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inference/constrain/constrained_text.h"
#include "inference/engine/completion_text.h"
#include "inference/engine/generation.h"
#include "inference/engine/plan.h"
#include "inference/sampler/commit_rule.h"
#include "inference/sampler/proposal.h"

namespace ruvd::inference::generation {

// The part that all modes share: the window, the text, the adapters of the step, the counters.
class Base : public Generation {
 public:
  Base(const Model& model, Plan plan, AdapterPolicy adapters);

  bool done() const final { return done_; }
  FinishReason finish_reason() const final;
  const std::vector<TokenId>& tokens() const final { return tokens_; }
  int prompt_length() const final { return plan_.first_open; }
  int window() const final { return plan_.open_end - plan_.first_open; }
  int completion_tokens() const final { return text_.tokens(); }
  int steps() const final { return steps_; }
  int forwards() const final { return forwards_; }
  int cached_tokens() const final { return cached_tokens_; }
  const std::string& text() const final { return text_.text(); }
  std::string sampler() const final;

  void SetInstantMemory(std::shared_ptr<const InstantMemory> memory, bool record) final;
  void SetTokenMemory(std::unique_ptr<MemoryReader> reader) final;
  MemoryUse memory_use() const final { return reader_ == nullptr ? MemoryUse() : reader_->use(); }
  const CommitTrail& trail() const final { return trail_; }
  void Watch(StepWatcher watcher) final;

  std::span<const ForwardInput> NextForward() final;
  void TakeOutputs(std::span<const ForwardOutput> outputs) final;
  size_t pages_held() const override { return 0; }
  void ReleasePages() final;

 protected:
  // Drops all keys and values. PrepareForward is called again for a forward that was already
  // prepared.
  virtual void DropCaches() {}
  // Fills inputs_ for the next forward, and begins a step if no step is active.
  virtual void PrepareForward() = 0;
  virtual void UseOutputs(std::span<const ForwardOutput> outputs) = 0;

  // Notes, before the first forward, how many tokens of the prompt have keys and values.
  void NoteCached(int tokens) {
    if (forwards_ == 0) {
      cached_tokens_ = tokens;
    }
  }
  AdapterMix AdaptersFor(float t) const { return policy_ ? policy_(t) : AdapterMix(); }
  // Returns the error of EndRound if the proposal's logits were not finite.
  absl::Status CheckSound(const Proposal& proposal) const;
  // Lets the memories change rows of logits that were computed from these hidden states for these
  // positions.
  void AdjustLogits(const MemoryWindow& window, std::span<const int> positions,
                    std::span<const float> hidden, std::span<float> logits);
  // Holds a row of logits, that of the first position without a token, to the constraint. The round
  // then returns the error of CheckConstraint if nothing may follow.
  void Constrain(std::span<float> logits);
  absl::Status CheckConstraint() const { return unmet_; }
  // Says which token the first position got.
  void FollowConstraint(TokenId token);
  // Adds a commit to trail() if recording is on.
  void RecordCommit(const Proposal& proposal, std::span<const float> hidden);
  bool watched() const { return watcher_ != nullptr; }
  // `hidden` has one row for each proposal.
  void ShowSignals(float t, std::span<const PositionUncertainty> positions,
                   std::span<const float> hidden) const;
  PositionUncertainty Assess(const Proposal& proposal) const;
  // Passes the tokens before `end` that the text does not have yet to the text. `complete` means
  // that no token follows. Returns what became final and sets done_.
  std::string AdvanceText(int end, bool complete);

  Plan plan_;
  std::vector<TokenId> tokens_;
  std::vector<ForwardInput> inputs_;
  int steps_ = 0;
  int forwards_ = 0;
  Proposer proposer_;

 private:
  AdapterPolicy policy_;
  std::shared_ptr<const InstantMemory> memory_;   // null: no memory
  std::unique_ptr<MemoryReader> reader_;          // null: no memory of lessons
  std::unique_ptr<ConstrainedText> constrained_;  // null: the text is free
  absl::Status unmet_;                            // that of the constraint in this round
  bool record_ = false;
  CommitTrail trail_;
  StepWatcher watcher_;  // null: no watcher
  CompletionText text_;
  int text_position_;  // first token that was not passed to the text
  int cached_tokens_ = 0;
  bool prepared_ = false;  // inputs_ are waiting for their outputs
  bool done_ = false;
};

// The part that diffusion and block mode share: a scope (the window, or one block) contains masks,
// and each step commits the masks that the commit rule chooses.
class MaskedBase : public Base {
 public:
  MaskedBase(const Model& model, Plan plan, AdapterPolicy adapters);

  LogitsInput NextLogits() const final;
  int rows_together() const final { return branches(); }
  void TakeLogits(std::span<float> logits) final;
  ForwardRoundResult EndRound() final;

 protected:
  void PrepareForward() final;

  // Fills inputs_ with what is needed before `evaluate_` can be read, if anything is. Returns true
  // if these inputs only fill caches, so this function must be called again afterwards.
  virtual bool PrepareScope() = 0;
  // Called when the scope has no masks left and the generation is not done.
  virtual void EnterNextScope() {}

  // Sequences of a step: the text, and with guidance also the text with all given tokens masked
  int branches() const { return plan_.options.guidance_scale > 0 ? 2 : 1; }
  // Returns the tokens of a branch; valid until the next step.
  std::span<const TokenId> BranchTokens(int branch) const {
    return branch == 0 ? std::span(tokens_) : std::span(unconditional_);
  }
  void EnterScope(int begin, int end);
  bool HasOpen(int begin, int end) const;
  // Returns the rows that a forward starting at position `begin` must return for the predictions of
  // evaluate_, each once, ascending.
  std::vector<int> PredictingRows(int begin) const;
  // Reads these rows: `hidden` holds PredictingRows(begin), `before` the row before `begin`.
  void ReadHidden(int branch, int begin, std::span<const float> hidden,
                  std::span<const float> before);

  int scope_ = -1;  // number of the scope
  int scope_begin_ = 0;
  int scope_end_ = 0;
  std::vector<int> evaluate_;  // positions whose proposals the step needs
  AdapterMix mix_;             // adapters of the step

 private:
  // Tokens that the last step skipped, because its commits would have repeated an n-gram, are
  // committed by additional steps with the last step's settings.
  CommitScope Scope() const {
    return {.masked = masked_,
            .committed = committed_,
            .step = std::min(scope_step_, schedule_->steps() - 1),
            .schedule = *schedule_};
  }
  void BeginStep();
  // Open positions of the scope before the active end that are masked (or, if `masked` is false,
  // committed), ascending
  std::vector<int> Open(bool masked) const;
  void CommitAll(std::span<const size_t> chosen, StepResult* result);
  // Returns the uncertainty of the step's proposals.
  std::vector<PositionUncertainty> Uncertainty() const;
  // Hidden states of the step's proposals, row by row, without guidance
  std::vector<float> UnguidedHidden() const;
  // Returns the hidden state from which proposal `index` of the step was read, without guidance.
  std::span<const float> HiddenOf(size_t index) const;
  void Remask();
  void FindActiveEnd();
  void EndStep(StepResult* result);

  std::vector<bool> open_;  // true for positions that are not given
  std::vector<TokenId> unconditional_;
  std::unique_ptr<CommitRule> rule_;
  Random random_;  // random numbers for the rule
  std::unique_ptr<CommitSchedule> schedule_;
  int scope_step_ = 0;
  // Positions from here on follow a committed token that ends the text, so they are never shown.
  int active_end_;
  bool in_step_ = false;
  bool filling_ = false;  // the current forward only fills caches
  float t_ = 0;
  std::vector<int> masked_;  // in the scope, before the step
  std::vector<int> committed_;
  std::vector<int> remask_;    // positions that the current step masks again
  std::vector<int> remasked_;  // positions masked again since the last result
  std::vector<float> hidden_;  // evaluate_ x branches x width
  std::vector<Proposal> proposals_;
};

std::unique_ptr<Generation> MakeDiffusion(const Model& model, Plan plan,
                                          Generation::AdapterPolicy adapters);
// Makes a diffusion generation with SamplingOptions::approximate_cache_steps.
std::unique_ptr<Generation> MakeApproximate(const Model& model, Plan plan,
                                            Generation::AdapterPolicy adapters);
std::unique_ptr<Generation> MakeBlock(const Model& model, Plan plan,
                                      Generation::AdapterPolicy adapters);
std::unique_ptr<Generation> MakeAutoregressive(const Model& model, Plan plan,
                                               Generation::AdapterPolicy adapters);

}  // namespace ruvd::inference::generation
