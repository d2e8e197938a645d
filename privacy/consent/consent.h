// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/node_key.h"

namespace ruvd::privacy {

// What the operator allows to leave the node. The guarantees of the tiers exclude each other: a sum
// that hides its parts cannot be checked part by part, and a noised update is not a plain one. The
// numbers equal those of ruvd.pattern.v1.SharingTier.
enum class ConsentTier : uint8_t { kPrivate = 1, kMasked = 2, kDp = 3, kPublic = 4 };

// The kinds of data that can leave a node and are derived from its users' data.
enum class ShareableKind : uint8_t {
  kMaskedSum,       // a share of a clique's sum; alone it is noise
  kDpContribution,  // to a round of learning: clipped, noised, accounted
  kContribution,    // plain
  kPattern,         // plain
};

std::string_view TierName(ConsentTier tier);

// Returns whether the tier lets the kind leave the node: nothing leaves under kPrivate, only masked
// sums under kMasked, only differentially private items under kDp, and differentially private and
// plain items under kPublic.
bool TierAllows(ConsentTier tier, ShareableKind kind);

// Returns OK, or CONSENT_MISSING if MayLeave returns false.
absl::Status RequireConsent(ConsentTier tier, ShareableKind kind);

// The operator's choice of a tier. The node's key signs it, so that an altered database cannot make
// a node share.
struct ConsentRecord {
  ConsentTier tier = ConsentTier::kPrivate;
  int64_t since_ms = 0;
  Signature signature{};

  // Signs a choice made at `now_ms`.
  static ConsentRecord Sign(ConsentTier tier, int64_t now_ms, const NodeKey& key);
  // Returns INVALID_ARGUMENT for an unknown tier and SIGNATURE_INVALID if `key` did not sign this
  // record. After an error the caller must stay private.
  absl::Status Verify(const NodeKey& key) const;
};

}  // namespace ruvd::privacy
