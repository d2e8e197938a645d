// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "node/api/rpc_status.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"

namespace ruvd::test {

// Stores a pattern with the bytes of its adapter, which it sends in pieces.
inline absl::StatusOr<pattern::v1::ImportPatternResponse> ImportPattern(
    pattern::v1::PatternService::StubInterface& stub,
    const pattern::v1::UpsertPatternRequest& pattern, std::string_view adapter) {
  constexpr size_t kPieceBytes = 1000;
  grpc::ClientContext context;
  pattern::v1::ImportPatternResponse response;
  const auto writer = stub.ImportPattern(&context, &response);
  pattern::v1::ImportPatternRequest part;
  *part.mutable_file()->mutable_pattern() = pattern;
  part.mutable_file()->set_adapter_bytes(adapter.size());
  bool is_heard = writer->Write(part);
  for (size_t at = 0; is_heard && at < adapter.size(); at += kPieceBytes) {
    part.set_data(std::string(adapter.substr(at, kPieceBytes)));
    is_heard = writer->Write(part);
  }
  writer->WritesDone();
  RETURN_IF_ERROR(api::FromRpcStatus(writer->Finish()));
  return response;
}

}  // namespace ruvd::test
