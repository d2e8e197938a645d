// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "base/utf8.h"
#include "node/openai/api_error.h"
#include "node/openai/completion_request.h"
#include "node/openai/embeddings.h"
#include "node/openai/feedback.h"
#include "node/openai/json_reader.h"
#include "node/openai/limits.h"

namespace {

using ruvd::openai::CompletionRequest;

// An error is the caller's, says what to do, and can be written as an answer.
void CheckError(const absl::Status& status) {
  const ruvd::openai::ApiError error = ruvd::openai::ErrorOf(status);
  RUVD_CHECK(error.status >= 400 && error.status < 500 && !error.code.empty());
  RUVD_CHECK(!error.message.empty());
  RUVD_CHECK(ruvd::openai::ReadJson(ruvd::openai::ErrorBody(error)).ok());
}

// What is read survives protobuf, which takes UTF-8 only; prompt_syntax_fuzz then serves any
// message.
void CheckCompletion(const absl::StatusOr<CompletionRequest>& request) {
  if (!request.ok()) {
    CheckError(request.status());
    return;
  }
  ruvd::inference::v1::GenerateRequest again;
  RUVD_CHECK(again.ParseFromString(request->generate.SerializeAsString()));
  RUVD_CHECK(request->metadata.size() <= ruvd::limits::kMaxMetadataPairs);
  RUVD_CHECK(!request->shows_frames || request->streams);
}

}  // namespace

// Any bytes are a request or one error, for every route that has a body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kModel = "m";
  CheckCompletion(ruvd::openai::ReadChatRequest(body, kModel));
  CheckCompletion(ruvd::openai::ReadTextRequest(body, kModel));
  const auto embeddings = ruvd::openai::ReadEmbeddingsRequest(body, kModel, /*dimension=*/8);
  RUVD_CHECK(!embeddings.ok() || (!embeddings->texts.empty() &&
                                  embeddings->texts.size() <= ruvd::limits::kMaxEmbeddingInputs));
  const auto feedback = ruvd::openai::ReadFeedbackRequest(body);
  RUVD_CHECK(!feedback.ok() || ruvd::IsUtf8(feedback->response_id()));
  return 0;
}
