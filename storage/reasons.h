// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only the stores of this room give; the others are in base/reasons.h. The same
// rule holds: a name is never reused for another cause.
namespace ruvd::reasons {

inline constexpr char kLedgerBroken[] = "LEDGER_BROKEN";
inline constexpr char kLedgerRolledBack[] = "LEDGER_ROLLED_BACK";
inline constexpr char kBeingRemoved[] = "BEING_REMOVED";

// The log of changes does not have what was asked for any more.
inline constexpr char kLogTruncated[] = "LOG_TRUNCATED";

// What was read was changed by somebody else before it could be replaced.
inline constexpr char kChanged[] = "CHANGED";

// The value was erased by destroying its data key.
// A change that learning made cannot be undone: others came on top of it, or what was there before
// is not kept any more.
inline constexpr char kCannotUndo[] = "CANNOT_UNDO";
inline constexpr char kKeyDestroyed[] = "KEY_DESTROYED";
// A backup is incomplete, altered, or sealed by another node's key.
inline constexpr char kBackupInvalid[] = "BACKUP_INVALID";
// A restore would forget privacy budget that was spent.
inline constexpr char kLedgerWouldGoBack[] = "LEDGER_WOULD_GO_BACK";

}  // namespace ruvd::reasons
