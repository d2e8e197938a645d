// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/background_round_waiters.h"

#include <algorithm>
#include <chrono>

#include "base/status.h"
#include "node/actors/background_round_answers.h"
#include "node/limits.h"

namespace ruvd::actors {

void WaitingFeedback::Send(const absl::StatusOr<learning::FeedbackAnswer>& answer) const {
  for (const runtime::ReplyTo<learning::FeedbackAnswer>& reply : replies) {
    reply.Send(answer);
  }
}

bool BackgroundRoundWaiters::Join(const std::string& key,
                                  const runtime::ReplyTo<learning::FeedbackAnswer>& reply) {
  const auto same = std::ranges::find(feedback, key, &WaitingFeedback::answer_key);
  if (key.empty() || same == feedback.end()) {
    return false;
  }
  if (same->replies.size() < limits::kLearningMailbox) {
    same->replies.push_back(reply);
  } else {
    learning::FeedbackAnswer answer;
    answer.explanation = "recorded; a round learns it, send it again later to see the result";
    reply.Send(answer);
  }
  return true;
}

double ElapsedMillis(TimePoint begun, TimePoint now) {
  return std::chrono::duration<double, std::milli>(now - begun).count();
}

void AnswerWaiters(const BackgroundRoundResults& work, const BackgroundRoundWaiters& waiters,
                   const learning::FeedbackServices& services, const BackgroundRoundEnd& end) {
  const learning::BackgroundRound& round = work.patterns;
  for (const WaitingFeedback& waiter : waiters.feedback) {
    absl::StatusOr<learning::FeedbackAnswer> answer =
        AnswerOfBackgroundRound(round, waiter.response_id);
    if (absl::IsCancelled(answer.status())) {
      const std::string why = MessageOf(answer.status());
      answer = learning::FeedbackAnswer{};
      answer->explanation = end.paused.empty() ? "recorded; " + why : end.paused;
    }
    if (!answer.ok()) {
      waiter.Send(Annotate(answer.status(), "the feedback is stored, but learning failed"));
      continue;
    }
    answer->seconds = end.seconds;
    answer->session_lessons = waiter.taken.session_lessons;
    if (waiter.taken.change) {
      answer->changes.insert(answer->changes.begin(), *waiter.taken.change);
    }
    if (answer->learned || answer->session_lessons > 0) {
      answer->learned_in_ms = ElapsedMillis(waiter.received, end.at);
    }
    StoreAnswer(services, waiter.answer_key, *answer);
    waiter.Send(answer);
  }
  for (const runtime::ReplyTo<learning::BackgroundRoundSummary>& reply : waiters.operators) {
    absl::StatusOr<learning::BackgroundRoundSummary> summary = Summarise(round);
    if (summary.ok()) {
      summary->seconds = end.seconds;
      if (work.router && work.router->ok() && (*work.router)->change) {
        summary->changes.push_back(*(*work.router)->change);
      }
    }
    reply.Send(std::move(summary));
  }
}

}  // namespace ruvd::actors
