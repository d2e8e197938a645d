// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/prompt_syntax.h"

#include <charconv>
#include <cstdint>
#include <string>

#include "node/terminal/command.h"
#include "node/terminal/enum_name.h"

namespace ruvd::cli {
namespace {

inference::v1::ChatRole RoleByName(std::string_view name) {
  for (const auto role : {inference::v1::CHAT_ROLE_SYSTEM, inference::v1::CHAT_ROLE_USER,
                          inference::v1::CHAT_ROLE_ASSISTANT}) {
    if (EnumName(role) == name) {
      return role;
    }
  }
  return inference::v1::CHAT_ROLE_UNSPECIFIED;
}

}  // namespace

absl::Status ReadGaps(std::string_view text, inference::v1::GenerateRequest* request) {
  while (!text.empty()) {
    const size_t open = text.find("[[");
    if (open > 0) {
      request->mutable_infill()->add_parts()->set_text(std::string(text.substr(0, open)));
    }
    if (open == std::string_view::npos) {
      break;
    }
    text.remove_prefix(open + 2);
    uint32_t tokens = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
    const auto digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || tokens == 0 || text.substr(digits, 2) != "]]") {
      return UsageError(
          "\"[[\" must begin a gap, written [[n]], where n is the number of tokens to fill and at "
          "least 1");
    }
    request->mutable_infill()->add_parts()->set_gap(tokens);
    text.remove_prefix(digits + 2);
  }
  return absl::OkStatus();
}

absl::Status ReadMessage(std::string_view text, inference::v1::GenerateRequest* request) {
  const size_t equals = text.find('=');
  const inference::v1::ChatRole role = RoleByName(text.substr(0, equals));
  if (equals == std::string_view::npos || role == inference::v1::CHAT_ROLE_UNSPECIFIED) {
    return UsageError("a message must be ROLE=TEXT, where ROLE is system, user or assistant");
  }
  inference::v1::ChatMessage* message = request->mutable_chat()->add_messages();
  message->set_role(role);
  message->set_content(std::string(text.substr(equals + 1)));
  return absl::OkStatus();
}

}  // namespace ruvd::cli
