// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/store_status.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/report/v1/report.pb.h"
#include "storage/db/disk_reserve.h"
#include "storage/patterns/pattern_collections.h"

namespace ruvd::cli {
namespace {

std::string_view StateName(storage::DataKeyInfo::State state) {
  switch (state) {
    case storage::DataKeyInfo::State::kActive:
      return "active";
    case storage::DataKeyInfo::State::kRetired:
      return "retired";
    case storage::DataKeyInfo::State::kDestroyed:
      return "destroyed";
  }
  return "destroyed";
}

std::string DescribeLoss(const storage::RecoveryReport& recovery) {
  if (!recovery.last_loss) {
    return "none";
  }
  const storage::RecoveryReport::Loss& loss = *recovery.last_loss;
  const std::string when = fmt::format("found {} UTC", FormatTime(loss.at_ms));
  return loss.changes > 0 ? fmt::format("{} changes, {}", loss.changes, when)
                          : "the high-water mark was damaged, " + when;
}

void WriteCollections(const std::vector<storage::PatternCollection>& collections,
                      report::v1::StoreReport* report) {
  for (const storage::PatternCollection& collection : collections) {
    report::v1::StoreReport::Collection& message = *report->add_collections();
    message.set_collection(collection.number);
    message.set_model_package(ToHex(collection.model_hash));
    message.set_dimension(collection.dimension);
    SetTime(collection.created_ms, [&] { return message.mutable_create_time(); });
    message.set_patterns(collection.patterns);
    message.set_damaged(collection.damaged);
  }
}

void PrintCollections(CommandContext& context,
                      const std::vector<storage::PatternCollection>& collections) {
  std::vector<std::vector<std::string>> rows;
  for (const storage::PatternCollection& collection : collections) {
    rows.push_back({std::to_string(collection.number),
                    collection.damaged ? "unreadable" : ToHex(collection.model_hash),
                    std::to_string(collection.dimension), std::to_string(collection.patterns)});
  }
  if (!rows.empty()) {
    context.out << "\n" << FormatTable({"COLLECTION", "MODEL PACKAGE", "VALUES", "PATTERNS"}, rows);
  }
}

void WriteKeys(const storage::Database& database, report::v1::StoreReport* report) {
  for (const storage::DataKeyInfo& key : database.DataKeys()) {
    report::v1::StoreReport::DataKey& message = *report->add_data_keys();
    message.set_id(key.id);
    message.set_scope(key.scope);
    message.set_state(std::string(StateName(key.state)));
    SetTime(key.created_ms, [&] { return message.mutable_create_time(); });
  }
}

void PrintKeys(CommandContext& context, const storage::Database& database) {
  std::vector<std::vector<std::string>> rows;
  for (const storage::DataKeyInfo& key : database.DataKeys()) {
    rows.push_back({std::to_string(key.id), key.scope, std::string(StateName(key.state))});
  }
  context.out << "\n" << FormatTable({"DATA KEY", "SCOPE", "STATE"}, rows);
}

}  // namespace

absl::Status PrintStoreStatus(CommandContext& context, const storage::Database& database) {
  const storage::RecoveryReport& recovery = database.recovery();
  // The status is shown even if the collections cannot be read.
  const absl::StatusOr<std::vector<storage::PatternCollection>> collections =
      ListPatternCollections(database);
  ASSIGN_OR_RETURN(const uint64_t free, storage::FreeBytesOfFileSystem(database.path()));
  const uint64_t bytes = BytesOfFolder(database.path());
  const std::string health(storage::HealthName(database.Health()));
  if (context.json) {
    report::v1::StoreReport report;
    report.set_path(database.path());
    report.set_schema(storage::kSchemaVersion);
    report.set_health(health);
    report.set_bytes(bytes);
    report.set_free_bytes(free);
    report.set_missing_changes(recovery.missing());
    report.set_mark_damaged(recovery.mark_damaged);
    report.set_closed(recovery.closed);
    if (recovery.last_loss) {
      SetTime(recovery.last_loss->at_ms,
              [&] { return report.mutable_last_loss()->mutable_time(); });
      report.mutable_last_loss()->set_changes(recovery.last_loss->changes);
    }
    if (collections.ok()) {
      WriteCollections(*collections, &report);
    } else {
      report.set_collections_problem(MessageOf(collections.status()));
    }
    WriteKeys(database, &report);
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields({{"path", database.path()},
                               {"schema", std::to_string(storage::kSchemaVersion)},
                               {"health", health},
                               {"bytes", std::to_string(bytes)},
                               {"free bytes", std::to_string(free)},
                               {"missing changes", std::to_string(recovery.missing())},
                               {"last loss", DescribeLoss(recovery)},
                               {"was closed", recovery.closed ? "yes" : "no"}});
  if (collections.ok()) {
    PrintCollections(context, *collections);
  } else {
    context.out << "\ncollections cannot be read: " << MessageOf(collections.status()) << "\n";
  }
  PrintKeys(context, database);
  return absl::OkStatus();
}

uint64_t BytesOfFolder(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    std::error_code unreadable;
    const uint64_t size = entries->file_size(unreadable);
    bytes += unreadable ? 0 : size;
  }
  return bytes;
}

}  // namespace ruvd::cli
