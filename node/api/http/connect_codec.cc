// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/http/connect_codec.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <grpcpp/grpcpp.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/bytes.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "node/api/authorization.h"
#include "node/api/bad_request.h"
#include "node/openai/json_reader.h"

namespace ruvd::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;
using google::protobuf::util::TypeResolver;
using nlohmann::json;

constexpr std::string_view kTypePrefix = "type.googleapis.com/";
// Of an envelope: flags and length
constexpr size_t kEnvelopeBytes = 5;
constexpr char kCompressed = 1;
constexpr char kEndOfStream = 2;

struct Code {
  const char* name;
  int http;
};
// By the number of the code; OK stands first.
constexpr std::array kCodes = {Code{"ok", 200},
                               Code{"canceled", 499},
                               Code{"unknown", 500},
                               Code{"invalid_argument", 400},
                               Code{"deadline_exceeded", 504},
                               Code{"not_found", 404},
                               Code{"already_exists", 409},
                               Code{"permission_denied", 403},
                               Code{"resource_exhausted", 429},
                               Code{"failed_precondition", 400},
                               Code{"aborted", 409},
                               Code{"out_of_range", 400},
                               Code{"unimplemented", 501},
                               Code{"internal", 500},
                               Code{"unavailable", 503},
                               Code{"data_loss", 500},
                               Code{"unauthenticated", 401}};

const Code& CodeOf(int code) {
  constexpr size_t kUnknown = 2;
  const auto at = static_cast<size_t>(code);
  return code >= 0 && at < kCodes.size() ? kCodes[at] : kCodes[kUnknown];
}

// Types of the messages that this program has. It lives as long as the program, as they do.
TypeResolver& Types() {
  static TypeResolver& types = *google::protobuf::util::NewTypeResolverForDescriptorPool(
      "type.googleapis.com", DescriptorPool::generated_pool());
  return types;
}

std::string UrlOf(const Descriptor& type) {
  return std::string(kTypePrefix) + type.full_name();
}

std::string Base64(std::string_view bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), AsBytes(bytes).data(), bytes.size(), kVariant);
  text.pop_back();  // the zero behind it
  return text;
}

json ErrorObject(const grpc::Status& status) {
  json error = {{"code", CodeOf(status.error_code()).name}};
  if (!status.error_message().empty()) {
    error["message"] = ValidUtf8(status.error_message());
  }
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) {
    return error;
  }
  for (const google::protobuf::Any& detail : details.details()) {
    std::string_view type = detail.type_url();
    type.remove_prefix(std::min(type.rfind('/') + 1, type.size()));
    error["details"].push_back({{"type", std::string(type)}, {"value", Base64(detail.value())}});
  }
  return error;
}

// Returns a part of a query with its "%2F" and "+" as the bytes that they stand for.
absl::StatusOr<std::string> Unescape(std::string_view name, std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::optional<std::string> byte = FromHex(text.substr(i + 1, 2));
    if (!byte || byte->size() != 1) {
      const std::string shown = SanitizeForDisplay(ValidUtf8(CutUtf8(name, 64)));
      return BadField(shown, "the parameter {} has a '%' without two hexadecimal digits behind it",
                      shown);
    }
    bytes += *byte;
    i += 2;
  }
  return bytes;
}

absl::StatusOr<std::string> DecodeBase64Url(std::string_view text) {
  text = text.substr(0, text.find('='));  // the padding may be left out
  if (text.empty()) {
    return std::string();
  }
  std::vector<uint8_t> bytes(text.size());
  size_t size = 0;
  const char* end = nullptr;
  const bool whole =
      sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size, &end,
                        sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
      end == text.data() + text.size();
  if (!whole) {
    return BadField("message",
                    "the parameter message is not base64 for URLs; send that, or leave "
                    "out base64=1");
  }
  bytes.resize(size);
  return std::string(AsText(bytes));
}

absl::Status Compressed() {
  return Error(absl::StatusCode::kUnimplemented, reasons::kInvalidArgument,
               "the message is compressed; send it as it is (the encoding identity)");
}

// Returns an envelope around a message.
std::string Sealed(char flags, std::string_view message) {
  std::string envelope(1, flags);
  for (int shift = 24; shift >= 0; shift -= 8) {
    envelope += static_cast<char>(message.size() >> shift & 0xFF);
  }
  return envelope.append(message);
}

}  // namespace

std::optional<ConnectType> ReadConnectType(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find_first_of("; "));
  for (const bool streams : {false, true}) {
    for (const ConnectEncoding encoding : {ConnectEncoding::kJson, ConnectEncoding::kProto}) {
      const ConnectType type{.encoding = encoding, .streams = streams};
      if (absl::EqualsIgnoreCase(absl::string_view(content_type.data(), content_type.size()),
                                 ConnectTypeName(type))) {
        return type;
      }
    }
  }
  return std::nullopt;
}

const char* ConnectTypeName(ConnectType type) {
  const bool is_json = type.encoding == ConnectEncoding::kJson;
  if (type.streams) {
    return is_json ? "application/connect+json" : "application/connect+proto";
  }
  return is_json ? "application/json" : "application/proto";
}

const MethodDescriptor* FindApiMethod(std::string_view path) {
  if (!path.starts_with("/ruvd.")) {
    return nullptr;
  }
  std::string name(path.substr(1));
  const size_t slash = name.find('/');
  if (slash == std::string::npos) {
    return nullptr;
  }
  name[slash] = '.';
  const MethodDescriptor* const method = DescriptorPool::generated_pool()->FindMethodByName(name);
  // What has no rule, or is between nodes, is not for clients.
  return method != nullptr && IsClientMethod(path) ? method : nullptr;
}

bool OnlyReads(const MethodDescriptor& method) {
  return method.options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
}

absl::StatusOr<std::string> DecodeMessage(const Descriptor& type, ConnectEncoding encoding,
                                          std::string_view body) {
  if (encoding == ConnectEncoding::kProto) {
    // gRPC would call bytes that it cannot parse an unknown method.
    const std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
    return message->ParseFromArray(body.data(), static_cast<int>(body.size()))
               ? absl::StatusOr<std::string>(std::string(body))
               : BadField("body",
                          "the body is not a {} in protobuf's encoding; see its .proto file",
                          type.name());
  }
  if (body.empty()) {
    return BadField("body", "the body is empty; send a JSON object, {{}} if nothing is to be said");
  }
  RETURN_IF_ERROR(openai::ReadJson(body).status());
  std::string bytes;
  const auto read =
      google::protobuf::util::JsonToBinaryString(&Types(), UrlOf(type), std::string(body), &bytes);
  if (!read.ok()) {
    constexpr size_t kMostShown = 300;
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "the body is not a {} in JSON: {}; see its .proto file", type.name(),
        SanitizeForDisplay(ValidUtf8(CutUtf8(read.message().ToString(), kMostShown)), kMostShown));
  }
  return bytes;
}

absl::StatusOr<std::string> EncodeMessage(const Descriptor& type, ConnectEncoding encoding,
                                          const std::string& bytes) {
  if (encoding == ConnectEncoding::kProto) {
    return bytes;
  }
  std::string text;
  const auto written =
      google::protobuf::util::BinaryToJsonString(&Types(), UrlOf(type), bytes, &text);
  if (!written.ok()) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "the answer cannot be written as JSON: {}", written.message().ToString());
  }
  return text;
}

absl::StatusOr<std::string_view> OpenEnvelope(std::string_view body) {
  if (body.size() < kEnvelopeBytes) {
    return BadField("body", "the body has {} bytes, but an envelope has at least {}", body.size(),
                    kEnvelopeBytes);
  }
  if (body[0] == kCompressed) {
    return Compressed();
  }
  if (body[0] != 0) {
    return BadField("body", "the envelope has the flags {}; send 0", static_cast<uint8_t>(body[0]));
  }
  uint32_t size = 0;
  for (const char byte : body.substr(1, 4)) {
    size = size << 8 | static_cast<uint8_t>(byte);
  }
  const std::string_view message = body.substr(kEnvelopeBytes);
  if (message.size() != size) {
    return BadField("body", "the envelope says {} bytes, but {} follow; send one message", size,
                    message.size());
  }
  return message;
}

std::string Envelope(std::string_view message) {
  return Sealed(0, message);
}

std::string EndEnvelope(const grpc::Status& status) {
  json end = json::object();
  if (!status.ok()) {
    end["error"] = ErrorObject(status);
  }
  return Sealed(kEndOfStream, end.dump());
}

std::string ConnectError(const grpc::Status& status) {
  return ErrorObject(status).dump();
}

int64_t RetrySeconds(const grpc::Status& status) {
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      if (google::rpc::RetryInfo retry; detail.UnpackTo(&retry)) {
        return retry.retry_delay().seconds() + (retry.retry_delay().nanos() > 0 ? 1 : 0);
      }
    }
  }
  return 0;
}

int ConnectHttpStatus(int code) {
  return CodeOf(code).http;
}

absl::StatusOr<ConnectQuery> ReadConnectQuery(std::string_view query) {
  ConnectQuery read;
  std::string encoding;
  bool is_base64 = false;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::string_view name = pair.substr(0, pair.find('='));
    const std::string_view text = pair.substr(std::min(name.size() + 1, pair.size()));
    ASSIGN_OR_RETURN(std::string value, Unescape(name, text));
    if (name == "message") {
      read.message = std::move(value);
    } else if (name == "encoding") {
      encoding = std::move(value);
    } else if (name == "base64") {
      is_base64 = value == "1";
    } else if (name == "compression" && value != "identity") {
      return Compressed();
    } else if (name != "connect" && name != "compression") {
      return BadField(name, "the parameter {}={} is not supported; leave it out",
                      SanitizeForDisplay(ValidUtf8(CutUtf8(name, 64))),
                      SanitizeForDisplay(ValidUtf8(CutUtf8(value, 64))));
    }
  }
  if (encoding != "json" && encoding != "proto") {
    return BadField("encoding", "the parameter encoding is not json or proto; send one of them");
  }
  read.encoding = encoding == "json" ? ConnectEncoding::kJson : ConnectEncoding::kProto;
  if (is_base64) {
    ASSIGN_OR_RETURN(read.message, DecodeBase64Url(read.message));
  }
  return read;
}

}  // namespace ruvd::api
