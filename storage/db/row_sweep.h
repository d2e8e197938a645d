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

// A walk over the rows of all families that changes some of them in bounded batches. Each batch
// also moves a cursor: after a kill the walk continues after the last batch that was written.
// The replacement of data keys and erasures use it. It never sees `default/format`, the cursors
// and the wrapped keys.
struct RowSweep {
  enum class Action : uint8_t { kKeep, kReplace, kDelete };
  struct Verdict {
    Action action = Action::kKeep;
    std::string stored;  // for kReplace
  };
  using Judge = std::function<absl::StatusOr<Verdict>(ColumnFamily family, std::string_view key,
                                                      std::string_view stored)>;
  std::string name;  // of its cursor, which is the row "sweep/NAME" in the family "default"
  Judge judge;
};

// The place where a sweep continues: u8 family | key of the next row to look at.
struct SweepCursor {
  ColumnFamily family = ColumnFamily::kDefault;
  std::string key;
};
std::string SweepCursorKey(std::string_view name);
std::string EncodeSweepCursor(const SweepCursor& cursor);
// Returns STORE_CORRUPT for bytes that EncodeSweepCursor did not make.
absl::StatusOr<SweepCursor> DecodeSweepCursor(std::string_view bytes);
// This row exists from a change that leaves wrapped keys in older tables and in the log until no
// file contains them any more. Its value is empty.
inline constexpr char kForgetKeysRow[] = "sweep/forget-keys";
// The row in the family "default" that names the store's schema (StoreFormat). It is not sealed.
inline constexpr char kFormatRow[] = "format";
// Returns whether a row belongs to the database itself.
bool IsStoreRow(ColumnFamily family, std::string_view key);

}  // namespace ruvd::storage
