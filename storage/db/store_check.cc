// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/store_check.h"

#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "storage/db/database_impl.h"
#include "storage/reasons.h"

namespace ruvd::storage {
namespace {

std::string Describe(ColumnFamily family, std::string_view key, const absl::Status& status) {
  return fmt::format("{} {}: {} [{}]", InfoOf(family).name, ToHex(AsBytes(key)), MessageOf(status),
                     ReasonOf(status));
}

}  // namespace

absl::StatusOr<StoreReport> Database::Impl::Verify() const {
  StoreReport report;
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    StoreReport::Family& family = report.families.emplace_back();
    family.name = info.name;
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    const KeyRing::View keys = ring_.Hold();
    std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator(read, handle(info.family)));
    for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
      const std::string_view key = ViewOf(rows->key());
      ++family.rows;
      family.bytes += rows->key().size() + rows->value().size();
      if (info.family == ColumnFamily::kDefault && key == kFormatRow) {
        continue;  // it is not encrypted and was read at open
      }
      auto value = Decode(info.family, key, ViewOf(rows->value()), std::nullopt, keys);
      if (info.family == ColumnFamily::kKey && value.ok()) {
        privacy::SecureWipe(
            {reinterpret_cast<uint8_t*>(value->plaintext.data()), value->plaintext.size()});
      }
      if (!value.ok() && ReasonOf(value.status()) == reasons::kKeyDestroyed) {
        ++family.erased;
      } else if (!value.ok()) {
        ++family.broken;
        report.AddProblem(Describe(info.family, key, value.status()));
      }
    }
    if (!rows->status().ok()) {
      report.AddProblem(fmt::format("{}: {}", info.name, rows->status().ToString()));
    }
  }
  if (const rocksdb::Status status = db_->VerifyChecksum(); !status.ok()) {
    report.AddProblem("tables: " + status.ToString());
  }
  if (recovery_.loss()) {
    report.AddProblem(recovery_.mark_damaged
                          ? "the high-water mark is damaged, so a loss cannot be excluded"
                          : fmt::format("{} acknowledged changes are missing: the log was cut",
                                        recovery_.missing()));
  }
  return report;
}

}  // namespace ruvd::storage
