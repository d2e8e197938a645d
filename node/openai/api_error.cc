// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/api_error.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "base/error_details.h"
#include "base/reasons.h"
#include "base/retry_delay.h"
#include "base/status.h"
#include "base/utf8.h"
#include "node/openai/limits.h"
#include "node/openai/reasons.h"
#include "node/reasons.h"
#include "storage/reasons.h"

namespace ruvd::openai {
namespace {

using nlohmann::json;

constexpr char kInvalidRequest[] = "invalid_request_error";
constexpr char kAuthentication[] = "authentication_error";
constexpr char kPermission[] = "permission_error";
constexpr char kRateLimit[] = "rate_limit_error";
constexpr char kServer[] = "server_error";

// A queue drains within a few steps; a disk or a drain takes longer.
constexpr int kSoonMs = 200;
constexpr int kLaterMs = 5'000;
constexpr int64_t kMostRetryMs = 3'600'000;

// What a reason means over HTTP.
struct Meaning {
  std::string_view reason;
  int status = 0;
  const char* type = nullptr;
  const char* code = nullptr;  // null: the reason in lower case
  int retry_ms = 0;
};
constexpr Meaning kMeanings[] = {
    {reasons::kJsonInvalid, 400, kInvalidRequest, "invalid_json"},
    {reasons::kUnsupportedParameter, 400, kInvalidRequest, "unsupported_parameter"},
    {reasons::kContextTooLong, 400, kInvalidRequest, "context_length_exceeded"},
    {reasons::kModelUnknown, 404, kInvalidRequest, "model_not_found"},
    {reasons::kRouteUnknown, 404, kInvalidRequest, "unknown_url"},
    {reasons::kMethodNotAllowed, 405, kInvalidRequest},
    {reasons::kMediaTypeUnsupported, 415, kInvalidRequest},
    {reasons::kHostNotAllowed, 403, kPermission},
    {reasons::kCallerUnknown, 401, kAuthentication, "invalid_api_key"},
    {reasons::kRoleMissing, 403, kPermission, "insufficient_permissions"},
    {reasons::kKeyLimit, 429, kRateLimit, "rate_limit_exceeded"},
    {reasons::kMailboxFull, 429, kRateLimit, "rate_limit_exceeded", kSoonMs},
    {reasons::kChanged, 409, kServer, nullptr, kSoonMs},
    {reasons::kNodeDraining, 503, kServer, nullptr, kLaterMs},
    {reasons::kActorStopped, 503, kServer, nullptr, kLaterMs},
    {reasons::kStoreReadOnly, 503, kServer, nullptr, kLaterMs},
    {reasons::kDiskFull, 503, kServer, nullptr, kLaterMs},
};

// What other reasons mean, by their code.
Meaning MeaningOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return {"", 400, kInvalidRequest};
    case absl::StatusCode::kNotFound:
      return {"", 404, kInvalidRequest};
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return {"", 409, kInvalidRequest};
    case absl::StatusCode::kUnauthenticated:
      return {"", 401, kAuthentication, "invalid_api_key"};
    case absl::StatusCode::kPermissionDenied:
      return {"", 403, kPermission, "insufficient_permissions"};
    case absl::StatusCode::kResourceExhausted:
      return {"", 429, kRateLimit, nullptr, kSoonMs};
    case absl::StatusCode::kUnavailable:
      return {"", 503, kServer, nullptr, kLaterMs};
    case absl::StatusCode::kDeadlineExceeded:
      return {"", 504, kServer};
    case absl::StatusCode::kCancelled:
      return {"", 499, kInvalidRequest};
    case absl::StatusCode::kUnimplemented:
      return {"", 501, kInvalidRequest};
    default:
      return {"", 500, kServer};
  }
}

// A message that quotes a long name is cut, so that no request makes an answer larger than itself.
std::string Cut(std::string message) {
  message.resize(CutUtf8(message, limits::kMaxErrorMessageBytes).size());
  return message;
}

}  // namespace

ApiError ErrorOf(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  const auto* const known = std::ranges::find(kMeanings, reason, &Meaning::reason);
  const Meaning meaning =
      known == std::end(kMeanings) || reason.empty() ? MeaningOf(status.code()) : *known;
  ApiError error{.status = meaning.status,
                 .type = meaning.type,
                 .code = meaning.code != nullptr ? meaning.code : absl::AsciiStrToLower(reason),
                 .message = Cut(MessageOf(status)),
                 .param = FieldOf(status),
                 .retry_ms = meaning.retry_ms};
  if (error.code.empty()) {
    error.code = "internal";
  }
  if (const auto delay = RetryDelayOf(status)) {
    error.retry_ms = static_cast<int>(std::min<int64_t>(delay->count(), kMostRetryMs));
  }
  return error;
}

ApiError ErrorOfHttp(int status, std::string_view message) {
  ApiError error{.status = status, .type = kInvalidRequest, .message = std::string(message)};
  switch (status) {
    case 408:
      error.code = "request_timeout";
      break;
    case 413:
      error.code = "request_too_large";
      break;
    case 431:
      error.code = "headers_too_large";
      break;
    case 500:
      error.type = kServer;
      error.code = "internal";
      break;
    case 503:
      error.type = kServer;
      error.code = "overloaded";
      error.retry_ms = kSoonMs;
      break;
    default:
      error.code = "malformed_request";
  }
  return error;
}

std::string ErrorBody(const ApiError& error) {
  const json body = {{"error",
                      {{"message", error.message},
                       {"type", error.type},
                       {"param", error.param.empty() ? json(nullptr) : json(error.param)},
                       {"code", error.code}}}};
  return body.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

http::Answer ErrorAnswer(const ApiError& error) {
  http::Answer answer{.status = error.status, .body = ErrorBody(error)};
  if (error.retry_ms > 0) {
    // Seconds for all clients, and the exact time for those of OpenAI.
    answer.fields.emplace_back("Retry-After", std::to_string(std::max(1, error.retry_ms / 1000)));
    answer.fields.emplace_back("retry-after-ms", std::to_string(error.retry_ms));
  }
  if (error.status == 401) {
    answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  }
  return answer;
}

}  // namespace ruvd::openai
