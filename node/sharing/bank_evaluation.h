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
#include "node/learning/judging_lessons.h"
#include "node/learning/learning_services.h"
#include "node/sharing/update_layout.h"

namespace ruvd::sharing {

// The newest limits::kMaxJudges of them that teach something, as documents: prompts are given, what
// users wanted is scored. Those of users who were erased are gone with their texts. CANCELLED; the
// errors of the store.
absl::StatusOr<std::vector<inference::ScoredDocument>> ChooseJudges(
    const learning::LearningServices& services, float min_rating);

// General text as documents: all but the first token is scored.
std::vector<inference::ScoredDocument> DocumentsOf(
    const std::vector<std::vector<inference::TokenId>>& passages);

// Scores global adapters on this node's held-out lessons and on general text, bank by bank: a
// masking of share t says something of the bank of t alone, since banks do not mix. Every document
// is read under the same masks, whatever the adapter and the round, and what a bank scored is
// remembered, so that what was measured once costs nothing. On the frozen model, as cores are
// trained. Keeps no text. One thread uses it.
class BankEvaluation {
 public:
  explicit BankEvaluation(UpdateLayout layout) : layout_(std::move(layout)) {}

  // What is scored from now on; whatever was scored of other documents is forgotten.
  void SetTexts(std::vector<inference::ScoredDocument> lessons,
                std::vector<inference::ScoredDocument> general);
  // Forgets the texts themselves.
  void DropTexts();
  size_t lessons() const { return lessons_.size(); }

  // What a candidate gains on the lessons beside what is served, and what general text loses beside
  // the frozen model: many rounds must not add up to what one may not do. Of banks that are equal
  // in both nothing is scored. The errors of the forward pass, of between_slices, CANCELLED.
  absl::StatusOr<federation::ShadowScore> Compare(const learning::LearningServices& services,
                                                  const federation::BankedValues& served,
                                                  const federation::BankedValues& candidate);
  // The same on the lessons alone.
  absl::StatusOr<federation::ShadowScore> CompareOnLessons(
      const learning::LearningServices& services, const federation::BankedValues& served,
      const federation::BankedValues& candidate);
  // Whether a bank's values were scored on all lessons before.
  bool Remembers(const federation::BankedValues& candidate) const;

 private:
  struct Document {
    Digest id{};
    inference::ScoredDocument text;
  };
  // What a document takes under the maskings whose t is in a bank, as a share of its NELBO.
  struct Part {
    double nats = 0;
    int draws = 0;
  };
  using Parts = std::vector<Part>;  // by document

  static std::vector<Document> WithIds(std::vector<inference::ScoredDocument> texts);
  Digest KeyOf(size_t bank, std::span<const float> values) const;
  absl::StatusOr<Parts> Score(const learning::LearningServices& services, size_t bank,
                              const std::vector<float>& values,
                              std::span<const Document> documents);
  absl::StatusOr<Part> ScoreOne(const learning::LearningServices& services, size_t bank,
                                const inference::AdapterMix* mix, const Document& document) const;
  absl::StatusOr<federation::BankScore> Gain(const learning::LearningServices& services,
                                             size_t bank, const std::vector<float>& served,
                                             const std::vector<float>& candidate);

  const UpdateLayout layout_;
  std::vector<Document> lessons_;
  std::vector<Document> general_;
  // By bank and its values, then by document.
  std::map<Digest, std::map<Digest, Part>> scored_;
};

}  // namespace ruvd::sharing
