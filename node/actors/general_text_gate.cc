// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/general_text_gate.h"

#include <algorithm>
#include <span>

#include "base/status.h"
#include "inference/train/score.h"
#include "node/actors/general_text.h"

namespace ruvd {
namespace {

constexpr double kTolerance = 0.005;
// Maskings of all passages together, and of one at least.
constexpr size_t kSamples = 12;
constexpr size_t kLeastSamples = 3;
constexpr uint64_t kSeed = 0x6761746531ULL;

}  // namespace

absl::StatusOr<double> GeneralTextGate::Score(Transformer& transformer, const AdaptersOfT& adapters,
                                              const std::function<bool()>& cancelled) {
  if (passages_.empty()) {
    passages_ = BuiltInPassages(transformer.model()).measured;
  }
  const size_t samples = std::max(kLeastSamples, kSamples / passages_.size());
  double sum = 0;
  for (size_t i = 0; i < passages_.size(); ++i) {
    const std::span<const TokenId> tokens(passages_[i]);
    ASSIGN_OR_RETURN(const double nats,
                     ScoreCompletion(transformer, tokens.first(1), tokens.subspan(1), adapters,
                                     {.mode = DecodingMode::kDiffusion,
                                      .samples = static_cast<int>(samples),
                                      .seed = kSeed + i,
                                      .cancelled = cancelled}));
    sum += nats;
  }
  return sum / static_cast<double>(passages_.size());
}

absl::StatusOr<GeneralTextGate::Verdict> GeneralTextGate::Check(
    Transformer& transformer, std::shared_ptr<const Adapter> adapter,
    const std::function<bool()>& cancelled) {
  return Check(transformer, *StaticTalora(std::move(adapter)), cancelled);
}

absl::StatusOr<GeneralTextGate::Verdict> GeneralTextGate::Check(
    Transformer& transformer, const Talora& adapter, const std::function<bool()>& cancelled,
    const AdapterMix& beneath) {
  if (!base_.has_value() || !SameMix(beneath_, beneath)) {
    const AdaptersOfT without = [&](double) { return beneath.empty() ? nullptr : &beneath; };
    ASSIGN_OR_RETURN(base_, Score(transformer, without, cancelled));
    beneath_ = beneath;
  }
  AdapterMix mix;
  const auto mix_at = [&](double t) {
    mix = beneath;
    AppendMix(adapter, static_cast<float>(t), {}, 1.0F, &mix);
    return &mix;
  };
  Verdict verdict{.before = *base_};
  ASSIGN_OR_RETURN(verdict.after, Score(transformer, mix_at, cancelled));
  verdict.pass = verdict.after <= verdict.before * (1 + kTolerance);
  return verdict;
}

}  // namespace ruvd
