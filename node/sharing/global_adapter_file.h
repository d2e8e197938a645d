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

// A node's global adapter as it is saved for a restart.
struct SavedGlobalAdapter {
  Digest model_hash{};
  Digest frame_id{};
  std::vector<float> boundaries;  // of its banks
  uint32_t served = 0;            // served version; 0: none
  std::set<privacy::NodeId>
      contributors;  // nodes whose updates it was made of, at most kMaxRememberedContributors
  federation::GlobalAdapterState state;
  bool operator==(const SavedGlobalAdapter&) const = default;
};

// The encoding as bytes, little endian:
//   "RVGA", u32 format 2, 32 bytes model hash, 32 bytes frame id,
//   u8 boundaries and as many f32, u64 round, u32 served,
//   u32 contributors and as many ids of 32 bytes, ascending; u32 values of a bank;
//   per bank f32 values, u64 steps, f64 noise, u32 and f64 first, u32 and f64 second moments.
std::string EncodeGlobalAdapter(const SavedGlobalAdapter& saved);
// Decodes the bytes. Lengths are checked before memory is allocated; invalid bytes are
// INVALID_ARGUMENT. GlobalAdapter::Restore checks the values.
absl::StatusOr<SavedGlobalAdapter> DecodeGlobalAdapter(std::span<const uint8_t> bytes);

// Replaces the sealed file atomically. Returns LIMIT_EXCEEDED above limits::kMaxGlobalAdapterBytes,
// FILE_UNWRITABLE or DISK_FULL.
absl::Status WriteGlobalAdapter(const std::string& path, const privacy::SealKey& key,
                                const SavedGlobalAdapter& saved);
// Reads the sealed file; returns nullopt if it does not exist. SEAL_BROKEN means that it is damaged
// or belongs to another store. Other errors are those of reading and of DecodeGlobalAdapter.
absl::StatusOr<std::optional<SavedGlobalAdapter>> ReadGlobalAdapter(const std::string& path,
                                                                    const privacy::SealKey& key);

}  // namespace ruvd::sharing
