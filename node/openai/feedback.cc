// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/feedback.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/status.h"
#include "node/openai/completion_answer.h"
#include "node/openai/field_reader.h"
#include "node/openai/json_reader.h"

namespace ruvd::openai {

using learning::v1::SubmitFeedbackRequest;
using nlohmann::json;

absl::StatusOr<SubmitFeedbackRequest> ReadFeedbackRequest(std::string_view body) {
  ASSIGN_OR_RETURN(const json request, ReadJson(body));
  FieldReader fields(request);
  SubmitFeedbackRequest out;
  const std::string id = fields.Text("id").value_or("");
  if (id.empty()) {
    fields.Refuse("id", "is missing; send the id of the completion");
  }
  out.set_response_id(ResponseIdOf(id));
  int signals = 0;
  if (const auto rating = fields.Number("rating")) {
    out.set_rating(static_cast<float>(*rating));
    ++signals;
  }
  if (auto text = fields.Text("edited_text")) {
    out.set_edited_text(*std::move(text));
    ++signals;
  }
  if (const auto accepted = fields.Flag("accepted")) {
    out.set_accepted(*accepted);
    ++signals;
  }
  if (const auto copied = fields.Flag("copied")) {
    out.set_copied(*copied);
    ++signals;
  }
  if (const auto regenerated = fields.Flag("regenerated")) {
    out.set_regenerated(*regenerated);
    ++signals;
  }
  if (fields.ok() && signals != 1) {
    fields.Refuse("id", fmt::format("has {} signals beside it; send one of rating, edited_text, "
                                    "accepted, copied and regenerated",
                                    signals));
  }
  out.set_idempotency_key(fields.Text("idempotency_key").value_or(""));
  if (const auto pairs = fields.Pairs("metadata")) {
    out.mutable_metadata()->insert(pairs->begin(), pairs->end());
  }
  RETURN_IF_ERROR(fields.Finish());
  return out;
}

std::string FeedbackAnswer(std::string_view response_id,
                           const learning::v1::SubmitFeedbackResponse& answer) {
  const json body = {
      {"object", "feedback"},
      {"response_id", response_id},
      {"learned", answer.learned()},
      {"explanation", answer.explanation()},
      {"pattern_id", answer.pattern_id()},
      {"adapter", {{"name", answer.adapter_name()}, {"version", answer.adapter_version()}}},
      {"held_out_loss",
       {{"before", answer.held_out_loss_before()}, {"after", answer.held_out_loss_after()}}},
      {"session_lessons", answer.session_lessons()},
      {"undo_token", answer.undo_token()}};
  return body.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

}  // namespace ruvd::openai
