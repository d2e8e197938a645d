// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/consent.h"

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

std::string SignedBytes(ConsentTier tier, int64_t since_ms, const NodeId& node) {
  constexpr std::string_view kDomain("RUVDLLM-CONSENT-v1\0", 19);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(node).Write(static_cast<uint8_t>(tier)).Write(since_ms);
  return writer.Take();
}

std::string_view KindName(ShareableKind kind) {
  switch (kind) {
    case ShareableKind::kMaskedSum:
      return "masked sums";
    case ShareableKind::kDpContribution:
      return "differentially private contributions";
    case ShareableKind::kContribution:
      return "plain contributions";
    case ShareableKind::kPattern:
      return "plain patterns";
  }
  return "unknown items";
}

}  // namespace

std::string_view TierName(ConsentTier tier) {
  switch (tier) {
    case ConsentTier::kPrivate:
      return "private";
    case ConsentTier::kMasked:
      return "masked";
    case ConsentTier::kDp:
      return "dp";
    case ConsentTier::kPublic:
      return "public";
  }
  return "unknown";
}

bool TierAllows(ConsentTier tier, ShareableKind kind) {
  const bool is_dp = kind == ShareableKind::kDpContribution;
  const bool is_plain = kind == ShareableKind::kContribution || kind == ShareableKind::kPattern;
  switch (tier) {
    case ConsentTier::kMasked:
      return kind == ShareableKind::kMaskedSum;
    case ConsentTier::kDp:
      return is_dp;
    case ConsentTier::kPublic:
      return is_dp || is_plain;
    case ConsentTier::kPrivate:
      return false;
  }
  return false;  // an unknown number counts as private
}

absl::Status RequireConsent(ConsentTier tier, ShareableKind kind) {
  if (TierAllows(tier, kind)) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "the sharing tier {} does not let {} leave this node; the operator may allow it "
               "with ruvd consent grant",
               TierName(tier), KindName(kind));
}

ConsentRecord ConsentRecord::Sign(ConsentTier tier, int64_t now_ms, const NodeKey& key) {
  ConsentRecord record{.tier = tier, .since_ms = now_ms, .signature = {}};
  record.signature = key.Sign(AsBytes(SignedBytes(tier, now_ms, key.id())));
  return record;
}

absl::Status ConsentRecord::Verify(const NodeKey& key) const {
  if (tier < ConsentTier::kPrivate || tier > ConsentTier::kPublic) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the consent record names the unknown tier {}; grant consent again",
                 static_cast<int>(tier));
  }
  if (!key.HasSigned(AsBytes(SignedBytes(tier, since_ms, key.id())), signature)) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
        "the consent record is not signed by this node, so sharing stays off; grant consent again");
  }
  return absl::OkStatus();
}

}  // namespace ruvd::privacy
