// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/round_waiters.h"

#include <algorithm>

#include "node/limits.h"

namespace ruvd {

void WaitingFeedback::Send(const absl::StatusOr<FeedbackAnswer>& answer) const {
  for (const ReplyTo<FeedbackAnswer>& reply : replies) {
    reply.Send(answer);
  }
}

bool RoundWaiters::Join(const std::string& key, const ReplyTo<FeedbackAnswer>& reply) {
  const auto same = std::ranges::find(feedback, key, &WaitingFeedback::answer_key);
  if (key.empty() || same == feedback.end()) {
    return false;
  }
  if (same->replies.size() < limits::kLearningMailbox) {
    same->replies.push_back(reply);
  } else {
    FeedbackAnswer answer;
    answer.explanation = "recorded; a round learns it, send it again then for what it gave";
    reply.Send(answer);
  }
  return true;
}

}  // namespace ruvd
