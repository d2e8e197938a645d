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

// The mean of a masked sum: what its members say together, of which nobody knows the parts. A plain
// value.
struct MaskedMean {
  privacy::NodeId name{};  // the hash of its set, which is the id of no node
  uint64_t round = 0;
  int64_t expires_ms = 0;                // Unix time
  std::vector<privacy::NodeId> members;  // ascending, kMinCliqueMembers to kMaxCliqueMembers
  federation::AdapterUpdate update = {};
  // This node's patterns that it is of, with their updated_ms; empty: this node is not in it, or
  // nobody knows any more.
  std::map<storage::PatternId, int64_t> own = {};
  bool operator==(const MaskedMean&) const = default;
};

// As rounds of updates take them.
using MaskedMeanList = std::vector<std::shared_ptr<const MaskedMean>>;

// The means of masked sums that count, of which no two share a member: a newer one takes the place
// of all that share one with it. At most kMaxMaskedMeans, the newest. Not thread-safe.
class MaskedMeans {
 public:
  // False where it is known, or as old as one that shares a member with it, or older: then nothing
  // has changed.
  bool Add(MaskedMean mean);
  // Removes what is over by `now_ms`; whether there was any.
  bool Expire(int64_t now_ms);
  // Removes what a node is a member of; whether there was any.
  bool RemoveThoseOf(const privacy::NodeId& member);

  const MaskedMeanList& all() const { return means_; }  // by round, then by name
  // The one that a node is a member of, or nullptr.
  const MaskedMean* Of(const privacy::NodeId& member) const;

 private:
  MaskedMeanList means_;
};

// As bytes, little endian:
//   "RVMM", u32 format 1, u32 means; each: 32 bytes name, u64 round, i64 expires,
//   u8 members and as many ids of 32 bytes; u32 bytes of the update, as it would travel;
//   u32 own patterns and as many ids of 16 bytes, each with i64 updated_ms.
std::string EncodeMaskedMeans(const MaskedMeanList& means);
// Lengths are checked before anything is allocated; INVALID_ARGUMENT for other bytes.
absl::StatusOr<std::vector<MaskedMean>> DecodeMaskedMeans(std::span<const uint8_t> bytes);

// Where they last over restarts, sealed: peers give their parts for a few hours only.
class MaskedMeansFile {
 public:
  // Without a key nothing lasts.
  MaskedMeansFile() = default;
  MaskedMeansFile(std::string path, privacy::SealKey key)
      : path_(std::move(path)), key_(std::move(key)) {}

  // None where there is no file. SEAL_BROKEN where it is damaged or of another store; the errors of
  // reading and of DecodeMaskedMeans.
  absl::StatusOr<std::vector<MaskedMean>> Load() const;
  // Replaces the file, whole or not at all. LIMIT_EXCEEDED above limits::kMaxMaskedMeansBytes,
  // FILE_UNWRITABLE, DISK_FULL.
  absl::Status Keep(const MaskedMeanList& means) const;

 private:
  std::string path_;
  std::optional<privacy::SealKey> key_;
};

}  // namespace ruvd::sharing
