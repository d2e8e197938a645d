// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/trajectories/trajectory_store.h"

// Plaintexts of the trajectory rows; docs/store-format.md has keys and fields.
namespace ruvd::trajectories {

std::string EncodeTrajectory(const Trajectory& trajectory);
// STORE_CORRUPT for bytes that EncodeTrajectory does not make.
absl::StatusOr<Trajectory> DecodeTrajectory(std::string_view bytes);

}  // namespace ruvd::trajectories
