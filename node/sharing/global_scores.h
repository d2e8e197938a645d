// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/talora.h"
#include "inference/evaluate/paired.h"
#include "node/learning/learning_services.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::sharing {

// Maskings of each lesson that judges, as in deep rounds.
inline constexpr int kLessonDraws = 4;

// A text that judges, and the adapters that act on it beside the global one.
struct JudgingDocument {
  inference::ScoredDocument text;
  std::vector<serving::RangedPart> beside;
  Digest id{};  // of both
};

// Scores documents with global adapters. Each document is scored under the same masks for all
// adapters, so that differences of scores are paired. Scores since the call of Begin before the
// last are remembered; they contain no text. Not thread-safe.
class GlobalScores {
 public:
  // Forgets the scores that were not used since the last call.
  void Begin() { former_ = std::exchange(scored_, {}); }

  // Returns the loss of each document with this global adapter, in nats per token, from `draws`
  // maskings; null: without one. Gives way to serving between two forward passes. Returns CANCELLED
  // and the errors of the forward pass.
  absl::StatusOr<std::vector<double>> LossesOf(
      const learning::LearningServices& services,
      const std::shared_ptr<const inference::Talora>& global,
      std::span<const JudgingDocument> documents, int draws);

 private:
  // Scores by adapter and document.
  using Scores = std::map<std::pair<Digest, Digest>, double>;
  Scores scored_;  // since the last Begin
  Scores former_;  // between the two before
};

}  // namespace ruvd::sharing
