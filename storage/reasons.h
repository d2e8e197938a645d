// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only the stores of this room return; the others are in base/reasons.h. A name
// is never reused for another cause.
namespace ruvd::reasons {

// A program from before this schema wrote the store.
inline constexpr char kSchemaTooOld[] = "SCHEMA_TOO_OLD";
inline constexpr char kLedgerBroken[] = "LEDGER_BROKEN";
inline constexpr char kLedgerRolledBack[] = "LEDGER_ROLLED_BACK";
inline constexpr char kBeingRemoved[] = "BEING_REMOVED";

// The log of changes does not have the requested numbers any more.
inline constexpr char kLogTruncated[] = "LOG_TRUNCATED";

// Another caller changed the value after it was read and before it could be replaced.
inline constexpr char kChanged[] = "CHANGED";

// A change that learning made cannot be undone: later changes depend on it, or the state before it
// is not kept any more.
inline constexpr char kCannotUndo[] = "CANNOT_UNDO";
// The value was erased by destroying its data key.
inline constexpr char kKeyDestroyed[] = "KEY_DESTROYED";
// A backup is incomplete, altered, or sealed by another node's key.
inline constexpr char kBackupInvalid[] = "BACKUP_INVALID";
// A restore would forget privacy budget that was spent.
inline constexpr char kLedgerWouldGoBack[] = "LEDGER_WOULD_GO_BACK";

}  // namespace ruvd::reasons
