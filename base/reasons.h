// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The stable error reasons that several rooms share; each room's reasons.h lists its own. gRPC
// sends them as google.rpc.ErrorInfo.reason with the domain "ruvd". Clients may switch on them, so
// a name is never reused for another cause.
namespace ruvd::reasons {

// Errors in what a caller sent
inline constexpr char kInvalidArgument[] = "INVALID_ARGUMENT";
inline constexpr char kUnknownFlag[] = "UNKNOWN_FLAG";
inline constexpr char kUsage[] = "USAGE";
inline constexpr char kUnknownConfigKey[] = "UNKNOWN_CONFIG_KEY";
inline constexpr char kConfigInvalid[] = "CONFIG_INVALID";
inline constexpr char kContextTooLong[] = "CONTEXT_TOO_LONG";
inline constexpr char kModeUnsupported[] = "MODE_UNSUPPORTED";
inline constexpr char kWrongDimension[] = "WRONG_DIMENSION";
inline constexpr char kNotFound[] = "NOT_FOUND";
inline constexpr char kUnknownResponse[] = "UNKNOWN_RESPONSE";

// Files
inline constexpr char kFileNotFound[] = "FILE_NOT_FOUND";
inline constexpr char kFileUnreadable[] = "FILE_UNREADABLE";
inline constexpr char kFileUnwritable[] = "FILE_UNWRITABLE";
inline constexpr char kModelCorrupt[] = "MODEL_CORRUPT";
inline constexpr char kModelUnsupported[] = "MODEL_UNSUPPORTED";
inline constexpr char kTokenizerInvalid[] = "TOKENIZER_INVALID";
inline constexpr char kAdapterInvalid[] = "ADAPTER_INVALID";
inline constexpr char kAdapterForOtherModel[] = "ADAPTER_FOR_OTHER_MODEL";

// Load and life cycle
inline constexpr char kKvBudgetExceeded[] = "KV_BUDGET_EXCEEDED";
inline constexpr char kMailboxFull[] = "MAILBOX_FULL";
inline constexpr char kActorStopped[] = "ACTOR_STOPPED";
inline constexpr char kDeadlineExceeded[] = "DEADLINE_EXCEEDED";
inline constexpr char kCancelled[] = "CANCELLED";
inline constexpr char kNodeDraining[] = "NODE_DRAINING";
inline constexpr char kNodeUnreachable[] = "NODE_UNREACHABLE";
inline constexpr char kProcessFailed[] = "PROCESS_FAILED";
inline constexpr char kInternal[] = "INTERNAL";

// Storage
inline constexpr char kDiskFull[] = "DISK_FULL";
inline constexpr char kStoreReadOnly[] = "STORE_READ_ONLY";
inline constexpr char kStoreCorrupt[] = "STORE_CORRUPT";
inline constexpr char kStoreLocked[] = "STORE_LOCKED";
inline constexpr char kSchemaTooNew[] = "SCHEMA_TOO_NEW";
inline constexpr char kSealBroken[] = "SEAL_BROKEN";
inline constexpr char kStoreForOtherModel[] = "STORE_FOR_OTHER_MODEL";

// Identity and federation
inline constexpr char kKeyInvalid[] = "KEY_INVALID";
inline constexpr char kKeyFileMode[] = "KEY_FILE_MODE";
inline constexpr char kEnvelopeMalformed[] = "ENVELOPE_MALFORMED";
inline constexpr char kSignatureInvalid[] = "SIGNATURE_INVALID";
inline constexpr char kReplayed[] = "REPLAYED";
inline constexpr char kEnvelopeExpired[] = "ENVELOPE_EXPIRED";
inline constexpr char kWrongCluster[] = "WRONG_CLUSTER";
inline constexpr char kWrongPurpose[] = "WRONG_PURPOSE";
inline constexpr char kUnknownSender[] = "UNKNOWN_SENDER";
inline constexpr char kCertificateExpired[] = "CERTIFICATE_EXPIRED";
inline constexpr char kCertificateForeign[] = "CERTIFICATE_FOREIGN";
inline constexpr char kCertificateInvalid[] = "CERTIFICATE_INVALID";
inline constexpr char kRoleMissing[] = "ROLE_MISSING";
inline constexpr char kDuplicateLink[] = "DUPLICATE_LINK";
inline constexpr char kProtocolVersion[] = "PROTOCOL_VERSION";
inline constexpr char kModelMismatch[] = "MODEL_MISMATCH";
inline constexpr char kFrameMismatch[] = "FRAME_MISMATCH";
inline constexpr char kUpdateInvalid[] = "UPDATE_INVALID";
inline constexpr char kLimitExceeded[] = "LIMIT_EXCEEDED";
inline constexpr char kConsentMissing[] = "CONSENT_MISSING";

}  // namespace ruvd::reasons
