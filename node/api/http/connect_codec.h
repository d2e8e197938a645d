// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "node/transport/grpc_types.h"

// The bytes of the Connect protocol (connectrpc.com/docs/protocol), version 1: unary calls and
// streams of a server, with messages as JSON or in protobuf's own encoding.
namespace ruvd::api {

enum class ConnectEncoding : uint8_t { kJson, kProto };

// What the type of a request's body says.
struct ConnectType {
  ConnectEncoding encoding = ConnectEncoding::kJson;
  bool streams = false;
};
// Returns what a content type such as "application/connect+json; charset=utf-8" says; nullopt if it
// is not one of the four of Connect.
std::optional<ConnectType> ReadConnectType(std::string_view content_type);
// Returns the content type of an answer.
const char* ConnectTypeName(ConnectType type);

// Returns the method of the API that a path such as "/ruvd.node.v1.NodeService/GetStatus" names;
// null if it names none.
const google::protobuf::MethodDescriptor* FindApiMethod(std::string_view path);
// Returns whether a call changes nothing, so that it may be made by GET.
bool OnlyReads(const google::protobuf::MethodDescriptor& method);

// Returns a message in protobuf's encoding. JSON that is not valid, deeper or with more values than
// openai::ReadJson takes, or with an unknown field or a wrong type, is INVALID_ARGUMENT.
absl::StatusOr<std::string> DecodeMessage(const google::protobuf::Descriptor& type,
                                          ConnectEncoding encoding, std::string_view body);
// Returns a message in the encoding of the answer.
absl::StatusOr<std::string> EncodeMessage(const google::protobuf::Descriptor& type,
                                          ConnectEncoding encoding, const std::string& bytes);

// The only message of a request to a stream, out of its envelope. INVALID_ARGUMENT for a body that
// is not one whole envelope, and UNIMPLEMENTED for one that is compressed.
absl::StatusOr<std::string_view> OpenEnvelope(std::string_view body);
// Puts a message of a stream into its envelope.
std::string Envelope(std::string_view message);
// Returns the envelope that ends a stream.
std::string EndEnvelope(const grpc::Status& status);

// Returns an error as the body of an answer: its code, message and details.
std::string ConnectError(const grpc::Status& status);
// Returns after how many seconds another try may succeed, as the details say; 0: they do not say.
int64_t RetrySeconds(const grpc::Status& status);
// Returns the status of HTTP that goes with a code of gRPC.
int ConnectHttpStatus(int code);

// The message in the query of a call by GET. INVALID_ARGUMENT names the parameter that is wrong.
struct ConnectQuery {
  ConnectEncoding encoding = ConnectEncoding::kJson;
  std::string message;
};
absl::StatusOr<ConnectQuery> ReadConnectQuery(std::string_view query);

}  // namespace ruvd::api
