// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "storage/db/database.h"
#include "storage/db/store_check.h"

namespace ruvd::storage {

struct PatternCheckOptions {
  size_t sample = 100;      // number of patterns whose neighbours are looked for in the graph
  size_t neighbours = 10;   // neighbours of each pattern
  double min_recall = 0.9;  // the part of the neighbours that must be found
  uint64_t seed = 1;        // selects the sample
};

// The content of one collection of patterns.
struct PatternCollectionCheck {
  uint32_t collection = 0;
  Digest model_hash{};
  uint32_t dimension = 0;
  size_t patterns = 0;
  size_t tombstones = 0;
  uint64_t checkpoint_epoch = 0;  // 0: there is no checkpoint of the graph
  size_t linked = 0;              // patterns that the checkpoint's links lead to
  size_t unreachable = 0;         // patterns in it without links to them; a start links them anew
  size_t pending = 0;             // patterns stored after it; a start links them
  size_t sampled = 0;
  double recall = 0;  // of the sample on the graph; meaningless when `sampled` is 0
};

// Checks the patterns of every collection of a store: that each pattern has one row in each of the
// families slot, vec, meta and payload, with the same generation, the same fields and the content
// that was hashed; that the checkpoint of the graph is complete; that its links lead to every
// pattern in it; and that searches over it find what an exact scan of a sample finds. It reports
// everything that is wrong in `report`, except rows whose values do not open, which
// Database::Verify reports, and their consequences. It changes nothing, and returns an error only
// when it could not look.
absl::StatusOr<std::vector<PatternCollectionCheck>> VerifyPatterns(
    Database& database, const PatternCheckOptions& options, StoreReport* report);

}  // namespace ruvd::storage
