// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "inference/sampler/commit_schedule.h"
#include "inference/sampler/proposal.h"
#include "inference/sampler/sampler_kind.h"

namespace ruvd::inference {

// What one step sees of the scope that is being denoised: the window, or one block of it. Positions
// are ascending; given tokens appear in neither list.
struct CommitScope {
  std::span<const int> masked;
  std::span<const int> committed;
  int step = 0;  // 0 <= step < schedule.steps()
  const CommitSchedule& schedule;
};

// Decides which masked positions a step commits, and which committed ones it masks again. A rule
// may keep state about a scope between steps, so each generation needs its own rule. Not
// thread-safe.
class CommitRule {
 public:
  // What a step does, as far as this is known before the model is evaluated.
  struct Intent {
    // The step that this intent describes: the step of the scope, or a later one if all steps
    // before it commit and mask nothing.
    int step = 0;
    // Masked positions whose proposals the step needs, ascending. If empty, the step commits
    // nothing and no forward is spent on it.
    std::vector<int> evaluate;
    // Committed positions that become masks again after the step's commits, ascending.
    std::vector<int> remask;
  };

  virtual ~CommitRule() = default;
  // Starts a new scope: everything known about earlier positions is dropped.
  virtual void EnterScope() {}
  // `scope.step` is the first step that was not prepared yet. Steps that do nothing are skipped
  // without looking at the positions, so even very many of them cost little.
  virtual Intent Prepare(const CommitScope& scope, Random& random) = 0;
  // Chooses which of `proposals` (one for each position of Intent::evaluate, at least one) to
  // commit at the step of the intent. Returns indices, best first, never empty and without
  // duplicates.
  virtual std::vector<size_t> Choose(const CommitScope& scope, std::span<const Proposal> proposals,
                                     Random& random) = 0;
  // Returns true if a committed position of the active scope may become a mask again.
  virtual bool remasks() const { return false; }
};

// The parameters. Each is read only by the samplers named beside it.
struct CommitRuleOptions {
  SamplerKind kind = SamplerKind::kLowConfidence;
  // kLowConfidence, kMargin, kEntropy: draws positions without replacement from the softmax of the
  // ranking's scores divided by this temperature (Dream's alg_temp); 0 takes the best.
  float position_temperature = 0;
  float threshold = 0.9F;      // kThreshold, kKlass: confidence in (0, 1]
  float factor = 1.0F;         // kFactor: > 0
  float entropy_bound = 0.1F;  // kEntropyBounded: nats, >= 0
  float stability_kl = 0.01F;  // kKlass: nats, > 0
  int stability_steps = 2;     // kKlass: steps in a row, >= 1
  RemaskKind remask = RemaskKind::kCap;
  float remask_strength = 0.05F;  // kRemdm: the cap, or the factor of kRescale, in [0, 1]
};

// s and t in the rules below are the times of the step on MDLM's linear schedule: t = 1 - step /
// steps.
//  kAncestral       reveals every mask with probability 1 - s/t (MDLM, arXiv 2406.07524). The
//                   draw comes first, so only revealed positions are evaluated, and a step that
//                   reveals none costs nothing (this saves more than MDLM's ddpm_cache).
//  kLowConfidence, kMargin, kEntropy   commit as many positions as the schedule says, best first:
//                   by probability (LLaDA), by the distance between the two best tokens, or by
//                   lowest entropy (Dream).
//  kRandom, kPosition   commit as many positions as the schedule says, drawn uniformly or from the
//                   left; only these are evaluated.
//  kThreshold       commits all positions with at least that confidence, but never fewer than the
//                   schedule says, which is at least one (Fast-dLLM, arXiv 2505.22618).
//  kFactor          commits the n most confident positions for the largest n with
//                   (n + 1)(1 - confidence_n) < factor, but never fewer than the schedule says
//                   (the same paper).
//  kEntropyBounded  sorts by entropy, lowest first, and commits the longest prefix with
//                   sum(H) - max(H) <= bound, but never fewer than the schedule says (EB-Sampler,
//                   arXiv 2505.24857).
//  kKlass           commits all positions at or above the confidence whose prediction moved by less
//                   than the KL bound in each of the last steps; if these are fewer than the
//                   schedule says, it adds the most confident of the others (KLASS,
//                   arXiv 2511.05664). Proposals carry the movement: see StabilityTracker.
//  kRemdm           works like kAncestral, and masks committed positions again with probability
//                   sigma (ReMDM, arXiv 2503.00307); the last step masks none.
std::unique_ptr<CommitRule> MakeCommitRule(const CommitRuleOptions& options);

}  // namespace ruvd::inference
