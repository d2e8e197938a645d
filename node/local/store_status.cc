// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/store_status.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "storage/db/disk_reserve.h"
#include "storage/patterns/pattern_collections.h"

namespace ruvd::cli {
namespace {

using nlohmann::json;

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

json LossOf(const storage::RecoveryReport& recovery) {
  return recovery.last_loss
             ? json{{"at_ms", recovery.last_loss->at_ms}, {"changes", recovery.last_loss->changes}}
             : json(nullptr);
}

std::string DescribeLoss(const storage::RecoveryReport& recovery) {
  if (!recovery.last_loss) {
    return "none";
  }
  const storage::RecoveryReport::Loss& loss = *recovery.last_loss;
  const std::string when = fmt::format("found {:%Y-%m-%d %H:%M:%S} UTC",
                                       fmt::gmtime(static_cast<std::time_t>(loss.at_ms / 1000)));
  return loss.changes > 0 ? fmt::format("{} changes, {}", loss.changes, when)
                          : "the high-water mark was damaged, " + when;
}

json CollectionsJson(const absl::StatusOr<std::vector<storage::PatternCollection>>& collections) {
  if (!collections.ok()) {
    return {{"error", MessageOf(collections.status())}};
  }
  json list = json::array();
  for (const storage::PatternCollection& collection : *collections) {
    list.push_back({{"collection", collection.number},
                    {"model_package", ToHex(collection.model_hash)},
                    {"dimension", collection.dimension},
                    {"created_ms", collection.created_ms},
                    {"patterns", collection.patterns},
                    {"damaged", collection.damaged}});
  }
  return list;
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

json KeysJson(const storage::Database& database) {
  json keys = json::array();
  for (const storage::DataKeyInfo& key : database.DataKeys()) {
    keys.push_back({{"id", key.id},
                    {"scope", key.scope},
                    {"state", StateName(key.state)},
                    {"created_ms", key.created_ms}});
  }
  return keys;
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
    context.out << ToJsonLine(json{{"path", database.path()},
                                   {"schema", storage::kSchemaVersion},
                                   {"health", health},
                                   {"bytes", bytes},
                                   {"free_bytes", free},
                                   {"missing_changes", recovery.missing()},
                                   {"mark_damaged", recovery.mark_damaged},
                                   {"closed", recovery.closed},
                                   {"last_loss", LossOf(recovery)},
                                   {"collections", CollectionsJson(collections)},
                                   {"data_keys", KeysJson(database)}});
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
