// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/contribution_judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/round_step.h"
#include "inference/adapter/talora.h"
#include "node/learning/paired_losses.h"
#include "node/sharing/global_scores.h"
#include "node/sharing/judging_texts.h"
#include "node/sharing/shareable_lessons.h"

namespace ruvd::sharing {
namespace {

using federation::BankedValues;
using federation::RoundContribution;
using privacy::ConsentTier;

absl::Status TooFewLessons(size_t lessons, size_t least) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "{} evaluation lesson(s) of this node may leave, and a verdict needs {}; a quarter "
               "of all lessons evaluates: add texts with `ruvd learn add --tier public`, or give "
               "feedback",
               lessons, least);
}

absl::Status TooShort(const RoundToJudge& round) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "no contribution to round {} could be judged within the {} ms of a round; lengthen "
               "federation.round_seconds on all nodes",
               round.round, round.plan->round_ms);
}

// The lessons that judge, with the names and the people to whom they belong.
struct JudgingLessons {
  std::vector<JudgingDocument> documents;
  std::vector<std::string> names;
  std::vector<privacy::Contributor> contributors;
};

absl::StatusOr<JudgingLessons> LessonsOf(const learning::LearningServices& services,
                                         float min_rating) {
  ASSIGN_OR_RETURN(ShareableLessons shareable,
                   GatherShareableLessons(services, ConsentTier::kPublic, min_rating,
                                          services.clock->WallMillis(), LessonUse::kJudging));
  std::ranges::stable_sort(shareable.lessons, std::greater(), &ShareableLesson::created_ms);
  shareable.lessons.resize(std::min(shareable.lessons.size(), limits::kMaxEvaluationLessons));
  JudgingLessons judging;
  std::map<size_t, privacy::Contributor> contributors;
  for (const ShareableLesson& lesson : shareable.lessons) {
    judging.names.push_back(lesson.name);
    contributors.emplace(lesson.contributor, shareable.contributors[lesson.contributor]);
  }
  for (auto& [place, contributor] : contributors) {
    judging.contributors.push_back(std::move(contributor));
  }
  ASSIGN_OR_RETURN(std::vector<inference::ScoredDocument> texts,
                   DocumentsOfLessons(services, judging.names, min_rating));
  for (JudgingText& text : WithIds(std::move(texts))) {
    judging.documents.push_back({.text = std::move(text.text), .beside = {}, .id = text.id});
  }
  return judging;
}

// Returns the contributions in the order in which this node judges them.
std::vector<const RoundContribution*> InOrder(const RoundToJudge& round, const Digest& judge) {
  std::map<Digest, const RoundContribution*> drawn;
  for (const RoundContribution& one : round.contributions) {
    drawn.emplace(federation::VerdictDraw(judge, one.id), &one);
  }
  std::vector<const RoundContribution*> order;
  for (const auto& [hash, one] : drawn) {
    order.push_back(one);
  }
  return order;
}

// Measures contributions against one state.
class Measurement {
 public:
  Measurement(const learning::LearningServices& services, const ContributionJudgeOptions& options,
              const RoundToJudge& round, std::vector<JudgingDocument> documents)
      : services_(services), options_(options), round_(round), documents_(std::move(documents)) {}

  // Must be called first.
  absl::Status Begin() {
    ASSIGN_OR_RETURN(before_, LossesOf(round_.base));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<float>> GainsOf(const RoundContribution& one) {
    const BankedValues values = ShortenedValuesOf(one.contribution, *round_.plan);
    std::vector<float> gains(values.size());
    for (size_t bank = 0; bank < values.size(); ++bank) {
      if (values[bank].empty()) {
        continue;  // the contribution changes nothing there
      }
      BankedValues with = round_.base;
      std::ranges::transform(with[bank], values[bank], with[bank].begin(), std::plus());
      ASSIGN_OR_RETURN(const std::vector<double> after, LossesOf(with));
      const double gain = learning::GainOf(before_, after).mean;
      // Peers take finite gains only; what breaks the model is as bad as anything can be.
      gains[bank] =
          std::isfinite(gain) ? static_cast<float>(gain) : std::numeric_limits<float>::lowest();
    }
    return gains;
  }

 private:
  absl::StatusOr<std::vector<double>> LossesOf(const BankedValues& values) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Talora> adapter,
                     inference::TaloraOfCores(*options_.frame, options_.shape, values, "judged",
                                              /*version=*/1));
    return scores_.LossesOf(services_, adapter, documents_, kLessonDraws);
  }

  const learning::LearningServices& services_;
  const ContributionJudgeOptions& options_;
  const RoundToJudge& round_;
  const std::vector<JudgingDocument> documents_;
  GlobalScores scores_;
  std::vector<double> before_;
};

}  // namespace

absl::StatusOr<MeasuredVerdict> ContributionJudge::Judge(const learning::LearningServices& services,
                                                         const RoundToJudge& round) const {
  const TimePoint deadline =
      services.clock->Now() + std::chrono::milliseconds(round.plan->round_ms);
  ASSIGN_OR_RETURN(JudgingLessons lessons, LessonsOf(services, options_.min_rating));
  const size_t count = lessons.documents.size();
  if (count < options_.least_lessons) {
    return TooFewLessons(count, options_.least_lessons);
  }
  Measurement measurement(services, options_, round, std::move(lessons.documents));
  RETURN_IF_ERROR(measurement.Begin());
  MeasuredVerdict measured{.verdict = {.round = round.round, .gains = {}},
                           .lessons = count,
                           .contributors = std::move(lessons.contributors)};
  for (const RoundContribution* one : InOrder(round, services.origin)) {
    if (measured.verdict.gains.size() >= options_.most_contributions ||
        services.clock->Now() >= deadline) {
      ++measured.left_out;
      continue;
    }
    ASSIGN_OR_RETURN(measured.verdict.gains[one->id], measurement.GainsOf(*one));
  }
  if (measured.verdict.gains.empty()) {
    return TooShort(round);
  }
  RETURN_IF_ERROR(CheckStillShareable(services, ConsentTier::kPublic, options_.min_rating,
                                      lessons.names, measured.contributors, LessonUse::kJudging));
  return measured;
}

}  // namespace ruvd::sharing
