// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "node/api/generate_request.h"
#include "node/cli/prompt_syntax.h"

namespace {

using ruvd::inference::v1::ChatRole;
using ruvd::inference::v1::GenerateRequest;

// Writes what ReadGaps took apart in the syntax that it reads.
std::string Spelled(const GenerateRequest& request) {
  std::string text;
  for (const auto& part : request.infill().parts()) {
    text += part.has_gap() ? "[[" + std::to_string(part.gap()) + "]]" : part.text();
  }
  return text;
}

void CheckGaps(std::string_view text) {
  GenerateRequest request;
  if (!ruvd::cli::ReadGaps(text, &request).ok()) {
    return;
  }
  for (const auto& part : request.infill().parts()) {
    RUVD_CHECK(part.has_gap() ? part.gap() > 0 : part.text().find("[[") == std::string::npos);
  }
  GenerateRequest again;
  RUVD_CHECK(ruvd::cli::ReadGaps(Spelled(request), &again).ok());
  RUVD_CHECK(again.SerializeAsString() == request.SerializeAsString());
}

std::string Spelled(ChatRole role) {
  switch (role) {
    case ruvd::inference::v1::CHAT_ROLE_SYSTEM:
      return "system";
    case ruvd::inference::v1::CHAT_ROLE_USER:
      return "user";
    case ruvd::inference::v1::CHAT_ROLE_ASSISTANT:
      return "assistant";
    default:
      return "";
  }
}

void CheckMessage(std::string_view text) {
  GenerateRequest request;
  if (ruvd::cli::ReadMessage(text, &request).ok()) {
    const auto& message = request.chat().messages(0);
    RUVD_CHECK(Spelled(message.role()) + "=" + message.content() == text);
  }
}

}  // namespace

// Any bytes are text with gaps or one error, a message or one error, and a request that is read or
// refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckGaps(text);
  CheckMessage(text);
  GenerateRequest request;
  if (request.ParseFromArray(data, static_cast<int>(size))) {
    const auto job = ruvd::api::ReadGenerate(request, {});
    RUVD_CHECK(!job.ok() || job->parts.empty() || job->conversation.messages.empty());
  }
  return 0;
}
