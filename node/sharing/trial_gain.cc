// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/trial_gain.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "node/serving/served_adapters.h"

namespace ruvd::sharing {
namespace {

// Each text is scored under this many maskings, of this many draws of t each.
constexpr int kTrialMaskings = 4;
constexpr int kTrialDraws = 2;
// With fewer texts the standard error is that of the maskings.
constexpr size_t kIndependentTexts = 5;

// Returns the loss under one masking.
absl::StatusOr<double> LossOf(const learning::LearningServices& services,
                              const std::vector<serving::RangedPart>& parts,
                              const inference::ScoredDocument& text, uint64_t seed) {
  absl::Status yielded;
  const auto stop = [&] {
    yielded = learning::YieldBetweenPieces(services);
    return !yielded.ok();
  };
  const auto table =
      inference::EvaluateNelbo(*services.transformer, std::span(&text, 1), serving::MixesOf(parts),
                               {.draws = kTrialDraws, .seed = seed, .cancelled = stop});
  RETURN_IF_ERROR(yielded);
  RETURN_IF_ERROR(table.status());
  return table->nats.front();
}

}  // namespace

absl::StatusOr<learning::PairedGain> GainOfPart(const learning::LearningServices& services,
                                                const std::vector<serving::RangedPart>& beneath,
                                                const serving::RangedPart& part,
                                                std::span<const JudgingText> texts) {
  std::vector<serving::RangedPart> with = beneath;
  with.push_back(part);
  std::vector<double> before;
  std::vector<double> after;
  for (const JudgingText& text : texts) {
    uint64_t seed = 0;
    std::memcpy(&seed, text.id.data(), sizeof(seed));
    double without_it = 0;
    double with_it = 0;
    for (int masking = 0; masking < kTrialMaskings; ++masking, ++seed) {
      ASSIGN_OR_RETURN(const double plain, LossOf(services, beneath, text.text, seed));
      ASSIGN_OR_RETURN(const double adapted, LossOf(services, with, text.text, seed));
      without_it += plain / kTrialMaskings;
      with_it += adapted / kTrialMaskings;
      if (texts.size() < kIndependentTexts) {
        before.push_back(plain);
        after.push_back(adapted);
      }
    }
    if (texts.size() >= kIndependentTexts) {
      before.push_back(without_it);
      after.push_back(with_it);
    }
  }
  return learning::GainOf(before, after);
}

bool Harms(const learning::PairedGain& gain, double standard_errors) {
  return !std::isfinite(gain.mean) ||
         (gain.mean < 0 && -gain.mean > standard_errors * gain.standard_error);
}

}  // namespace ruvd::sharing
