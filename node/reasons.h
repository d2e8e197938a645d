// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room uses; base/reasons.h has the others. As there, a name is never
// reused for another cause.
namespace ruvd::reasons {

// The file of a `ruvd pattern import` is not an export, or was cut or altered.
inline constexpr char kExportInvalid[] = "EXPORT_INVALID";
// A backup of the running node's store is being made; only one may run at a time.
inline constexpr char kBackupRunning[] = "BACKUP_RUNNING";

// An operator paused learning, or learning is switched off.
inline constexpr char kLearningPaused[] = "LEARNING_PAUSED";

// A node answers, and a part of it does not work.
inline constexpr char kNodeDegraded[] = "NODE_DEGRADED";

// A node of the cluster does not accept this node's certificate: it has expired or is revoked
// there.
inline constexpr char kCertificateRefused[] = "CERTIFICATE_REFUSED";

// A port of the node shows no sign of life any more, so the process has to be started again.
inline constexpr char kPortDeaf[] = "PORT_DEAF";

// What kept the node from federating at its start is mended; it federates after another start.
inline constexpr char kRestartNeeded[] = "RESTART_NEEDED";

// A path was sent to a node whose API is reachable from other machines.
inline constexpr char kPathsAreLocal[] = "PATHS_ARE_LOCAL";

// The client API requires a key, and the caller sent no known key.
inline constexpr char kCallerUnknown[] = "CALLER_UNKNOWN";
// The holder of a key has used as much of the node as the key's limits allow.
inline constexpr char kKeyLimit[] = "KEY_LIMIT";

// A peer's pattern claims less quality or fewer lessons than this node accepts.
inline constexpr char kPatternTooWeak[] = "PATTERN_TOO_WEAK";
// A peer's pattern has the id of another node's pattern, or of a pattern of this node.
inline constexpr char kPatternTaken[] = "PATTERN_TAKEN";
// Too many patterns of peers wait for their trial; this one is taken once fewer wait.
inline constexpr char kPatternTrialsFull[] = "PATTERN_TRIALS_FULL";
// A peer's pattern was dropped: it made this node's lessons near it worse, or general text, or its
// adapter does not fit, or users rated completions that used it badly.
inline constexpr char kPatternLessonsWorse[] = "PATTERN_LESSONS_WORSE";
inline constexpr char kPatternGeneralTextWorse[] = "PATTERN_GENERAL_TEXT_WORSE";
inline constexpr char kPatternUnusable[] = "PATTERN_UNUSABLE";
inline constexpr char kPatternRatedBadly[] = "PATTERN_RATED_BADLY";

}  // namespace ruvd::reasons
