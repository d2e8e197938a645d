// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "privacy/seal/seal.h"
#include "storage/db/column_family.h"
#include "storage/db/disk_reserve.h"
#include "storage/db/key_scope.h"
#include "storage/limits.h"

namespace ruvd {

// The layout of keys and plaintexts that this program writes, and the oldest one whose programs may
// still read and write such a store.
inline constexpr uint32_t kSchemaVersion = 1;
inline constexpr uint32_t kSchemaMinReader = 1;

struct DatabaseOptions {
  std::string path;  // a folder, created with mode 0700 where missing
  SealKey seal_key;
  const Clock* clock = &SystemClock();  // outlives the database
  // Below the soft reserve bulk data is refused, below the hard one every write.
  uint64_t soft_reserve_bytes = limits::kSoftReserveBytes;
  uint64_t hard_reserve_bytes = limits::kHardReserveBytes;
  FreeBytesProbe free_bytes = FreeBytesOfFileSystem;
  // Where set, the first open binds the store to this model and later ones must name the same.
  std::optional<Digest> model_hash;
};

// What a write survives once it is acknowledged.
enum class Durability : uint8_t {
  kProcessCrash,  // kill -9: the bytes are with the operating system
  kPowerLoss,     // fsynced
};

enum class StoreHealth : uint8_t {
  kOk,
  kPatternsStopped,  // below the soft reserve: bulk data is refused
  kReadOnly,         // below the hard reserve: every write is refused
  kFailed,           // RocksDB failed; reads go on, only reopening makes it writable again
};

// "ok", "patterns_stopped", "read_only" or "failed".
std::string_view HealthName(StoreHealth health);

// Changes that happen together or not at all. Not thread-safe.
class Batch {
 public:
  // `generation` is authenticated with the value; see Database::Get. `scope` names the data key that
  // seals it: the family's own, or one that can be destroyed apart from it.
  void Put(ColumnFamily family, std::string_view key, std::string_view plaintext,
           uint32_t generation = 0, const KeyScope& scope = {});
  void Delete(ColumnFamily family, std::string_view key);
  // Deletes the rows with start <= key < end as of this place in the batch; start < end. One such
  // change is cheap to write however many rows it hides, so it suits whole days, not single rows.
  void DeleteRange(ColumnFamily family, std::string_view start, std::string_view end);
  bool empty() const { return changes_.empty(); }

 private:
  friend class Database;
  struct Change {
    ColumnFamily family;
    std::string key;
    std::optional<std::string> plaintext;  // none: delete
    uint32_t generation;
    KeyScope scope;
    std::string range_end;  // of a range to delete; empty: a single row
  };
  std::vector<Change> changes_;
};

// A row as a scan shows it; the views live until the callback returns.
struct RowView {
  std::string_view key;
  std::string_view value;
  uint32_t generation = 0;
};

// The node's RocksDB: column families, sealed values, schema version, disk reserve, health. The
// only truth of the node; everything else in memory can be rebuilt from it. All methods but Close
// and the destructor are thread-safe. After a failed write or background error the store stays
// readable and refuses writes: RocksDB's own Resume is never called (it may report success and lose
// writes, or abort), the way back is to open the store anew.
class Database {
 public:
  // STORE_LOCKED where another process has it open, SCHEMA_TOO_NEW where a newer program wrote it,
  // SEAL_BROKEN for another seal key, STORE_FOR_OTHER_MODEL, STORE_CORRUPT, FILE_UNWRITABLE.
  static absl::StatusOr<std::unique_ptr<Database>> Open(DatabaseOptions options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Applies all changes of the batch or none. DISK_FULL (bulk data below the soft reserve; after a
  // real ENOSPC), STORE_READ_ONLY (below the hard reserve; after another failure), LIMIT_EXCEEDED
  // (storage/limits.h).
  absl::Status Write(Batch batch, Durability durability);

  // kNotFound with reason NOT_FOUND where there is no such row. With `expected_generation` a row of
  // another generation is SEAL_BROKEN.
  absl::StatusOr<std::string> Get(ColumnFamily family, std::string_view key,
                                  std::optional<uint32_t> expected_generation = std::nullopt) const;

  // Whether there is such a row; does not open its value.
  absl::StatusOr<bool> Contains(ColumnFamily family, std::string_view key) const;

  // Shows the rows with start <= key < end (to the last one where `end` is empty) in key order, as
  // of one moment, until the callback returns false or an error.
  using RowCallback = std::function<absl::StatusOr<bool>(const RowView& row)>;
  absl::Status Scan(ColumnFamily family, std::string_view start, std::string_view end,
                    const RowCallback& callback) const;

  // The same rows from the last one to the first.
  absl::Status ScanBackward(ColumnFamily family, std::string_view start, std::string_view end,
                            const RowCallback& callback) const;

  // The greatest key of a family, nullopt where it is empty.
  absl::StatusOr<std::optional<std::string>> LastKey(ColumnFamily family) const;

  StoreHealth Health() const;
  // The error behind kFailed, else OK.
  absl::Status failure() const;
  const std::string& path() const;
  const Clock& clock() const;

  // Writes memtables to table files and fsyncs them.
  absl::Status Flush();
  // Fsyncs the log and closes; called by the destructor too. No other call may run or follow.
  absl::Status Close();

 private:
  class Impl;
  enum class Direction : uint8_t { kForward, kBackward };
  absl::Status ScanRows(ColumnFamily family, std::string_view start, std::string_view end,
                        Direction direction, const RowCallback& callback) const;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruvd
