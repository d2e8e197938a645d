// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "node/api/rpc_status.h"

namespace ruvd::test {

// Reads a stream of progress, such as that of RunDeep, to its result. `on_progress` hears each
// message before the result; it may be null.
template <typename Response>
auto ResultOf(std::unique_ptr<grpc::ClientReader<Response>> reader,
              const std::function<void()>& on_progress = nullptr)
    -> absl::StatusOr<std::decay_t<decltype(std::declval<Response>().result())>> {
  Response last;
  while (reader->Read(&last)) {
    if (!last.has_result() && on_progress != nullptr) {
      on_progress();
    }
  }
  RETURN_IF_ERROR(api::FromRpcStatus(reader->Finish()));
  EXPECT_TRUE(last.has_result()) << last.ShortDebugString();
  return last.result();
}

}  // namespace ruvd::test
