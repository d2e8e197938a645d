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

// A feedback that waits for the round it is learned in.
struct WaitingFeedback {
  std::string response_id;
  std::string answer_key;                                           // AnswerKeyOf
  std::vector<runtime::ReplyTo<learning::FeedbackAnswer>> replies;  // of all that sent it
  learning::TakenFeedback taken;
  TimePoint received;

  void Send(const absl::StatusOr<learning::FeedbackAnswer>& answer) const;
};

// Who waits for the end of a round.
struct RoundWaiters {
  std::vector<WaitingFeedback> feedback;
  std::vector<runtime::ReplyTo<learning::RoundSummary>> operators;

  // Whether a feedback of this key, which is not empty, waits already; then `reply` waits with it.
  // Where too many do, it is answered at once, and what the round gave is not among that.
  bool Join(const std::string& key, const runtime::ReplyTo<learning::FeedbackAnswer>& reply);
};

// What a round does on the learning thread.
struct RoundWork {
  learning::BackgroundRound patterns;
  std::optional<absl::StatusOr<learning::RouterRound>> router;  // none: it was not trained
};

struct RoundEnd {
  double seconds = 0;  // that it took
  TimePoint at;
  std::string paused;  // what feedback is told where a pause ended the round; empty: none did
};

double MillisSince(TimePoint begun, TimePoint now);

// Answers all who waited for a round, and remembers what feedback was answered.
void Settle(const RoundWork& work, const RoundWaiters& waiters,
            const learning::FeedbackServices& services, const RoundEnd& end);

}  // namespace ruvd::actors
