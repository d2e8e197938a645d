// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/learning/background_round.h"
#include "node/learning/feedback_intake.h"
#include "node/learning/learning.h"
#include "node/learning/router_learner.h"
#include "node/runtime/ask.h"

namespace ruvd::actors {

// A feedback that waits for the round in which it is learned.
struct WaitingFeedback {
  std::string response_id;
  std::string answer_key;  // see IdempotencyKeyOf
  std::vector<runtime::ReplyTo<learning::FeedbackAnswer>>
      replies;  // one for each caller that sent it
  learning::StoredFeedback taken;
  TimePoint received;

  void Send(const absl::StatusOr<learning::FeedbackAnswer>& answer) const;
};

// The callers that wait for the end of a round.
struct BackgroundRoundWaiters {
  std::vector<WaitingFeedback> feedback;
  std::vector<runtime::ReplyTo<learning::BackgroundRoundSummary>> operators;

  // Returns whether a feedback with this key, which must not be empty, waits already; then `reply`
  // waits with it. If too many wait with it, `reply` is answered at once, without the result of the
  // round.
  bool Join(const std::string& key, const runtime::ReplyTo<learning::FeedbackAnswer>& reply);
};

// The results of a round's work on the learning thread.
struct BackgroundRoundResults {
  learning::BackgroundRound patterns;
  std::optional<absl::StatusOr<learning::RouterRound>>
      router;  // nullopt: the router was not trained
};

struct BackgroundRoundEnd {
  double seconds = 0;  // duration of the round
  TimePoint at;
  std::string paused;  // what feedback is told if a pause ended the round; empty: no pause did
};

double ElapsedMillis(TimePoint begun, TimePoint now);

// Answers all callers that waited for a round, and stores the answers to feedback.
void AnswerWaiters(const BackgroundRoundResults& work, const BackgroundRoundWaiters& waiters,
                   const learning::FeedbackServices& services, const BackgroundRoundEnd& end);

}  // namespace ruvd::actors
