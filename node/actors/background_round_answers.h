// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "node/learning/background_round.h"
#include "node/learning/learning.h"

namespace ruvd::actors {

// Returns the answer of a round to the feedback on a response: what was learned from it, or why
// nothing was. Returns the round's error if that kept it from being learned. The caller adds the
// seconds and what the session was taught.
absl::StatusOr<learning::FeedbackAnswer> AnswerOfBackgroundRound(
    const learning::BackgroundRound& round, const std::string& response_id);

// Returns the summary of a whole round, without its seconds, or the error that ended it early.
absl::StatusOr<learning::BackgroundRoundSummary> Summarise(const learning::BackgroundRound& round);

}  // namespace ruvd::actors
