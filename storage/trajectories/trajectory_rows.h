// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/trajectories/trajectory_store.h"

// Keys and plaintexts of the trajectory rows; docs/store-format.md has them.
namespace ruvd::storage::trajectories {

// Two kinds of rows in one family: the trajectory under its id, and an empty row under its time,
// which trimming and reading by time walk.
inline constexpr char kIdPrefix[] = "d/";
inline constexpr char kTimePrefix[] = "t/";
std::string IdKey(std::string_view response_id);
std::string TimeKey(int64_t created_ms, std::string_view response_id);
// The parts of the latter; 0 and "" where it is too short.
int64_t TimeOfTimeKey(std::string_view key);
std::string_view IdOfTimeKey(std::string_view key);

// Whether its numbers are in their ranges and nothing of it is above the limits.
bool IsSound(const TrajectoryRoute& route);

std::string EncodeTrajectory(const Trajectory& trajectory);
// STORE_CORRUPT for bytes that EncodeTrajectory does not make.
absl::StatusOr<Trajectory> DecodeTrajectory(std::string_view bytes);

}  // namespace ruvd::storage::trajectories
