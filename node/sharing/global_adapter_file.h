// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/daf_round.h"
#include "privacy/identity/node_key.h"
#include "privacy/seal/seal.h"

namespace ruvd::sharing {

// A node's global adapter as it lasts over restarts.
struct SavedGlobalAdapter {
  Digest model_hash{};
  Digest frame_id{};
  std::vector<float> boundaries;  // of its banks
  uint32_t served = 0;            // version that is served; 0: none
  std::set<privacy::NodeId>
      contributors;  // whose updates it was made of, kMaxRememberedContributors at most
  federation::GlobalAdapterState state;
  bool operator==(const SavedGlobalAdapter&) const = default;
};

// As bytes, little endian:
//   "RVGA", u32 format 2, 32 bytes model hash, 32 bytes frame id,
//   u8 boundaries and as many f32, u64 round, u32 served,
//   u32 contributors and as many ids of 32 bytes, ascending; u32 values of a bank;
//   per bank f32 values, u64 steps, f64 noise, u32 and f64 first, u32 and f64 second moments.
std::string EncodeGlobalAdapter(const SavedGlobalAdapter& saved);
// Lengths are checked before anything is allocated; INVALID_ARGUMENT for other bytes. Values are
// GlobalAdapter::Restore's to check.
absl::StatusOr<SavedGlobalAdapter> DecodeGlobalAdapter(std::span<const uint8_t> bytes);

// Replaces the sealed file, whole or not at all. LIMIT_EXCEEDED above
// limits::kMaxGlobalAdapterBytes, FILE_UNWRITABLE, DISK_FULL.
absl::Status WriteGlobalAdapter(const std::string& path, const privacy::SealKey& key,
                                const SavedGlobalAdapter& saved);
// Nullopt where there is no file. SEAL_BROKEN where it is damaged or of another store; the errors
// of reading and of DecodeGlobalAdapter.
absl::StatusOr<std::optional<SavedGlobalAdapter>> ReadGlobalAdapter(const std::string& path,
                                                                    const privacy::SealKey& key);

}  // namespace ruvd::sharing
