// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/evaluate/paired.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/learning/general_text_gate.h"
#include "node/learning/learning_services.h"
#include "node/serving/adapter_catalog.h"
#include "node/sharing/judging_texts.h"
#include "storage/patterns/pattern.h"

namespace ruvd::sharing {

struct PatternTrialOptions {
  float min_rating = 0.7F;  // lowest rating of a lesson that judges
  // Least cosine of a lesson's prompt and the centroid at which the lesson is near: that of
  // retrieval, so that these are the requests which would get the adapter
  float similarity = 0.6F;
  // Lessons may lose up to so many standard errors
  double standard_errors = 2;
  // General text may lose up to this share of its loss. A pattern that learned one lesson costs
  // about 0.14 where it does not belong; noise costs far more
  double max_loss_anywhere = 0.3;
  // Least cosine at which a passage of general text is of the pattern's own kind, so that the gate
  // of adapters for all text decides. It is above `similarity`, because a pattern of one lesson
  // often lies at 0.65 of a passage and would always be refused
  float own_kind = 0.8F;
  // General text in passages of at least two tokens that fit the context; empty: the built-in ones
  std::vector<std::vector<inference::TokenId>> general;
};

// What a node found about a peer's pattern. Losses and gains are in nats per token; a gain is above
// 0 if the adapter helps.
struct TrialVerdict {
  // kServing, kLessonsWorse, kGeneralTextWorse or kUnusable
  storage::PatternStanding standing = storage::PatternStanding::kUnusable;
  size_t lessons = 0;  // own evaluation lessons near the pattern; 0: general text decided alone
  double gain = 0;
  double standard_error = 0;
  double general_before = 0;  // mean over the passages; both are 0 if lessons decided before
  double general_after = 0;
};

// Judges the patterns of peers on this node's own texts before they serve. The adapter is measured
// as it would be served if its pattern alone is near: with the whole weight, on top of the adapters
// that requests get without choosing. It is refused if this node's evaluation lessons
// (IsEvaluationLesson) near its centroid lose more than two standard errors, if the passages of
// general text near the centroid, which would get the adapter, lose more than GeneralTextGate
// allows, or if general text anywhere loses nearly a third. Lessons are scored as
// GainOfPart says. Only one thread may use an object at a time.
class PatternTrial {
 public:
  explicit PatternTrial(PatternTrialOptions options)
      : options_(std::move(options)), general_(options_.general) {}

  // Judges a pattern, read with its payload. Gives way to serving between two forward passes.
  // Returns CANCELLED and the errors of the stores, of AdapterCatalog::Choose and of the forward
  // pass; such a pattern must stay on trial.
  absl::StatusOr<TrialVerdict> Judge(const learning::LearningServices& services,
                                     const storage::Pattern& pattern);

 private:
  absl::StatusOr<std::vector<JudgingText>> LessonsNear(const learning::LearningServices& services,
                                                       std::span<const float> centroid);
  absl::Status JudgeByGeneralText(const learning::LearningServices& services,
                                  const std::vector<serving::RangedPart>& beneath,
                                  const serving::RangedPart& part, std::span<const float> centroid,
                                  TrialVerdict* verdict);

  const PatternTrialOptions options_;
  learning::GeneralTextGate general_;
  std::map<Digest, std::vector<float>> embeddings_;  // of the lessons' prompts in the last call
};

}  // namespace ruvd::sharing
