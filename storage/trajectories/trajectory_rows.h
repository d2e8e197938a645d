// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/trajectories/trajectory_store.h"

// Keys and plaintexts of the trajectory rows, which docs/store-format.md describes.
namespace ruvd::storage::trajectories {

// The family has two kinds of rows: the trajectory under its id, and a row under its time, for
// trimming and reading by time, whose value says whether the trajectory has feedback.
inline constexpr char kIdPrefix[] = "d/";
inline constexpr char kTimePrefix[] = "t/";
// Values of the rows by time
inline constexpr char kNoFeedback[] = "n";
inline constexpr char kFeedback[] = "f";
std::string IdKey(std::string_view response_id);
std::string TimeKey(int64_t created_ms, std::string_view response_id);
// Return the parts of a time key; 0 and "" when it is too short.
int64_t TimeOfTimeKey(std::string_view key);
std::string_view IdOfTimeKey(std::string_view key);

// Returns whether the numbers are in their ranges and the sizes within the limits.
bool IsSound(const TrajectoryRoute& route);

std::string EncodeTrajectory(const Trajectory& trajectory);
// Returns STORE_CORRUPT for bytes that EncodeTrajectory does not make.
absl::StatusOr<Trajectory> DecodeTrajectory(std::string_view bytes);

}  // namespace ruvd::storage::trajectories
