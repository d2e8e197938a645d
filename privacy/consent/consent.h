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

// What the operator allows to leave the node. Guarantees of the tiers exclude each other: a sum
// that hides its parts cannot be checked part by part, a noised update is not a plain one. Numbers
// equal ruvd.pattern.v1.SharingTier.
enum class ConsentTier : uint8_t { kPrivate = 1, kMasked = 2, kDp = 3, kPublic = 4 };

// Everything that can leave a node and comes from its users.
enum class ShareableKind : uint8_t {
  kMaskedSum,       // a share of a clique's sum, worthless alone
  kDpAdapterDelta,  // clipped, noised, accounted
  kDpPattern,       // noised centroid of at least ten examples
  kAdapterDelta,    // plain
  kPattern,         // plain
};

std::string_view TierName(ConsentTier tier);

// The rule of what leaves: nothing under kPrivate; only masked sums under kMasked; only
// differentially private items under kDp; those and plain ones under kPublic.
bool MayLeave(ConsentTier tier, ShareableKind kind);

// CONSENT_MISSING where MayLeave says no.
absl::Status RequireConsent(ConsentTier tier, ShareableKind kind);

// The operator's choice, signed by the node's key so that an altered database cannot open a node.
struct ConsentRecord {
  ConsentTier tier = ConsentTier::kPrivate;
  int64_t since_ms = 0;
  Signature signature{};

  // Signs a choice made at `now_ms`.
  static ConsentRecord Sign(ConsentTier tier, int64_t now_ms, const NodeKey& key);
  // INVALID_ARGUMENT for an unknown tier, SIGNATURE_INVALID if this is not the key's own record.
  // The caller then stays private.
  absl::Status Verify(const NodeKey& key) const;
};

}  // namespace ruvd::privacy
