// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inference/engine/completion_text.h"
#include "inference/engine/generation.h"
#include "inference/engine/plan.h"
#include "inference/sampler/commit_rule.h"
#include "inference/sampler/proposal.h"

namespace ruvd::inference::generation {

// What all modes share: the window, the text, the adapters of the step, the counters.
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
  const std::string& text() const final { return text_.text(); }

  void Remember(std::shared_ptr<const InstantMemory> memory, bool record) final;
  const CommitTrail& trail() const final { return trail_; }
  void Watch(StepWatcher watcher) final;

  std::span<const ForwardInput> NextForward() final;
  void TakeOutputs(std::span<const ForwardOutput> outputs) final;
  size_t pages_held() const override { return 0; }
  void ReleasePages() final;

 protected:
  // Forgets all keys and values. PrepareForward is called again for a forward that was prepared.
  virtual void DropCaches() {}
  // Fills inputs_ for the next forward, and begins a step where none is under way.
  virtual void PrepareForward() = 0;
  virtual void UseOutputs(std::span<const ForwardOutput> outputs) = 0;

  AdapterMix AdaptersFor(float t) const { return policy_ ? policy_(t) : AdapterMix(); }
  // Errors as EndRound's.
  absl::Status CheckSound(const Proposal& proposal) const;
  // Lets the session's memory change rows of logits, made from these hidden states.
  void AdjustLogits(std::span<const float> hidden, size_t rows, std::span<float> logits) const;
  // Notes a commit for trail(), where it is recorded.
  void NoteCommit(const Proposal& proposal, std::span<const float> hidden);
  bool watched() const { return watcher_ != nullptr; }
  // `hidden`: one row for each proposal.
  void ShowSignals(float t, std::span<const PositionUncertainty> positions,
                   std::span<const float> hidden) const;
  PositionUncertainty Assess(const Proposal& proposal) const;
  // Hands the tokens before `end` that the text does not have yet to the text. `complete`: no token
  // follows. Returns what became final and sets done.
  std::string AdvanceText(int end, bool complete);

  Plan plan_;
  std::vector<TokenId> tokens_;
  std::vector<ForwardInput> inputs_;
  int steps_ = 0;
  int forwards_ = 0;
  Proposer proposer_;

 private:
  AdapterPolicy policy_;
  std::shared_ptr<const InstantMemory> memory_;  // null: none
  bool record_ = false;
  CommitTrail trail_;
  StepWatcher watcher_;  // null: nobody watches
  CompletionText text_;
  int text_position_;      // first token not handed to the text
  bool prepared_ = false;  // inputs_ wait for their outputs
  bool done_ = false;
};

// Diffusion and block mode: masks in a scope (the window, or one block), of which each step commits
// those that the commit rule chooses.
class MaskedBase : public Base {
 public:
  MaskedBase(const Model& model, Plan plan, AdapterPolicy adapters);

  LogitsInput WantedLogits() const final;
  int rows_together() const final { return branches(); }
  void TakeLogits(std::span<float> logits) final;
  RoundResult EndRound() final;

 protected:
  void PrepareForward() final;

  // Fills inputs_ with what is needed before `evaluate_` can be read, if anything is; returns true
  // where those only fill caches, so that this is called again.
  virtual bool PrepareScope() = 0;
  // The scope has no masks left and the generation is not done.
  virtual void EnterNextScope() {}

  // Sequences of a step: the text, and under guidance the text with all given tokens masked.
  int branches() const { return plan_.options.guidance_scale > 0 ? 2 : 1; }
  // Tokens of a branch; valid until the next step.
  std::span<const TokenId> BranchTokens(int branch) const {
    return branch == 0 ? std::span(tokens_) : std::span(unconditional_);
  }
  void EnterScope(int begin, int end);
  bool HasOpen(int begin, int end) const;
  // For the predictions of evaluate_ from a forward that starts at position `begin`: the rows it
  // must return, each once, ascending.
  std::vector<int> PredictingRows(int begin) const;
  // Reads them: `hidden` holds PredictingRows(begin), `before` the row before `begin`.
  void ReadHidden(int branch, int begin, std::span<const float> hidden,
                  std::span<const float> before);

  int scope_begin_ = 0;
  int scope_end_ = 0;
  std::vector<int> evaluate_;  // positions whose proposals the step needs
  AdapterMix mix_;             // of the step

 private:
  // What the last step had to leave, as its commits would have repeated each other, is committed by
  // more of the same.
  CommitScope Scope() const {
    return {.masked = masked_,
            .committed = committed_,
            .step = std::min(scope_step_, schedule_->steps() - 1),
            .schedule = *schedule_};
  }
  void BeginStep();
  // Open positions of the scope before the active end that are masked or committed, ascending.
  std::vector<int> Open(bool masked) const;
  void CommitAll(std::span<const size_t> chosen, StepResult* result);
  // Of the step's proposals.
  std::vector<PositionUncertainty> Uncertainty() const;
  // Hidden states of the step's proposals, row by row, without those of guidance.
  std::vector<float> UnguidedHidden() const;
  // The hidden state that proposal `index` of the step was read from, without guidance.
  std::span<const float> HiddenOf(size_t index) const;
  void Remask();
  void FindActiveEnd();
  void EndStep(StepResult* result);

  std::vector<bool> open_;  // not given
  std::vector<TokenId> unconditional_;
  std::unique_ptr<CommitRule> rule_;
  Random random_;  // of the rule
  std::unique_ptr<CommitSchedule> schedule_;
  int scope_step_ = 0;
  // Positions from here on follow a committed token that ends the text: nobody will read them.
  int active_end_;
  bool in_step_ = false;
  bool filling_ = false;  // the forward under way only fills caches
  float t_ = 0;
  std::vector<int> masked_;  // of the scope, before the step
  std::vector<int> committed_;
  std::vector<int> remask_;    // by the step under way
  std::vector<int> remasked_;  // since the last result
  std::vector<float> hidden_;  // evaluate_ x branches x width
  std::vector<Proposal> proposals_;
};

std::unique_ptr<Generation> MakeDiffusion(const Model& model, Plan plan,
                                          Generation::AdapterPolicy adapters);
// Diffusion with SamplingOptions::approximate_cache_steps.
std::unique_ptr<Generation> MakeApproximate(const Model& model, Plan plan,
                                            Generation::AdapterPolicy adapters);
std::unique_ptr<Generation> MakeBlock(const Model& model, Plan plan,
                                      Generation::AdapterPolicy adapters);
std::unique_ptr<Generation> MakeAutoregressive(const Model& model, Plan plan,
                                               Generation::AdapterPolicy adapters);

}  // namespace ruvd::inference::generation
