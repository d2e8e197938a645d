// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/general_text_gate.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/train/score.h"
#include "node/actors/general_text.h"

namespace ruvd {
namespace {

constexpr double kTolerance = 0.005;
constexpr int kSamples = 12;
constexpr uint64_t kSeed = 0x6761746531ULL;

}  // namespace

absl::StatusOr<GeneralTextGate::Verdict> GeneralTextGate::Check(
    Transformer& transformer, std::shared_ptr<const Adapter> adapter,
    const std::function<bool()>& cancelled) {
  const Tokenizer& tokenizer = transformer.model().tokenizer();
  const std::vector<TokenId> tokens = tokenizer.EncodePrompt(GateText());
  const std::vector<TokenId> prompt(tokens.begin(), tokens.begin() + 1);
  const std::vector<TokenId> rest(tokens.begin() + 1, tokens.end());
  const ScoreOptions options{
      .mode = DecodingMode::kDiffusion, .samples = kSamples, .seed = kSeed, .cancelled = cancelled};
  if (!base_.has_value()) {
    ASSIGN_OR_RETURN(base_, ScoreCompletion(transformer, prompt, rest, nullptr, options));
  }
  AdapterMix mix;
  mix.parts.push_back({.adapter = std::move(adapter), .weight = 1.0F});
  Verdict verdict{.before = *base_};
  ASSIGN_OR_RETURN(verdict.after, ScoreCompletion(transformer, prompt, rest, &mix, options));
  verdict.pass = verdict.after <= verdict.before * (1 + kTolerance);
  return verdict;
}

}  // namespace ruvd
