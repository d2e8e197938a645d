// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/status.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Reports problems with the rows of one family, each with the row's key in hexadecimal.
class RowProblems {
 public:
  RowProblems(std::string_view family, StoreReport* report) : family_(family), report_(report) {}

  void Add(std::string_view key, std::string_view what) {
    report_->AddProblem(fmt::format("{} {}: {}", family_, ToHex(AsBytes(key)), what));
  }
  // Reports an error, if there is one; returns whether there was no error.
  bool Ok(std::string_view key, const absl::Status& status) {
    if (!status.ok()) {
      Add(key, fmt::format("{} [{}]", MessageOf(status), ReasonOf(status)));
    }
    return status.ok();
  }
  // Skips a row whose value does not open: Database::Verify reports it, and the other rows are
  // checked.
  static absl::StatusOr<bool> SkipRow(std::string_view /*key*/) { return true; }
  // Reports a problem if a row that belongs to `key` is missing.
  absl::Status Expect(const Database& database, ColumnFamily family, std::string_view key,
                      std::string_view companion) {
    ASSIGN_OR_RETURN(const bool there, database.Contains(family, companion));
    if (!there) {
      Add(key, fmt::format("its row {} is missing", ToHex(AsBytes(companion))));
    }
    return absl::OkStatus();
  }

 private:
  const std::string_view family_;
  StoreReport* const report_;
};

}  // namespace ruvd::storage
