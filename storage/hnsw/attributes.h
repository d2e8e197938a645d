// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "storage/hnsw/bit_column.h"
#include "storage/limits.h"

namespace ruvd::storage {

// The attributes of a row that a search can filter by.
struct HnswAttributes {
  uint32_t bank = 0;    // timestep bank, below limits::kMaxBanks; each bank has a graph of its own
  uint32_t task = 0;    // below limits::kMaxFilterTasks; the caller numbers its tasks
  uint32_t tier = 0;    // below limits::kMaxFilterTiers
  uint32_t owner = 0;   // any number, e.g. of a user
  int64_t time_ms = 0;  // since 1970, 0 to limits::kMaxFilterTimeMs
  float quality = 0;    // finite, 0 or more
};

// The conjunction of all fields that are set. A default filter admits every row.
struct HnswFilter {
  uint64_t banks = ~uint64_t{0};  // bit b: rows of bank b
  uint32_t tiers = ~uint32_t{0};  // bit t: rows of tier t
  std::vector<uint32_t> tasks;    // the row has one of these tasks; empty: any task
  std::optional<uint32_t> owner;
  int64_t min_time_ms = 0;  // both ends included
  int64_t max_time_ms = std::numeric_limits<int64_t>::max();
  float min_quality = 0;  // both ends included
  float max_quality = std::numeric_limits<float>::infinity();

  // Returns whether the filter restricts nothing but the banks.
  bool admits_all_of_its_banks() const;
};

namespace hnsw {

// Return INVALID_ARGUMENT with the field and its range when a value is out of range.
absl::Status CheckAttributes(const HnswAttributes& attributes);
absl::Status CheckFilter(const HnswFilter& filter);

// Holds the attributes of all nodes in bit-sliced columns, for one writer and many readers.
class AttributeTable {
 public:
  absl::Status Reserve(size_t nodes);
  absl::Status Grow(size_t nodes);
  void Set(uint32_t node, const HnswAttributes& attributes);
  HnswAttributes Get(uint32_t node) const;

  // Returns whether the filter admits a node, judged by attributes that the node had all at one
  // time. (Matches may mix values from before and after a change.)
  bool Admits(uint32_t node, const HnswFilter& filter) const;

  // Returns the nodes of `mask` (bit i stands for node 64 word + i) that the filter admits. The
  // filter must have passed CheckFilter.
  uint64_t Matches(size_t word, const HnswFilter& filter, uint64_t mask) const;

  size_t committed_bytes() const;

 private:
  bool WasAdmitted(const HnswFilter& filter) const;

  BitColumn bank_, task_, tier_, owner_, time_, quality_;
  std::atomic<uint64_t> version_{0};  // odd during a change
  // The node that is being changed, and its attributes before the change.
  std::atomic<uint32_t> changing_{0};
  std::array<std::atomic<uint64_t>, 6> before_{};
};

}  // namespace hnsw
}  // namespace ruvd::storage
