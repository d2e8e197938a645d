// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/db/column_family.h"

namespace ruvd::storage {

// A walk over the rows of all families that changes some of them, in bounded batches, each of which
// also moves a cursor: killed at any moment it goes on behind the last batch that is there. Used by
// migrations, by data keys that are replaced and by erasures. It never sees `default/schema`, the
// cursors and the wrapped keys.
struct RowSweep {
  enum class Action : uint8_t { kKeep, kReplace, kDelete };
  struct Verdict {
    Action action = Action::kKeep;
    std::string stored;  // for kReplace
  };
  using Judge = std::function<absl::StatusOr<Verdict>(ColumnFamily family, std::string_view key,
                                                      std::string_view stored)>;
  std::string name;  // of its cursor, "sweep/NAME" in the family "default"
  Judge judge;
};

// Where a sweep goes on: u8 family | key of the next row to look at.
struct SweepCursor {
  ColumnFamily family = ColumnFamily::kDefault;
  std::string key;
};
std::string SweepCursorKey(std::string_view name);
std::string EncodeSweepCursor(const SweepCursor& cursor);
// STORE_CORRUPT for other bytes.
absl::StatusOr<SweepCursor> DecodeSweepCursor(std::string_view bytes);
// There from a change after which wrapped keys are left in older tables and in the log until they
// are in none of the files any more. Its value is empty.
inline constexpr char kForgetKeysRow[] = "sweep/forget-keys";
// Rows of the family "default" that belong to the store itself.
bool IsStoreRow(ColumnFamily family, std::string_view key);

}  // namespace ruvd::storage
