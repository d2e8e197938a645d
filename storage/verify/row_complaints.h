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

// Complaints about the rows of one family, each with the row's key in hexadecimal.
class RowComplaints {
 public:
  RowComplaints(std::string_view family, StoreReport* report) : family_(family), report_(report) {}

  void Add(std::string_view key, std::string_view what) {
    report_->Complain(fmt::format("{} {}: {}", family_, ToHex(AsBytes(key)), what));
  }
  // Complains about an error; whether there was none.
  bool Ok(std::string_view key, const absl::Status& status) {
    if (!status.ok()) {
      Add(key, fmt::format("{} [{}]", MessageOf(status), ReasonOf(status)));
    }
    return status.ok();
  }
  // A row whose value does not open: Database::Verify complains of it, the others are looked at.
  static absl::StatusOr<bool> PassOver(std::string_view /*key*/) { return true; }
  // Complains where a row that belongs to `key` is missing.
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
