// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room gives; the others are in base/reasons.h. The same rule holds: a
// name is never reused for another cause.
namespace ruvd::reasons {

// A file of `ruvd pattern import` is no export, was cut or altered.
inline constexpr char kExportInvalid[] = "EXPORT_INVALID";
// A backup of the running node's store is being made; one at a time.
inline constexpr char kBackupRunning[] = "BACKUP_RUNNING";

// An operator paused learning, or it is switched off.
inline constexpr char kLearningPaused[] = "LEARNING_PAUSED";

// A path was sent to a node whose API listens beyond its own machine.
inline constexpr char kPathsAreLocal[] = "PATHS_ARE_LOCAL";

// The client API asks for a token, and the caller has none that it knows.
inline constexpr char kCallerUnknown[] = "CALLER_UNKNOWN";

// A peer's pattern claims less quality or fewer lessons than this node takes.
inline constexpr char kPatternTooWeak[] = "PATTERN_TOO_WEAK";
// A peer's pattern bears the id of another node's, or of one of this node's own.
inline constexpr char kPatternTaken[] = "PATTERN_TAKEN";

}  // namespace ruvd::reasons
