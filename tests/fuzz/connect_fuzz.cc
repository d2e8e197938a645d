// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Reads bytes as the parts of a call by the Connect protocol: path, type, query, envelope, and JSON
// of a request, which must give the same message when it is written and read again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "node/api/http/connect_codec.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace {

using ruvd::api::ConnectEncoding;

void CheckMessage(std::string_view body) {
  const auto& type = *ruvd::inference::v1::GenerateRequest::descriptor();
  const auto bytes = ruvd::api::DecodeMessage(type, ConnectEncoding::kJson, body);
  ruvd::inference::v1::GenerateRequest message;
  if (!bytes.ok() || !message.ParseFromString(*bytes)) {
    return;
  }
  const auto text = ruvd::api::EncodeMessage(type, ConnectEncoding::kJson, *bytes);
  if (!text.ok()) {
    return;  // of texts that are not UTF-8, which JSON cannot write
  }
  const auto again = ruvd::api::DecodeMessage(type, ConnectEncoding::kJson, *text);
  ruvd::inference::v1::GenerateRequest second;
  RUVD_CHECK(again.ok() && second.ParseFromString(*again));
  RUVD_CHECK(second.SerializeAsString() == message.SerializeAsString());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      ruvd::api::FindApiMethod(bytes);
      break;
    case 1:
      ruvd::api::ReadConnectType(bytes);
      break;
    case 2:
      if (const auto query = ruvd::api::ReadConnectQuery(bytes); query.ok()) {
        RUVD_CHECK(query->message.size() <= bytes.size());
      }
      break;
    case 3:
      if (const auto message = ruvd::api::OpenEnvelope(bytes); message.ok()) {
        RUVD_CHECK(ruvd::api::Envelope(*message) == std::string("\0", 1).append(bytes.substr(1)) ||
                   bytes[0] != 0);
      }
      break;
    default:
      CheckMessage(bytes);
  }
  return 0;
}
