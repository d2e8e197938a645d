// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room uses; the others are in base/reasons.h. A name is never reused
// for another cause.
namespace ruvd::reasons {

// A noised release would contain more noise than signal.
inline constexpr char kSignalTooWeak[] = "SIGNAL_TOO_WEAK";

// A release would pass the privacy budget that the operator set for this node.
inline constexpr char kPrivacyBudgetSpent[] = "PRIVACY_BUDGET_SPENT";

// Consent, in this order: a record is malformed, has expired, or is stored but cannot be read; a
// site policy is malformed, does not list the scope, or does not allow the use.
inline constexpr char kConsentInvalid[] = "CONSENT_INVALID";
inline constexpr char kConsentExpired[] = "CONSENT_EXPIRED";
inline constexpr char kConsentDamaged[] = "CONSENT_DAMAGED";
inline constexpr char kPolicyInvalid[] = "POLICY_INVALID";
inline constexpr char kScopeUnknown[] = "SCOPE_UNKNOWN";
inline constexpr char kPolicyRefuses[] = "POLICY_REFUSES";

// Identity, in this order: a key's epoch is not in force; a revocation list is malformed or older
// than the known one, or too old, or the node is on it; a join token is unknown, was used or has
// expired; evidence of two messages under one number does not prove it.
inline constexpr char kKeyEpochRefused[] = "KEY_EPOCH_REFUSED";
inline constexpr char kRevocationInvalid[] = "REVOCATION_INVALID";
inline constexpr char kRevocationStale[] = "REVOCATION_STALE";
// The cluster's root ended the issuer that signed something, or the issuer's time is over.
inline constexpr char kIssuerEnded[] = "ISSUER_ENDED";
inline constexpr char kNodeRevoked[] = "NODE_REVOKED";
inline constexpr char kTokenInvalid[] = "TOKEN_INVALID";
inline constexpr char kTokenUsed[] = "TOKEN_USED";
inline constexpr char kTokenExpired[] = "TOKEN_EXPIRED";
inline constexpr char kEvidenceInvalid[] = "EVIDENCE_INVALID";

// A withdrawal is malformed.
inline constexpr char kWithdrawalInvalid[] = "WITHDRAWAL_INVALID";

// A mask of a masked sum, or the update that it hides, would be used a second time.
inline constexpr char kMaskReused[] = "MASK_REUSED";
// The set of participants is too small or too large, or not the one that was agreed.
inline constexpr char kCliqueInvalid[] = "CLIQUE_INVALID";
// Participants would add up values that do not mean the same thing.
inline constexpr char kMaskLayoutMismatch[] = "MASK_LAYOUT_MISMATCH";
// A participant's share is missing, so the sum is still noise.
inline constexpr char kMaskedSumIncomplete[] = "MASKED_SUM_INCOMPLETE";

}  // namespace ruvd::reasons
