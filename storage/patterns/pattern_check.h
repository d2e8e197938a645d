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
  size_t sample = 100;      // patterns whose neighbours are looked for in the graph
  size_t neighbours = 10;   // of each
  double min_recall = 0.9;  // of them that have to be found
  uint64_t seed = 1;        // of the sample
};

// What is in one collection of patterns.
struct PatternCollectionCheck {
  uint32_t collection = 0;
  Digest model_hash{};
  uint32_t dimension = 0;
  size_t patterns = 0;
  size_t tombstones = 0;
  uint64_t checkpoint_epoch = 0;  // 0: there is no checkpoint of the graph
  size_t linked = 0;              // patterns that the checkpoint's links lead to
  size_t unreachable = 0;         // that are in it without; a start links them anew
  size_t pending = 0;             // stored since, which a start links
  size_t sampled = 0;
  double recall = 0;  // of the sample on the graph; with `sampled` 0 it says nothing
};

// Looks at all patterns of a store, every collection: whether the rows of the families slot, vec,
// meta and payload belong together, one of each for every pattern, with the same generation, the
// same fields and the content that was hashed; whether the checkpoint of the graph is whole;
// whether its links lead to every pattern of it; and whether searches over it find what an exact
// scan of a sample finds. Complains in `report` of everything that is wrong, but for rows whose
// values do not open, which Database::Verify names, and for what only follows from those. Changes
// nothing. An error is for what kept it from looking.
absl::StatusOr<std::vector<PatternCollectionCheck>> VerifyPatterns(
    Database& database, const PatternCheckOptions& options, StoreReport* report);

}  // namespace ruvd::storage
