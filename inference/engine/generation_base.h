// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inference/engine/completion_text.h"
#include "inference/engine/generation.h"
#include "inference/sampler/proposal.h"

namespace ruvd::generation {

// Options after they were checked against the model, with every default filled in.
struct Plan {
  DecodingMode mode = DecodingMode::kDiffusion;
  SamplingOptions options;
  int max_tokens = 0;
  int block_length = 0;  // kBlock
  TokenId mask = kNoToken;
  std::optional<TokenId> end_of_text;  // nullopt: it does not end the text
  ModelConfig config;
};

absl::StatusOr<Plan> MakePlan(const Model& model, std::span<const TokenId> prompt,
                              const SamplingOptions& options);

// What all modes share: the window, the text, the adapters of the step, the counters.
class Base : public Generation {
 public:
  Base(const Model& model, Plan plan, std::vector<TokenId> prompt, AdapterPolicy adapters);

  bool done() const final { return done_; }
  FinishReason finish_reason() const final;
  const std::vector<TokenId>& tokens() const final { return tokens_; }
  int prompt_length() const final { return prompt_length_; }
  int steps() const final { return steps_; }
  int forwards() const final { return forwards_; }
  const std::string& text() const final { return text_.text(); }

 protected:
  AdapterMix AdaptersFor(float t) const { return policy_ ? policy_(t) : AdapterMix(); }
  // Hands the tokens before `end` that the text does not have yet to the text. `complete`: no token
  // follows. Returns what became final and sets done.
  std::string AdvanceText(int end, bool complete);

  Plan plan_;
  std::vector<TokenId> tokens_;
  int prompt_length_;
  int steps_ = 0;
  int forwards_ = 0;
  Proposer proposer_;

 private:
  AdapterPolicy policy_;
  CompletionText text_;
  int text_position_;  // first token not handed to the text
  bool done_ = false;
};

// Diffusion and block mode: a window of masks of which each step commits the best.
class MaskedBase : public Base {
 public:
  MaskedBase(const Model& model, Plan plan, std::vector<TokenId> prompt, AdapterPolicy adapters);

 protected:
  // Masked positions of [begin, end) before the active end, ascending.
  std::vector<int> Masked(int begin, int end) const;
  // Positions from here on follow a committed end-of-text token: nobody will read them.
  int active_end() const { return active_end_; }
  // Reads row i of `hidden` (positions.size() x width) as the prediction of positions[i] and
  // commits the best `count`, or all above the confidence threshold if those are more. Fills the
  // result but for t.
  StepResult CommitBest(Transformer& transformer, const AdapterMix& mix,
                        std::span<const int> positions, std::span<const float> hidden, int count);

 private:
  std::vector<Proposal> ProposeAll(Transformer& transformer, const AdapterMix& mix,
                                   std::span<const int> positions, std::span<const float> hidden);

  int active_end_;
};

std::unique_ptr<Generation> MakeDiffusion(const Model& model, Plan plan,
                                          std::vector<TokenId> prompt,
                                          Generation::AdapterPolicy adapters);
std::unique_ptr<Generation> MakeBlock(const Model& model, Plan plan, std::vector<TokenId> prompt,
                                      Generation::AdapterPolicy adapters);
std::unique_ptr<Generation> MakeAutoregressive(const Model& model, Plan plan,
                                               std::vector<TokenId> prompt,
                                               Generation::AdapterPolicy adapters);

}  // namespace ruvd::generation
