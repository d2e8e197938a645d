// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/background_round_answers.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/status.h"

namespace ruvd::actors {
namespace {

std::string Explain(const learning::LearnedPattern& pattern) {
  switch (pattern.outcome) {
    case learning::ClusterOutcome::kKept:
      return pattern.held_back > 0
                 ? fmt::format("trained on {} example(s) like this one, measured on {} held back",
                               pattern.examples - pattern.held_back, pattern.held_back)
                 : fmt::format(
                       "trained on {} example(s) like this one, measured on the same "
                       "under masks never trained on",
                       pattern.examples);
    case learning::ClusterOutcome::kDeleted:
      return "recorded, but the pattern that it belongs to was deleted while it was learned";
    case learning::ClusterOutcome::kChanged:
      return "recorded; its pattern, or the adapter beneath it, was changed while it was learned, "
             "so a later round learns it again";
    case learning::ClusterOutcome::kErased:
      return "recorded; a user was erased while it was learned, so a later round learns it without "
             "that user's words";
    case learning::ClusterOutcome::kRetired:
      return "recorded; what all requests get suffices without the adapter of its pattern, which "
             "was "
             "trained on top of an earlier version and is removed";
    case learning::ClusterOutcome::kRefused:
      return "recorded, but the store refused the pattern; the node's log says why";
    default:
      return "recorded, but an adapter trained on it did not lower the held-out loss, so it was "
             "not kept";
  }
}

}  // namespace

absl::StatusOr<learning::FeedbackAnswer> AnswerOfBackgroundRound(
    const learning::BackgroundRound& round, const std::string& response_id) {
  learning::FeedbackAnswer answer;
  for (const learning::LearnedPattern& pattern : round.patterns) {
    if (!pattern.responses.contains(response_id)) {
      continue;
    }
    RETURN_IF_ERROR(pattern.failure);
    answer.learned = pattern.outcome == learning::ClusterOutcome::kKept;
    answer.held_out_before = pattern.held_out_before;
    answer.held_out_after = pattern.held_out_after;
    answer.held_back = static_cast<uint32_t>(pattern.held_back);
    if (answer.learned) {
      answer.pattern_id = ToHex(pattern.id);
      answer.adapter_name = pattern.adapter_name;
      answer.adapter_version = pattern.adapter_version;
    }
    if (pattern.change) {
      answer.changes.push_back(*pattern.change);
    }
    answer.explanation = Explain(pattern);
    return answer;
  }
  RETURN_IF_ERROR(round.status);
  answer.explanation = "recorded; a later round learns it";
  return answer;
}

absl::StatusOr<learning::BackgroundRoundSummary> Summarise(const learning::BackgroundRound& round) {
  RETURN_IF_ERROR(round.status);
  learning::BackgroundRoundSummary summary{
      .patterns_merged = static_cast<uint32_t>(round.merged.size()),
      .lessons_waiting = static_cast<uint32_t>(round.waiting.size())};
  for (const learning::LearnedPattern& pattern : round.patterns) {
    summary.patterns_kept += pattern.outcome == learning::ClusterOutcome::kKept ? 1 : 0;
    summary.patterns_without_gain += pattern.outcome == learning::ClusterOutcome::kNoImprovement ||
                                             pattern.outcome == learning::ClusterOutcome::kRetired
                                         ? 1
                                         : 0;
    summary.patterns_failed += pattern.outcome == learning::ClusterOutcome::kFailed ? 1 : 0;
    if (pattern.change) {
      summary.changes.push_back(*pattern.change);
    }
  }
  for (const learning::MergedPattern& merged : round.merged) {
    summary.changes.push_back(merged.change);
  }
  return summary;
}

}  // namespace ruvd::actors
