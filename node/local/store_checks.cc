// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/store_checks.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/db/database.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_check.h"
#include "storage/verify/row_checks.h"

namespace ruvd::cli {
namespace {

// Skips rows that do not open, because Database::Verify reports them.
absl::Status CheckItems(storage::Database& database, storage::StoreReport* report) {
  return database.Scan(
      storage::ColumnFamily::kItem, "", "",
      [report](const storage::RowView& row) -> absl::StatusOr<bool> {
        if (const absl::Status status = storage::DecodeItem(row.value).status(); !status.ok()) {
          report->AddProblem("item " + ToHex(AsBytes(row.key)) + ": " + MessageOf(status));
        }
        return true;
      },
      [](std::string_view) -> absl::StatusOr<bool> { return true; });
}

absl::Status CheckPatterns(storage::Database& database, storage::StoreReport* report,
                           std::vector<std::string>* facts) {
  ASSIGN_OR_RETURN(const auto collections, storage::VerifyPatterns(database, {}, report));
  for (const storage::PatternCollectionCheck& found : collections) {
    facts->push_back(fmt::format(
        "collection {} (model package {}, {} values): {} patterns, {} tombstones; {}",
        found.collection, ToHex(found.model_hash), found.dimension, found.patterns,
        found.tombstones,
        found.checkpoint_epoch == 0
            ? std::string("no checkpoint of its graph yet")
            : fmt::format("checkpoint {} links {} patterns, the next start links {} more; {}",
                          found.checkpoint_epoch, found.linked, found.unreachable + found.pending,
                          found.sampled == 0 ? std::string("no sample was searched")
                                             : fmt::format("recall {:.3f} on a sample of {}",
                                                           found.recall, found.sampled))));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<storage::StoreCheck> StoreChecks(std::vector<std::string>* facts) {
  std::vector<storage::StoreCheck> checks = storage::RowChecks();
  checks.push_back({"patterns", [facts](storage::Database& database, storage::StoreReport* report) {
                      return CheckPatterns(database, report, facts);
                    }});
  checks.push_back({"items", CheckItems});
  return checks;
}

}  // namespace ruvd::cli
