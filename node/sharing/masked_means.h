// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/adapter_update.h"
#include "privacy/identity/node_key.h"
#include "privacy/seal/seal.h"
#include "storage/patterns/pattern.h"

namespace ruvd::sharing {

// The mean of a masked sum: the joint update of its members. The single updates stay unknown.
struct MaskedMean {
  privacy::NodeId name{};  // hash of its member set; never the id of a node
  uint64_t round = 0;
  int64_t expires_ms = 0;                // Unix time
  std::vector<privacy::NodeId> members;  // ascending, kMinCliqueMembers to kMaxCliqueMembers
  federation::AdapterUpdate update = {};
  // This node's patterns in the sum, with their updated_ms. Empty if this node is not a member, or
  // if its patterns are no longer known.
  std::map<storage::PatternId, int64_t> own = {};
  bool operator==(const MaskedMean&) const = default;
};

// The form in which rounds of updates use means.
using MaskedMeanList = std::vector<std::shared_ptr<const MaskedMean>>;

// The means of masked sums that are in use. No two share a member: a newer mean replaces all means
// that share a member with it. At most kMaxMaskedMeans, the newest, are kept. Not thread-safe.
class MaskedMeans {
 public:
  // Adds a mean. Returns false and changes nothing if the mean is known, or is not newer than a
  // mean that shares a member with it.
  bool Add(MaskedMean mean);
  // Removes means that expired by `now_ms` and returns whether there was any.
  bool Expire(int64_t now_ms);
  // Removes means with this member and returns whether there was any.
  bool RemoveThoseOf(const privacy::NodeId& member);

  const MaskedMeanList& all() const { return means_; }  // sorted by round, then by name
  // Returns the mean with this member, or nullptr.
  const MaskedMean* Of(const privacy::NodeId& member) const;

 private:
  MaskedMeanList means_;
};

// The encoding as bytes, little endian:
//   "RVMM", u32 format 1, u32 means; each: 32 bytes name, u64 round, i64 expires,
//   u8 members and as many ids of 32 bytes; u32 bytes of the update, as it would travel;
//   u32 own patterns and as many ids of 16 bytes, each with i64 updated_ms.
std::string EncodeMaskedMeans(const MaskedMeanList& means);
// Decodes the bytes. Lengths are checked before memory is allocated; invalid bytes are
// INVALID_ARGUMENT.
absl::StatusOr<std::vector<MaskedMean>> DecodeMaskedMeans(std::span<const uint8_t> bytes);

// The sealed file that keeps the means across restarts, because peers keep the parts of a sum for a
// few hours only.
class MaskedMeansFile {
 public:
  // A file without a key keeps nothing.
  MaskedMeansFile() = default;
  MaskedMeansFile(std::string path, privacy::SealKey key)
      : path_(std::move(path)), key_(std::move(key)) {}

  // Returns an empty list if there is no file. SEAL_BROKEN means that it is damaged or belongs to
  // another store. Other errors are those of reading and of DecodeMaskedMeans.
  absl::StatusOr<std::vector<MaskedMean>> Load() const;
  // Replaces the file atomically. Returns LIMIT_EXCEEDED above limits::kMaxMaskedMeansBytes,
  // FILE_UNWRITABLE or DISK_FULL.
  absl::Status Keep(const MaskedMeanList& means) const;

 private:
  std::string path_;
  std::optional<privacy::SealKey> key_;
};

}  // namespace ruvd::sharing
