// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_collections.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/counters/store_incarnation.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"

namespace ruvd::storage {
namespace {

// The families whose rows begin with the number of their collection.
constexpr std::array<ColumnFamily, 5> kFamiliesOfPatterns = {
    ColumnFamily::kSlot, ColumnFamily::kVec, ColumnFamily::kMeta, ColumnFamily::kPayload,
    ColumnFamily::kGraph};

absl::Status CountPatterns(const Database& database, PatternCollection* collection) {
  const std::string prefix = patterns::CollectionPrefix(collection->number);
  return database.Scan(
      ColumnFamily::kSlot, prefix, EndOfPrefix(prefix),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        const auto slot = patterns::DecodeSlotRow(row.value);
        collection->patterns += slot.ok() && slot->live ? 1 : 0;
        return true;
      },
      [](std::string_view) -> absl::StatusOr<bool> { return true; });
}

absl::Status DeleteRows(Database& database, uint32_t number) {
  const std::string prefix = patterns::CollectionPrefix(number);
  Batch batch;
  batch.MarkFreesSpace();
  for (const ColumnFamily family : kFamiliesOfPatterns) {
    batch.DeleteRange(family, prefix, EndOfPrefix(prefix));
  }
  batch.Delete(ColumnFamily::kDefault, patterns::CheckpointKey(number));
  return database.Write(std::move(batch), Durability::kPowerLoss);
}

}  // namespace

absl::StatusOr<std::vector<PatternCollection>> ListPatternCollections(const Database& database) {
  std::vector<PatternCollection> collections;
  const auto add = [&](std::string_view key) -> absl::StatusOr<PatternCollection*> {
    const std::optional<uint32_t> number = ReadKeyU32(key, patterns::kCollectionKeys.size());
    if (!number) {
      return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                   "a row of the store names a collection without a number; restore the store from "
                   "a backup");
    }
    return &collections.emplace_back(PatternCollection{.number = *number, .damaged = true});
  };
  const absl::Status scanned = database.Scan(
      ColumnFamily::kDefault, patterns::kCollectionKeys, EndOfPrefix(patterns::kCollectionKeys),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(PatternCollection* const collection, add(row.key));
        if (const auto info = patterns::DecodeCollectionRow(row.value); info.ok()) {
          collection->model_hash = info->model_hash;
          collection->dimension = info->dimension;
          collection->created_ms = info->created_ms;
          collection->damaged = false;
        }
        return true;
      },
      [&](std::string_view key) -> absl::StatusOr<bool> {
        RETURN_IF_ERROR(add(key).status());
        return true;
      });
  RETURN_IF_ERROR(scanned);
  for (PatternCollection& collection : collections) {
    RETURN_IF_ERROR(CountPatterns(database, &collection));
  }
  return collections;
}

absl::Status ErasePatternCollection(Database& database, uint32_t number) {
  ASSIGN_OR_RETURN(const bool exists,
                   database.Contains(ColumnFamily::kDefault, patterns::CollectionKey(number)));
  if (!exists) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the store has no collection {}; `ruvd store status` lists its collections",
                 number);
  }
  // This comes first: if the process is killed later, followers must already know that they have to
  // list everything again.
  RETURN_IF_ERROR(BeginStoreIncarnation(database));
  const absl::Status erased = database.Erase(KeyScope::Collection(number));
  if (!absl::IsNotFound(erased)) {  // otherwise no value was ever sealed in its scope
    RETURN_IF_ERROR(erased);
  }
  return DeleteRows(database, number);
}

}  // namespace ruvd::storage
