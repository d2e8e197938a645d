// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/adapter_update.h"
#include "privacy/identity/node_key.h"
#include "storage/patterns/pattern.h"
#include "storage/state/state_store.h"

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
  bool RemoveMember(const privacy::NodeId& member);

  const MaskedMeanList& all() const { return means_; }  // sorted by round, then by name
  // Returns the mean with this member, or nullptr.
  const MaskedMean* Of(const privacy::NodeId& member) const;

 private:
  MaskedMeanList means_;
};

// The stored form. FromStored returns INVALID_ARGUMENT for a message with lengths out of range or
// members that are not ascending, and the errors of DecodeAdapterUpdate.
storage::v1::MaskedMeans ToStored(const MaskedMeanList& means);
absl::StatusOr<std::vector<MaskedMean>> FromStored(const storage::v1::MaskedMeans& stored);

// The means are kept in the node's state, because peers keep the parts of a sum for a few hours
// only. LoadMaskedMeans returns an empty list if no means are stored, and the errors of
// StateStore::Get and FromStored.
absl::StatusOr<std::vector<MaskedMean>> LoadMaskedMeans(const storage::StateStore& state);
// Replaces the means. Returns LIMIT_EXCEEDED above limits::kMaxMaskedMeansBytes, and the errors of
// StateStore::Put.
absl::Status StoreMaskedMeans(storage::StateStore& state, const MaskedMeanList& means);

}  // namespace ruvd::sharing
