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

// Between the two layouts that the payload of an update may have (docs/wire-format.md).
namespace ruvd::federation {

// Nodes that send version 1 train one core for all t, and file it under this bank, that of t = 1.
inline constexpr uint32_t kVersion1Bank = 2;

inline constexpr uint16_t kUpdateVersionOfBanks = 2;

// The version that a payload says it is of; 0 for fewer bytes than that takes.
uint16_t UpdateVersionOf(std::string_view payload);

// What the cores of `rules` look like as modules of an update of version 2.
AdapterUpdateRules BankedRules(const UpdateRules& rules, const Digest& model_hash,
                               const Digest& frame_id);

// The payload of either version as an update of banks; that of version 1 is one bank for all t, of
// the model and frame of `rules`, which its manifest was checked against, and says nothing of its
// schedule. UPDATE_INVALID for bytes that are none, and for one of version 1 without a core of
// kVersion1Bank for every module. Its shape is CheckAdapterUpdate's to check.
absl::StatusOr<AdapterUpdate> ReadUpdate(std::span<const uint8_t> payload,
                                         const AdapterUpdateRules& rules);

// The same update for peers that know version 1 only: the mean over t of its banks, those that are
// absent left out, as one core for all t. No cores where they cover less than kLeastCoverage of t.
// `update` is checked and holds R-cores.
AdapterDelta AsVersion1(const AdapterUpdate& update);

}  // namespace ruvd::federation
