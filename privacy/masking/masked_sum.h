// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/messages.h"

namespace ruvd::privacy::masking {

// Adds up the shares of a clique. Before the last one it holds nothing but noise. Sans I/O; not
// thread-safe.
class MaskedSum {
 public:
  // `clique` and `layout` as agreed. CLIQUE_INVALID, MASK_LAYOUT_MISMATCH; errors of
  // MaskLayout::Check and MostUnitsOfOne.
  static absl::StatusOr<MaskedSum> Begin(const Clique& clique, const MaskLayout& layout);

  // Adds the share that came from `sender`, as its envelope was verified to say. CLIQUE_INVALID for
  // a share that names another sender, and for a sender, set or round that is not the clique's,
  // MASK_LAYOUT_MISMATCH for another layout or number of values, REPLAYED for a second share of one
  // sender.
  absl::Status Add(const NodeId& sender, const MaskedUpdate& update);

  // Members whose share is not there. If one of them is gone, the others start again without it.
  std::vector<NodeId> Missing() const;

  // The sum in units of the grid. MASKED_SUM_INCOMPLETE while a share is missing; UPDATE_INVALID
  // where a value is larger than the layout's clip norm and noise allow so many members: somebody's
  // masks were for another set, or its update was not clipped.
  absl::StatusOr<std::vector<int32_t>> Result() const;

 private:
  MaskedSum(const Clique& clique, size_t values, int64_t most);

  Clique clique_;
  Digest set_;
  int64_t most_;  // units of a plausible value
  std::vector<uint32_t> sum_;
  std::set<NodeId> added_;
};

}  // namespace ruvd::privacy::masking
