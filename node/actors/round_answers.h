// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "node/learning/background_round.h"
#include "node/learning/learning.h"

namespace ruvd::actors {

// What a round says to the feedback of a response: what was learned of it, or why nothing was. The
// round's error where that kept it from being learned. Without seconds, and without what its
// session was taught.
absl::StatusOr<learning::FeedbackAnswer> AnswerOfRound(const learning::BackgroundRound& round,
                                                       const std::string& response_id);

// The whole round, without its seconds; its error where it ended early.
absl::StatusOr<learning::RoundSummary> Summarise(const learning::BackgroundRound& round);

}  // namespace ruvd::actors
