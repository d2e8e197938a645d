// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/talora.h"
#include "inference/evaluate/paired.h"
#include "node/learning/learning_services.h"
#include "node/sharing/global_scores.h"

namespace ruvd::sharing {

struct GlobalGateOptions {
  float min_rating = 0.7F;  // lowest rating of a lesson that judges
  // With fewer lessons than this, general text decides alone
  size_t least_documents = 5;
  // Lessons may lose up to so many standard errors, because peers learn from other texts than this
  // node
  double standard_errors = 2;
  // General text may lose up to this share of its loss
  double max_general_loss = 0.005;
  // General text that no round is trained on, in passages of at least two tokens that fit the
  // context; empty: the built-in passages.
  std::vector<std::vector<inference::TokenId>> general;
};

// What a node found about a candidate. Losses and gains are in nats per token; a gain is above 0 if
// the candidate is better.
struct GlobalVerdict {
  bool serve = false;
  bool judged_by_lessons = false;  // false: there are too few, so they were not scored
  size_t lessons = 0;              // different evaluation lessons of this node
  // On the lessons: of the candidate over the served adapter, and over no global adapter.
  double gain = 0;
  double standard_error = 0;
  double gain_over_none = 0;
  double standard_error_over_none = 0;
  // On general text, the mean over the passages: without a global adapter and with the candidate.
  double general_before = 0;
  double general_after = 0;
};

// Judges global adapters as they would be served: beneath the other adapters that requests get
// without choosing. A candidate is held back if this node's evaluation lessons (IsEvaluationLesson)
// lose more than two standard errors of the difference to the served adapter, or to no global
// adapter, or if general text loses more than half a percent to no global adapter. Comparing with
// no global adapter keeps many rounds from adding up to a loss that one round may not cause. At
// most limits::kMaxEvaluationLessons lessons are scored. Each document is scored under the same
// masks for all adapters, and the scores of the last call are remembered, so that mostly the
// candidate alone is scored; they contain no text. Only one thread may use an object at a time.
class GlobalGate {
 public:
  explicit GlobalGate(GlobalGateOptions options) : options_(std::move(options)) {}

  // Judges `candidate` against `served`, which is null if no global adapter is served. Gives way to
  // serving between two forward passes, of which there are about 150 for each adapter that was not
  // scored before. Returns CANCELLED and the errors of the stores, of AdapterCatalog::Choose and of
  // the forward pass; a candidate that cannot be judged should not be served.
  absl::StatusOr<GlobalVerdict> Judge(const learning::LearningServices& services,
                                      const std::shared_ptr<const inference::Talora>& served,
                                      const std::shared_ptr<const inference::Talora>& candidate);

 private:
  // Finds the adapters beside the global one.
  static absl::StatusOr<std::vector<JudgingDocument>> DocumentsOfTexts(
      const learning::LearningServices& services, std::vector<inference::ScoredDocument> texts);
  absl::Status JudgeByGeneralText(const learning::LearningServices& services,
                                  const std::shared_ptr<const inference::Talora>& candidate,
                                  GlobalVerdict* verdict);
  absl::Status JudgeByLessons(const learning::LearningServices& services,
                              const std::shared_ptr<const inference::Talora>& served,
                              const std::shared_ptr<const inference::Talora>& candidate,
                              GlobalVerdict* verdict);
  const GlobalGateOptions options_;
  GlobalScores scores_;
};

}  // namespace ruvd::sharing
