// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/bank_gate.h"
#include "inference/evaluate/paired.h"
#include "node/learning/evaluation_lessons.h"
#include "node/learning/learning_services.h"
#include "node/sharing/update_layout.h"

namespace ruvd::sharing {

// Returns the newest usable evaluation lessons, at most limits::kMaxEvaluationLessons, as
// documents: the prompt is given and the text that the user wanted is scored. Lessons of erased
// users no longer exist. Returns CANCELLED and the errors of the store.
absl::StatusOr<std::vector<inference::ScoredDocument>> ChooseEvaluationLessons(
    const learning::LearningServices& services, float min_rating);

// Returns general text as documents; all tokens except the first are scored.
std::vector<inference::ScoredDocument> DocumentsOf(
    const std::vector<std::vector<inference::TokenId>>& passages);

// A text that judges adapters, with a hash of its tokens.
struct JudgingText {
  Digest id{};
  inference::ScoredDocument text;
};
// Returns the texts in the order of their ids, each once.
std::vector<JudgingText> WithIds(std::vector<inference::ScoredDocument> texts);

// Scores global adapters on this node's held-out lessons and on general text, bank by bank. A
// masking with share t measures only the bank of t, because banks do not mix. Every document is
// scored under the same masks for all adapters and rounds, and the scores of a bank are remembered,
// so that nothing is measured twice. The scores are on the frozen model, on which cores are
// trained. Remembered scores contain no text. Only one thread may use an object.
class BankEvaluation {
 public:
  explicit BankEvaluation(UpdateLayout layout) : layout_(std::move(layout)) {}

  // Sets the documents to score. Scores of other documents are forgotten.
  void SetTexts(std::vector<inference::ScoredDocument> lessons,
                std::vector<inference::ScoredDocument> general);
  // Forgets the texts themselves, but not their scores.
  void DropTexts();
  size_t lessons() const { return lessons_.size(); }

  // Returns the gain of a candidate over the served adapter on the lessons, and its loss on general
  // text over the frozen model; comparing with the frozen model keeps many rounds from adding up to
  // a loss that one round may not cause. Banks that are equal in both are not scored. Returns
  // CANCELLED and the errors of the forward pass and of between_slices.
  absl::StatusOr<federation::ShadowScore> Compare(const learning::LearningServices& services,
                                                  const federation::BankedValues& served,
                                                  const federation::BankedValues& candidate);
  // Does what Compare does, on the lessons only.
  absl::StatusOr<federation::ShadowScore> CompareOnLessons(
      const learning::LearningServices& services, const federation::BankedValues& served,
      const federation::BankedValues& candidate);
  // Returns whether all banks of the candidate were scored on all lessons before.
  bool HasScored(const federation::BankedValues& candidate) const;

 private:
  // The part of a document's NELBO that comes from maskings whose t is in one bank.
  struct Part {
    double nats = 0;
    int draws = 0;
  };
  using Parts = std::vector<Part>;  // by document

  Digest KeyOf(size_t bank, std::span<const float> values) const;
  absl::StatusOr<Parts> Score(const learning::LearningServices& services, size_t bank,
                              const std::vector<float>& values,
                              std::span<const JudgingText> documents);
  absl::StatusOr<Part> ScoreOne(const learning::LearningServices& services, size_t bank,
                                const inference::AdapterMix* mix,
                                const JudgingText& document) const;
  absl::StatusOr<federation::BankScore> Gain(const learning::LearningServices& services,
                                             size_t bank, const std::vector<float>& served,
                                             const std::vector<float>& candidate);

  const UpdateLayout layout_;
  std::vector<JudgingText> lessons_;
  std::vector<JudgingText> general_;
  // Scores by hash of a bank and its values, then by document.
  std::map<Digest, std::map<Digest, Part>> scored_;
};

}  // namespace ruvd::sharing
