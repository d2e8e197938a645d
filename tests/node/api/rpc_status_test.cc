// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/rpc_status.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace ruvd::api {
namespace {

TEST(RpcStatusTest, OkStaysOk) {
  EXPECT_TRUE(ToRpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromRpcStatus(grpc::Status::OK).ok());
}

TEST(RpcStatusTest, CodeMessageAndReasonSurviveTheWire) {
  const absl::Status status = Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                                    "prompt has {} tokens", 600);
  const absl::Status back = FromRpcStatus(ToRpcStatus(status));
  EXPECT_EQ(back.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MessageOf(back), "prompt has 600 tokens");
  EXPECT_EQ(ReasonOf(back), reasons::kContextTooLong);
}

TEST(RpcStatusTest, ErrorInfoNamesTheDomain) {
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(
      ToRpcStatus(Error(absl::StatusCode::kNotFound, reasons::kNotFound, "no pattern x"))
          .error_details()));
  google::rpc::ErrorInfo info;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.domain(), "ruvd");
  EXPECT_EQ(details.code(), static_cast<int>(absl::StatusCode::kNotFound));
}

TEST(RpcStatusTest, OverloadCarriesARetryDelay) {
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(
      ToRpcStatus(Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull, "full"))
          .error_details()));
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().nanos() + retry.retry_delay().seconds(), 0);
}

// Trying again soon helps against a full queue, not against a full disk.
TEST(RpcStatusTest, AFullDiskCarriesNoRetryDelay) {
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(
      ToRpcStatus(Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull, "full"))
          .error_details()));
  EXPECT_EQ(details.details_size(), 1);
}

TEST(RpcStatusTest, AForeignServersErrorHasNoReason) {
  const absl::Status back =
      FromRpcStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection refused"));
  EXPECT_EQ(back.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(back), "");
}

}  // namespace
}  // namespace ruvd::api
