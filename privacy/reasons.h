// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room gives; the others are in base/reasons.h. The same rule holds: a
// name is never reused for another cause.
namespace ruvd::reasons {

// A noised release would carry more noise than signal.
inline constexpr char kSignalTooWeak[] = "SIGNAL_TOO_WEAK";

// A release would cost more privacy than the operator allows this node to give away.
inline constexpr char kPrivacyBudgetSpent[] = "PRIVACY_BUDGET_SPENT";

// Consent. A record that is none, one whose time is over, one that is stored and cannot be read; a
// site policy that is none, a scope that it does not list, a use that it does not allow.
inline constexpr char kConsentInvalid[] = "CONSENT_INVALID";
inline constexpr char kConsentExpired[] = "CONSENT_EXPIRED";
inline constexpr char kConsentDamaged[] = "CONSENT_DAMAGED";
inline constexpr char kPolicyInvalid[] = "POLICY_INVALID";
inline constexpr char kScopeUnknown[] = "SCOPE_UNKNOWN";
inline constexpr char kPolicyRefuses[] = "POLICY_REFUSES";

// Identity. A key of an epoch that is not in force; a revocation list that is none or goes back,
// one that is too old, a node that is on it; a join token that is none, was used or is over;
// evidence of two messages under one number that is none.
inline constexpr char kKeyEpochRefused[] = "KEY_EPOCH_REFUSED";
inline constexpr char kRevocationInvalid[] = "REVOCATION_INVALID";
inline constexpr char kRevocationStale[] = "REVOCATION_STALE";
inline constexpr char kNodeRevoked[] = "NODE_REVOKED";
inline constexpr char kTokenInvalid[] = "TOKEN_INVALID";
inline constexpr char kTokenUsed[] = "TOKEN_USED";
inline constexpr char kTokenExpired[] = "TOKEN_EXPIRED";
inline constexpr char kEvidenceInvalid[] = "EVIDENCE_INVALID";

// A withdrawal that is none.
inline constexpr char kWithdrawalInvalid[] = "WITHDRAWAL_INVALID";

// Masked sums. A mask, or what it hides, would be used a second time.
inline constexpr char kMaskReused[] = "MASK_REUSED";
// The set of participants is too small or too large, or not the one that was agreed.
inline constexpr char kCliqueInvalid[] = "CLIQUE_INVALID";
// Participants would add up values of different meaning.
inline constexpr char kMaskLayoutMismatch[] = "MASK_LAYOUT_MISMATCH";
// Not all participants' shares are there: what is there is noise.
inline constexpr char kMaskedSumIncomplete[] = "MASKED_SUM_INCOMPLETE";

}  // namespace ruvd::reasons
