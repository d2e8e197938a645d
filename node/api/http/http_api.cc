// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/http/http_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "base/bytes.h"
#include "base/executor.h"
#include "base/host_port.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "node/api/authorization.h"
#include "node/api/bad_request.h"
#include "node/api/caller.h"
#include "node/http/limits.h"
#include "node/openai/api_error.h"
#include "node/openai/reasons.h"

namespace ruvd::api {
namespace {

constexpr std::string_view kLook = "/ruvd.node.v1.NodeService/GetStatus";
constexpr std::string_view kHealth = "/grpc.health.v1.Health/Check";
constexpr std::string_view kGenerate = "/ruvd.inference.v1.InferenceService/Generate";
constexpr std::string_view kEmbed = "/ruvd.inference.v1.InferenceService/Embed";
constexpr std::string_view kFeedback = "/ruvd.learning.v1.LearningService/SubmitFeedback";
constexpr std::string_view kLive = "/livez";
// Paths of the methods of the API
constexpr std::string_view kConnectPrefix = "/ruvd.";

constexpr std::array kRoutes = {
    HttpRoute{"GET", "/health", kHealth},
    HttpRoute{"GET", "/healthz", kHealth},
    HttpRoute{"GET", kLive, kHealth},
    HttpRoute{"GET", "/readyz", kHealth},
    HttpRoute{"POST", "/v1/chat/completions", kGenerate, limits::kMaxHttpBodyBytes, ServeChat},
    HttpRoute{"POST", "/v1/completions", kGenerate, limits::kMaxHttpBodyBytes, ServeCompletion},
    HttpRoute{"POST", "/v1/embeddings", kEmbed, limits::kMaxHttpBodyBytes, ServeEmbeddings},
    HttpRoute{"POST", "/v1/feedback", kFeedback, limits::kMaxHttpBodyBytes, ServeFeedback},
    HttpRoute{"GET", "/v1/models", kLook, 0, ServeModels},
    HttpRoute{"GET", "/v1/models/", kLook, 0, ServeModel},
};
static_assert(std::ranges::is_sorted(kRoutes, {}, &HttpRoute::path));

// The label of metrics for requests that name no route
constexpr std::string_view kOther = "other";

const HttpRoute* RouteOf(std::string_view path) {
  const auto* const found = std::ranges::find_if(kRoutes, [&](const HttpRoute& route) {
    return route.path.ends_with('/') ? path.starts_with(route.path) && path != route.path
                                     : path == route.path;
  });
  return found == kRoutes.end() ? nullptr : found;
}

// Returns a path as text for a message.
std::string Shown(std::string_view path) {
  constexpr size_t kMost = 100;
  return SanitizeForDisplay(ValidUtf8(path.substr(0, kMost)));
}

// Returns a part of a path with its "%2F" and the like as the bytes that they stand for.
absl::StatusOr<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::optional<std::string> byte = FromHex(text.substr(i + 1, 2));
    if (!byte || byte->size() != 1) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the name {} in the path has a '%' without two hexadecimal digits behind it; "
                   "send %25 for the sign itself",
                   Shown(text));
    }
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

bool IsJson(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return absl::StartsWithIgnoreCase(absl::string_view(type.data(), type.size()),
                                    "application/json");
}

// Returns whether a Host names this machine as its own programs do.
bool NamesLoopback(std::string_view host) {
  if (const auto with_port = ParseHostPort(host)) {
    return IsLoopback(with_port->host);
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return IsLoopback(host);
}

absl::Status UnknownRoute(const http::RequestHead& head) {
  return Error(absl::StatusCode::kNotFound, reasons::kRouteUnknown,
               "this node serves nothing at {}; docs/http-api.md lists what it serves",
               Shown(head.path));
}

// The protocol says 404 of a method that is not there, and its code is "unimplemented".
http::Answer UnknownMethod(const http::RequestHead& head) {
  http::Answer answer = ConnectCalls::ErrorAnswer(
      Error(absl::StatusCode::kUnimplemented, reasons::kRouteUnknown,
            "this node has no method {}; docs/api.md lists its services", Shown(head.path)),
      ConnectType());
  answer.status = 404;
  return answer;
}

// Returns what the server of HTTP itself refuses as an error of the API.
absl::Status ErrorOfHttp(int status, std::string_view message) {
  switch (status) {
    case 413:
      return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded, "{}", message);
    case 408:
      return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded, "{}", message);
    case 503:
      return Error(absl::StatusCode::kUnavailable, reasons::kMailboxFull, "{}", message);
    default:
      return status >= 500 ? Error(absl::StatusCode::kInternal, reasons::kInternal, "{}", message)
                           : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                                   "{}", message);
  }
}

http::Answer AnswerOf(const absl::Status& status) {
  return openai::ErrorAnswer(openai::ErrorOf(status));
}

// Parts without which no completion is served.
bool IsNeeded(std::string_view part) {
  return part == "inference" || part == "store";
}

// `may_read`: whether the caller may see what is wrong.
http::Answer ProbeAnswer(const HttpHealth& health, bool may_read) {
  nlohmann::json problems = nlohmann::json::object();
  bool is_ready = !health.is_draining;
  for (const HttpHealth::Part& part : health.parts) {
    if (!part.problem.empty()) {
      problems[part.name] = may_read ? part.problem : "see GetStatus with a key";
      is_ready = is_ready && !IsNeeded(part.name);
    }
  }
  const char* const state = health.is_draining ? "draining"
                            : !is_ready        ? "not ready"
                            : problems.empty() ? "ok"
                                               : "degraded";
  http::Answer answer{.status = is_ready ? 200 : 503,
                      .body = nlohmann::json({{"status", state}, {"problems", std::move(problems)}})
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  if (!is_ready) {
    answer.fields.emplace_back("Retry-After", "5");
  }
  return answer;
}

// Returns the credentials of a request with their scheme as gRPC's callers write it, so that a
// holder has one name: RFC 9110 lets it be written in any case.
std::optional<std::string> AuthorizationOf(const http::RequestHead& head) {
  constexpr absl::string_view kScheme = "Bearer ";
  if (!head.authorization || !absl::StartsWithIgnoreCase(*head.authorization, kScheme)) {
    return head.authorization;
  }
  return std::string(kScheme) + head.authorization->substr(kScheme.size());
}

// Returns whether a browser says that a page of another site asks; other programs say nothing.
bool IsOfAnotherSite(std::string_view fetch_site) {
  return !fetch_site.empty() && fetch_site != "same-origin" && fetch_site != "none";
}

// Returns whether gRPC takes a text as metadata. It ends the process if it does not.
bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Returns whether a body is compressed, which nothing here reads.
bool IsEncoded(const http::RequestHead& head) {
  return !head.content_encoding.empty() &&
         !absl::EqualsIgnoreCase(head.content_encoding, "identity");
}

// Returns how long the caller waits; nullopt: it does not say.
absl::StatusOr<std::optional<std::chrono::milliseconds>> TimeoutOf(const http::RequestHead& head) {
  if (!head.connect_timeout) {
    return std::nullopt;
  }
  constexpr size_t kMostDigits = 10;  // as the protocol has it
  const std::string& text = *head.connect_timeout;
  const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) {
    return BadField("Connect-Timeout-Ms",
                    "Connect-Timeout-Ms is '{}'; send a whole number of at most {} digits",
                    Shown(text), kMostDigits);
  }
  return std::chrono::milliseconds(std::stoll(text));
}

}  // namespace

void HttpCall::Fail(const absl::Status& status) const {
  exchange->Respond(AnswerOf(status));
}

void HttpCall::Answer(std::string json) const {
  exchange->Respond({.body = std::move(json)});
}

std::span<const HttpRoute> HttpRoutes() {
  return kRoutes;
}

http::Answer HttpApi::Refuse(std::string_view name, int status, std::string_view message) {
  if (name.starts_with(kConnectPrefix)) {
    http::Answer answer = ConnectCalls::ErrorAnswer(ErrorOfHttp(status, message), ConnectType());
    answer.status = status;
    return answer;
  }
  return openai::ErrorAnswer(openai::ErrorOfHttp(status, message));
}

absl::Status HttpApi::CheckConnect(const google::protobuf::MethodDescriptor& method,
                                   const http::RequestHead& head) const {
  RETURN_IF_ERROR(CheckHost(head));
  const bool by_get = head.method == "GET" && OnlyReads(method);
  if (!by_get && head.method != "POST") {
    return Error(absl::StatusCode::kUnimplemented, reasons::kMethodNotAllowed,
                 "{} is called by {}; send that", head.path,
                 OnlyReads(method) ? "POST or GET" : "POST");
  }
  // A web page can have a browser ask by GET, which would compute for it and throw the answer away.
  if (by_get && !options_.callers->asks_for_keys() && IsOfAnotherSite(head.fetch_site)) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kHostNotAllowed,
        "the request comes from a web page of another site ({}), and this node asks for no "
        "keys; set api.key_file, or call by POST",
        Shown(head.fetch_site));
  }
  if (!IsPrintable(AuthorizationOf(head).value_or(""))) {
    return BadField("Authorization",
                    "the field Authorization has bytes that no key has; send Bearer and the key");
  }
  RETURN_IF_ERROR(options_.callers->Authorize(head.path, AuthorizationOf(head)));
  if (IsEncoded(head)) {
    return Error(absl::StatusCode::kUnimplemented, reasons::kInvalidArgument,
                 "the body has the encoding {}; send it as it is (the encoding identity)",
                 Shown(head.content_encoding));
  }
  const std::optional<ConnectType> type = ReadConnectType(head.content_type);
  const bool fits =
      type && (type->streams == method.server_streaming() || method.client_streaming());
  if (!by_get && !fits) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kMediaTypeUnsupported,
        "the body is of the type '{}', and {} answers with {}; send Content-Type: {} or {}",
        Shown(head.content_type), method.name(),
        method.server_streaming() ? "a stream" : "one message",
        ConnectTypeName({ConnectEncoding::kJson, method.server_streaming()}),
        ConnectTypeName({ConnectEncoding::kProto, method.server_streaming()}));
  }
  return TimeoutOf(head).status();
}

http::Verdict HttpApi::AdmitConnect(const google::protobuf::MethodDescriptor& method,
                                    const http::RequestHead& head) const {
  const std::string_view name = RuleOf(head.path)->method;
  const bool by_get = head.method == "GET";
  const ConnectType type = ReadConnectType(head.content_type).value_or(ConnectType());
  if (const absl::Status allowed = CheckConnect(method, head); !allowed.ok()) {
    // What HTTP itself refuses is no stream yet.
    const bool is_method = ReasonOf(allowed) == reasons::kMethodNotAllowed;
    const bool is_type = ReasonOf(allowed) == reasons::kMediaTypeUnsupported;
    http::Answer answer =
        ConnectCalls::ErrorAnswer(allowed, by_get || is_method || is_type ? ConnectType() : type);
    if (is_method) {
      answer.status = 405;
      answer.fields.emplace_back("Allow", OnlyReads(method) ? "GET, POST" : "POST");
    } else if (is_type) {
      answer.status = 415;
    }
    return http::Refused{name, std::move(answer)};
  }
  ConnectRequest request{
      .method = &method,
      .type = type,
      .message = by_get ? head.query : std::string(),
      .authorization = options_.callers->asks_for_keys() ? AuthorizationOf(head) : std::nullopt,
      .source = head.source,
      .timeout = *TimeoutOf(head),
      .exchange = nullptr};
  return http::Admitted{
      .name = name,
      .most_body_bytes = by_get ? 0 : limits::kMaxHttpBodyBytes,
      .proves = true,
      .handle = [this, by_get, request = std::move(request)](
                    std::string body, std::shared_ptr<http::Exchange> exchange) mutable {
        request.exchange = std::move(exchange);
        options_.requests->Post(
            [this, by_get, request = std::move(request), body = std::move(body)]() mutable {
              if (!by_get) {
                request.message = std::move(body);
              } else if (auto query = ReadConnectQuery(request.message); query.ok()) {
                request.type = {.encoding = query->encoding};
                request.message = std::move(query->message);
              } else {
                request.exchange->Respond(ConnectCalls::ErrorAnswer(query.status(), ConnectType()));
                return;
              }
              options_.connect->Start(std::move(request));
            });
      }};
}

http::Verdict HttpApi::Admit(const http::RequestHead& head) const {
  if (options_.connect != nullptr && head.path.starts_with(kConnectPrefix)) {
    const auto* const method = FindApiMethod(head.path);
    return method != nullptr ? AdmitConnect(*method, head)
                             : http::Refused{kOther, UnknownMethod(head)};
  }
  const HttpRoute* const route = RouteOf(head.path);
  if (route == nullptr) {
    return http::Refused{kOther, AnswerOf(UnknownRoute(head))};
  }
  if (const absl::Status allowed = Check(*route, head); !allowed.ok()) {
    http::Answer answer = AnswerOf(allowed);
    if (ReasonOf(allowed) == reasons::kMethodNotAllowed) {
      answer.fields.emplace_back("Allow", route->method);
    }
    return http::Refused{route->path, std::move(answer)};
  }
  if (route->serve == nullptr) {
    return Probe(*route, head);
  }
  auto id = Decoded(std::string_view(head.path).substr(route->path.size()));
  if (!id.ok()) {
    return http::Refused{route->path, AnswerOf(id.status())};
  }
  auto call = AdmitCall(*route, head);
  if (!call.ok()) {
    return http::Refused{route->path, AnswerOf(call.status())};
  }
  return http::Admitted{.name = route->path,
                        .most_body_bytes = route->most_body_bytes,
                        .proves = true,
                        .handle = [this, route, id = *std::move(id), call = *std::move(call)](
                                      std::string body, std::shared_ptr<http::Exchange> exchange) {
                          options_.requests->Post([this, route, id, call, body = std::move(body),
                                                   exchange = std::move(exchange)]() mutable {
                            route->serve({.node = options_.node,
                                          .requests = *options_.requests,
                                          .id = id,
                                          .admitted = call,
                                          .body = std::move(body),
                                          .exchange = std::move(exchange)});
                          });
                        }};
}

absl::StatusOr<std::shared_ptr<const AdmittedCall>> HttpApi::AdmitCall(
    const HttpRoute& route, const http::RequestHead& head) const {
  if (!IsMetered(route.rpc)) {
    return std::make_shared<const AdmittedCall>(Caller{.name = head.source});
  }
  return options_.callers->Admit(AuthorizationOf(head), head.source);
}

absl::Status HttpApi::CheckHost(const http::RequestHead& head) const {
  const bool names_host = head.takes_chunks || !head.host.empty();  // HTTP/1.0 need not name one
  if (!options_.callers->asks_for_keys() && options_.is_loopback && names_host &&
      !NamesLoopback(head.host)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kHostNotAllowed,
                 "the request is for the host {}, and without keys this node serves its own "
                 "machine only; use 127.0.0.1 or localhost, or set api.key_file",
                 Shown(head.host));
  }
  return absl::OkStatus();
}

absl::Status HttpApi::Check(const HttpRoute& route, const http::RequestHead& head) const {
  RETURN_IF_ERROR(CheckHost(head));
  const bool is_method =
      head.method == route.method || (head.method == "HEAD" && route.method == "GET");
  if (!is_method) {
    return Error(absl::StatusCode::kUnimplemented, reasons::kMethodNotAllowed,
                 "{} takes {} only; send that", route.path, route.method);
  }
  RETURN_IF_ERROR(options_.callers->Authorize(route.rpc, AuthorizationOf(head)));
  if (IsEncoded(head)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kMediaTypeUnsupported,
                 "the body has the encoding {}; send it as it is", Shown(head.content_encoding));
  }
  // A web page can send other types to any server, but this one only where that allows it.
  if (route.method == "POST" && !IsJson(head.content_type)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kMediaTypeUnsupported,
                 "the body is of the type '{}'; send JSON with Content-Type: application/json",
                 Shown(head.content_type));
  }
  return absl::OkStatus();
}

http::Verdict HttpApi::Probe(const HttpRoute& route, const http::RequestHead& head) const {
  if (route.path == kLive) {
    return http::Refused{route.path, ProbeAnswer(HttpHealth(), /*may_read=*/true)};
  }
  const bool may_read = options_.callers->Authorize(kLook, AuthorizationOf(head)).ok();
  // A look at the parts may wait for one that writes to a disk, which the I/O must not.
  return http::Admitted{
      .name = route.path,
      .most_body_bytes = route.most_body_bytes,
      .proves = false,
      .handle = [this, may_read](const std::string&, std::shared_ptr<http::Exchange> exchange) {
        options_.requests->Post([this, may_read, exchange = std::move(exchange)] {
          exchange->Respond(ProbeAnswer(options_.health(), may_read));
        });
      }};
}

}  // namespace ruvd::api
