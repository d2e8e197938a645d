// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/general_text_gate.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/train/score.h"

namespace ruvd {
namespace {

constexpr double kTolerance = 0.005;
constexpr int kSamples = 12;
constexpr uint64_t kSeed = 0x6761746531ULL;

// Plain prose on everyday things, written for this purpose: the kind of text no adapter should make
// worse.
constexpr std::string_view kPassage =
    "The village lies at the end of a narrow valley, where the river slows down before it reaches "
    "the "
    "lake. In the morning the baker opens his shop first, and people come to buy bread and to hear "
    "the news. During the summer many visitors walk along the old road to the mill, which was "
    "built "
    "more than two hundred years ago and still grinds flour for the farms around it. When the snow "
    "comes, the school closes for a few days, and the children help their parents to carry wood "
    "and "
    "water. Nobody is in a hurry. A letter may take a week to arrive, and the doctor visits only "
    "once "
    "a month, but most people say that they would not want to live anywhere else.";

}  // namespace

absl::StatusOr<GeneralTextGate::Verdict> GeneralTextGate::Check(
    Transformer& transformer, std::shared_ptr<const Adapter> adapter,
    const std::function<bool()>& cancelled) {
  const Tokenizer& tokenizer = transformer.model().tokenizer();
  const std::vector<TokenId> tokens = tokenizer.EncodePrompt(kPassage);
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
