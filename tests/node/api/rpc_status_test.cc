// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/rpc_status.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "node/reasons.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"

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

template <typename Detail>
std::optional<Detail> DetailOf(const absl::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(ToRpcStatus(status).error_details()));
  for (const auto& any : details.details()) {
    if (Detail detail; any.UnpackTo(&detail)) {
      return detail;
    }
  }
  return std::nullopt;
}

TEST(RpcStatusTest, AWrongFieldIsNamed) {
  const auto bad = DetailOf<google::rpc::BadRequest>(
      WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "bank is 9"),
                "filter.bank"));
  ASSERT_TRUE(bad.has_value());
  ASSERT_EQ(bad->field_violations_size(), 1);
  EXPECT_EQ(bad->field_violations(0).field(), "filter.bank");
  EXPECT_EQ(bad->field_violations(0).description(), "bank is 9");
}

TEST(RpcStatusTest, ALimitIsSaidWithWhatWasAskedFor) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(
      WithLimit(Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded, "too long"),
                {.limit = 64, .value = 70}));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->metadata().at("limit"), "64");
  EXPECT_EQ(info->metadata().at("value"), "70");
}

TEST(RpcStatusTest, WhatPassesCarriesARetryDelay) {
  for (const char* const reason : {reasons::kMailboxFull, reasons::kChanged, reasons::kNodeDraining,
                                   reasons::kBackupRunning}) {
    EXPECT_TRUE(
        DetailOf<google::rpc::RetryInfo>(Error(absl::StatusCode::kUnavailable, reason, "not now"))
            .has_value())
        << reason;
  }
}

TEST(RpcStatusTest, ASpentBudgetIsAQuota) {
  const auto quota = DetailOf<google::rpc::QuotaFailure>(
      Error(absl::StatusCode::kResourceExhausted, reasons::kPrivacyBudgetSpent, "spent"));
  ASSERT_TRUE(quota.has_value());
  EXPECT_EQ(quota->violations(0).subject(), "privacy");
}

TEST(RpcStatusTest, AForeignServersErrorHasNoReason) {
  const absl::Status back =
      FromRpcStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection refused"));
  EXPECT_EQ(back.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(back), "");
}

}  // namespace
}  // namespace ruvd::api
