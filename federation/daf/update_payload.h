// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/adapter_delta.h"
#include "federation/daf/adapter_update.h"

// Converts between the two payload layouts of an update (docs/wire-format.md).
namespace ruvd::federation {

// Nodes that send version 1 train one core for all t, and store it in this bank, that of t = 1.
inline constexpr uint32_t kVersion1Bank = 2;

inline constexpr uint16_t kUpdateVersionOfBanks = 2;

// Returns the version that a payload states; 0 if it is too short.
uint16_t UpdateVersionOf(std::string_view payload);

// Returns the cores of `rules` as modules of an update of version 2.
AdapterUpdateRules BankedRules(const UpdateRules& rules, const Digest& model_hash,
                               const Digest& frame_id);

// Reads a payload of either version as an update of banks. Version 1 gives one bank for all t, with
// the model and frame of `rules` (its manifest was checked against them) and without a schedule.
// UPDATE_INVALID for bytes that are not a payload, and for version 1 without a core of
// kVersion1Bank for every module. The caller must check the shape with CheckAdapterUpdate.
absl::StatusOr<AdapterUpdate> ReadUpdate(std::span<const uint8_t> payload,
                                         const AdapterUpdateRules& rules);

// Returns the update for peers that know only version 1: the mean over t of its banks (absent ones
// left out), as one core for all t. The result has no cores if the banks cover less than
// kLeastCoverage of t. `update` must have been checked and hold R-cores.
AdapterDelta AsVersion1(const AdapterUpdate& update);

}  // namespace ruvd::federation
