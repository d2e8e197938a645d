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

// What a search can ask of a row besides its vector.
struct HnswAttributes {
  uint32_t bank = 0;    // timestep bank, below limits::kMaxBanks; each bank has a graph of its own
  uint32_t task = 0;    // below limits::kMaxFilterTasks; the caller numbers its tasks
  uint32_t tier = 0;    // below limits::kMaxFilterTiers
  uint32_t owner = 0;   // any number, e.g. of a user
  int64_t time_ms = 0;  // since 1970, 0 to limits::kMaxFilterTimeMs
  float quality = 0;    // finite, 0 or more
};

// The conjunction of what is set; a default one admits every row.
struct HnswFilter {
  uint64_t banks = ~uint64_t{0};  // bit b: rows of bank b
  uint32_t tiers = ~uint32_t{0};  // bit t: rows of tier t
  std::vector<uint32_t> tasks;    // one of these; empty: any
  std::optional<uint32_t> owner;
  int64_t min_time_ms = 0;  // both ends included
  int64_t max_time_ms = std::numeric_limits<int64_t>::max();
  float min_quality = 0;  // both ends included
  float max_quality = std::numeric_limits<float>::infinity();

  // Whether only the banks are restricted.
  bool admits_all_of_its_banks() const;
};

namespace hnsw {

// INVALID_ARGUMENT, naming the field and its range.
absl::Status CheckAttributes(const HnswAttributes& attributes);
absl::Status CheckFilter(const HnswFilter& filter);

// The attributes of all nodes, bit-sliced. One writer, many readers.
class AttributeTable {
 public:
  absl::Status Reserve(size_t nodes);
  absl::Status Grow(size_t nodes);
  void Set(uint32_t node, const HnswAttributes& attributes);
  HnswAttributes Get(uint32_t node) const;

  // Whether the filter admits a node, by attributes that it had all at one time: Matches may see
  // some of before a change and some of after it.
  bool Admits(uint32_t node, const HnswFilter& filter) const;

  // Those nodes of `mask` (bit i: node 64 word + i) that the filter admits, which CheckFilter has
  // passed.
  uint64_t Matches(size_t word, const HnswFilter& filter, uint64_t mask) const;

  size_t committed_bytes() const;

 private:
  bool WasAdmitted(const HnswFilter& filter) const;

  BitColumn bank_, task_, tier_, owner_, time_, quality_;
  std::atomic<uint64_t> version_{0};  // odd during a change
  // What is being changed, and from what.
  std::atomic<uint32_t> changing_{0};
  std::array<std::atomic<uint64_t>, 6> before_{};
};

}  // namespace hnsw
}  // namespace ruvd::storage
