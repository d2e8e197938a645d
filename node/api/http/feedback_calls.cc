// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// POST /v1/feedback.

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "node/api/http/http_call.h"
#include "node/api/learning_messages.h"
#include "node/api/messages.h"
#include "node/openai/api_error.h"
#include "node/openai/feedback.h"

namespace ruvd::api {
namespace {

absl::Status Begin(const HttpCall& call) {
  ASSIGN_OR_RETURN(const learning::v1::SubmitFeedbackRequest request,
                   openai::ReadFeedbackRequest(call.body));
  ASSIGN_OR_RETURN(learning::Feedback feedback, ReadFeedback(request, call.admitted->caller()));
  return call.node.learning->Submit(
      std::move(feedback),
      [exchange = call.exchange, id = request.response_id(),
       admitted = call.admitted](const absl::StatusOr<learning::FeedbackAnswer>& answer) mutable {
        admitted.reset();  // before the caller hears of the end
        if (!answer.ok()) {
          exchange->Respond(openai::ErrorAnswer(openai::ErrorOf(answer.status())));
          return;
        }
        learning::v1::SubmitFeedbackResponse message;
        WriteFeedbackAnswer(*answer, &message);
        exchange->Respond({.body = openai::FeedbackAnswer(id, message)});
      });
}

}  // namespace

void ServeFeedback(const HttpCall& call) {
  if (const absl::Status begun = Begin(call); !begun.ok()) {
    call.Fail(begun);
  }
}

}  // namespace ruvd::api
