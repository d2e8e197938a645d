// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "node/http/exchange.h"

namespace ruvd::openai {

// An error as OpenAI's clients read it, and the status of HTTP that goes with it.
struct ApiError {
  int status = 500;
  std::string type;  // such as "invalid_request_error"
  std::string code;  // OpenAI's where it has one, else the reason in lower case
  std::string message;
  std::string param;  // the path of the field, cut at its limit; empty if it is about no field
  int retry_ms = 0;   // the time after which it is worth trying again; 0: none is known
};

// Turns an error of any room into one of the API, by one table of reasons and, for other reasons,
// of codes.
ApiError ErrorOf(const absl::Status& status);
// Makes an error of HTTP itself, such as 413.
ApiError ErrorOfHttp(int status, std::string_view message);

// Returns {"error": {"message", "type", "param", "code"}}.
std::string ErrorBody(const ApiError& error);
// Returns the whole answer, with Retry-After where it is worth trying again.
http::Answer ErrorAnswer(const ApiError& error);

}  // namespace ruvd::openai
