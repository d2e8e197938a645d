// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/migrations.h"

#include <array>

#include "base/status.h"
#include "storage/db/database_impl.h"

namespace ruvd::storage {
namespace {

// Schema 2: the data key of its family, not the node's key, seals each value.
RowSweep::Judge SealByDataKeys(Database::Impl& impl) {
  return [&impl](ColumnFamily family, std::string_view key,
                 std::string_view stored) -> absl::StatusOr<RowSweep::Verdict> {
    const auto header = DecodeStoredHeader(family, key, stored);
    if (!header.ok() || header->format != kNodeSealedFormat) {
      return RowSweep::Verdict{};
    }
    const auto value = impl.Decode(family, key, stored, std::nullopt);
    if (!value.ok()) {
      // it was damaged before and stays so; reading it reports the damage
      return RowSweep::Verdict{};
    }
    ASSIGN_OR_RETURN(const KeyRing::Held data_key,
                     impl.ActiveOrNewKey(ScopeName({}, InfoOf(family).name)));
    return RowSweep::Verdict{.action = RowSweep::Action::kReplace,
                             .stored = EncodeStoredValue(data_key, family, key, header->schema,
                                                         header->generation, value->plaintext)};
  };
}

constexpr std::array kMigrations = {
    Migration{.to = 2, .sweep_name = "migrate-2", .make_judge = SealByDataKeys}};
static_assert(kMigrations.back().to == kSchemaVersion);

}  // namespace

std::span<const Migration> Migrations() {
  return kMigrations;
}

}  // namespace ruvd::storage
