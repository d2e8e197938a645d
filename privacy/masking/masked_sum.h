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

// Adds up the shares of a clique. Until the last share it contains only noise. It does no I/O. Not
// thread-safe.
class MaskedSum {
 public:
  // Begins the sum of the agreed `clique` and `layout`. Fails with CLIQUE_INVALID, with
  // MASK_LAYOUT_MISMATCH, and as MaskLayout::Check and MaxUnitsPerMember do.
  static absl::StatusOr<MaskedSum> Begin(const Clique& clique, const MaskLayout& layout);

  // Adds the share that came from `sender`, whose envelope was verified. Fails with CLIQUE_INVALID
  // for a share that names another sender and for a sender, set or round that is not the clique's,
  // with MASK_LAYOUT_MISMATCH for another layout or number of values, and with REPLAYED for a
  // second share of one sender.
  absl::Status Add(const NodeId& sender, const MaskedUpdate& update);

  // Returns the members whose share is missing. If one of them is gone, the others must start again
  // without it.
  std::vector<NodeId> Missing() const;

  // Returns the sum in units of the grid. Fails with MASKED_SUM_INCOMPLETE while a share is
  // missing, and with UPDATE_INVALID if a value is larger than the layout's clip norm and noise
  // allow for this many members: then a member used masks for another set or did not clip its
  // update.
  absl::StatusOr<std::vector<int32_t>> Result() const;

 private:
  MaskedSum(const Clique& clique, size_t values, int64_t most);

  Clique clique_;
  Digest set_;
  int64_t most_;  // largest plausible value, in units
  std::vector<uint32_t> sum_;
  std::set<NodeId> added_;
};

}  // namespace ruvd::privacy::masking
