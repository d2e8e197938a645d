// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/rpc_status.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/retry_delay.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "node/reasons.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"

namespace ruvd::api {
namespace {

// Times after which a client tries again. Queues drain within a few denoising steps, and a pattern
// does not keep changing for long; a stop of the node or the backup of another caller takes longer.
constexpr std::chrono::milliseconds kSoon(200);
constexpr std::chrono::milliseconds kLater(2000);

std::optional<std::chrono::milliseconds> RetryDelay(const absl::Status& status) {
  if (const auto said = RetryDelayOf(status)) {
    return said;
  }
  const std::string reason = ReasonOf(status);
  if (reason == reasons::kMailboxFull || reason == reasons::kChanged) {
    return kSoon;
  }
  const bool passes = reason == reasons::kNodeDraining || reason == reasons::kBackupRunning;
  return passes ? std::optional(kLater) : std::nullopt;
}

// Returns whose quota does not allow a call; null if the error is about no quota.
const char* QuotaOf(const std::string& reason) {
  return reason == reasons::kKeyLimit             ? "key"
         : reason == reasons::kPrivacyBudgetSpent ? "privacy"
                                                  : nullptr;
}

}  // namespace

grpc::Status ToRpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(MessageOf(status));
  google::rpc::ErrorInfo info;
  info.set_reason(ReasonOf(status));
  info.set_domain("ruvd");
  if (const auto exceeded = LimitOf(status)) {
    (*info.mutable_metadata())["limit"] = std::to_string(exceeded->limit);
    (*info.mutable_metadata())["value"] = std::to_string(exceeded->value);
  }
  details.add_details()->PackFrom(info);
  if (const std::string field = FieldOf(status); !field.empty()) {
    google::rpc::BadRequest bad;
    auto* const violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description(MessageOf(status));
    details.add_details()->PackFrom(bad);
  }
  if (const auto delay = RetryDelay(status)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(delay->count() / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(delay->count() % 1000) * 1'000'000);
    details.add_details()->PackFrom(retry);
  }
  if (const char* const subject = QuotaOf(ReasonOf(status)); subject != nullptr) {
    google::rpc::QuotaFailure quota;
    auto* const violation = quota.add_violations();
    violation->set_subject(subject);
    violation->set_description(MessageOf(status));
    details.add_details()->PackFrom(quota);
  }
  return {static_cast<grpc::StatusCode>(status.code()), MessageOf(status),
          details.SerializeAsString()};
}

absl::Status FromRpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  std::string reason;
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& detail : details.details()) {
      google::rpc::ErrorInfo info;
      if (detail.UnpackTo(&info)) {
        reason = info.reason();
      }
    }
  }
  return MakeError(static_cast<absl::StatusCode>(status.error_code()), reason,
                   status.error_message());
}

}  // namespace ruvd::api
