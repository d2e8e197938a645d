// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/general_text_gate.h"

#include <algorithm>
#include <span>

#include "base/status.h"
#include "inference/train/score.h"
#include "node/learning/general_text.h"
#include "node/serving/served_adapters.h"

namespace ruvd::learning {
namespace {

constexpr double kTolerance = 0.005;
// Number of maskings for all passages together, and the least number for one passage.
constexpr size_t kSamples = 12;
constexpr size_t kMinSamples = 3;
constexpr uint64_t kSeed = 0x6761746531ULL;

}  // namespace

absl::StatusOr<std::vector<double>> GeneralTextGate::Score(
    inference::Transformer& transformer, const inference::AdaptersOfStep& adapters,
    const std::vector<bool>& scored, const std::function<bool()>& cancelled) {
  const size_t samples = std::max(kMinSamples, kSamples / passages_.size());
  std::vector<double> nats(passages_.size());
  for (size_t i = 0; i < passages_.size(); ++i) {
    if (!scored[i]) {
      continue;
    }
    const std::span<const inference::TokenId> tokens(passages_[i]);
    ASSIGN_OR_RETURN(nats[i], inference::ScoreCompletion(
                                  transformer, tokens.first(1), tokens.subspan(1), adapters,
                                  {.mode = inference::DecodingMode::kDiffusion,
                                   .samples = static_cast<int>(samples),
                                   .seed = kSeed + i,
                                   .cancelled = cancelled}));
  }
  return nats;
}

absl::StatusOr<GeneralTextGate::Verdict> GeneralTextGate::Check(
    inference::Transformer& transformer, std::shared_ptr<const inference::Adapter> adapter,
    const std::function<bool()>& cancelled) {
  return Check(transformer, {.adapter = StaticTalora(std::move(adapter))}, cancelled);
}

absl::StatusOr<GeneralTextGate::Verdict> GeneralTextGate::Check(
    inference::Transformer& transformer, serving::RangedPart adapter,
    const std::function<bool()>& cancelled, const std::vector<serving::RangedPart>& beneath,
    const Applies& applies) {
  if (passages_.empty()) {
    passages_ = BuiltInPassages(transformer.model()).measured;
  }
  std::vector<bool> scored(passages_.size(), true);
  if (base_.empty() || beneath_ != beneath) {
    ASSIGN_OR_RETURN(base_, Score(transformer, serving::MixesOf(beneath), scored, cancelled));
    beneath_ = beneath;
  }
  for (size_t i = 0; applies && i < passages_.size(); ++i) {
    ASSIGN_OR_RETURN(const bool own, applies(passages_[i]));
    scored[i] = own;
  }
  std::vector<serving::RangedPart> parts = beneath;
  parts.push_back(std::move(adapter));
  ASSIGN_OR_RETURN(const std::vector<double> with,
                   Score(transformer, serving::MixesOf(std::move(parts)), scored, cancelled));
  Verdict verdict;
  for (size_t i = 0; i < passages_.size(); ++i) {
    verdict.before += base_[i] / static_cast<double>(passages_.size());
    verdict.after += (scored[i] ? with[i] : base_[i]) / static_cast<double>(passages_.size());
  }
  verdict.pass = verdict.after <= verdict.before * (1 + kTolerance);
  return verdict;
}

}  // namespace ruvd::learning
