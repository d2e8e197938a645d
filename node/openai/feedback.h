// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ruvd/learning/v1/learning.pb.h"

namespace ruvd::openai {

// Reads the body of POST /v1/feedback: the id of a completion and one of rating, edited_text,
// accepted, copied and regenerated. Whether the signal makes sense is checked by
// api::ReadFeedback, which says the same over gRPC. Returns the errors of ReadChatRequest.
absl::StatusOr<learning::v1::SubmitFeedbackRequest> ReadFeedbackRequest(std::string_view body);

// Returns what the node made of the feedback on a response.
std::string FeedbackAnswer(std::string_view response_id,
                           const learning::v1::SubmitFeedbackResponse& answer);

}  // namespace ruvd::openai
