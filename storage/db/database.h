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
#include "storage/db/backup.h"
#include "storage/db/column_family.h"
#include "storage/db/disk_reserve.h"
#include "storage/db/key_scope.h"
#include "storage/db/store_check.h"
#include "storage/limits.h"

namespace rocksdb {
class FileSystem;
}  // namespace rocksdb

namespace ruvd::storage {

// The layout of keys and plaintexts that this program reads and writes.
inline constexpr uint32_t kSchemaVersion = 1;

struct DatabaseOptions {
  std::string path;  // a folder, created with mode 0700 if it is missing
  privacy::SealKey seal_key;
  // The key that an interrupted key change may have put into use. It is tried when seal_key does
  // not open the store (see SealKeySource).
  std::optional<privacy::SealKey> next_seal_key = std::nullopt;
  const Clock* clock = &SystemClock();  // must outlive the database
  // Below the soft reserve bulk data is refused, below the hard reserve every write that does not
  // only delete (see Batch::MarkFreesSpace).
  uint64_t soft_reserve_bytes = limits::kSoftReserveBytes;
  uint64_t hard_reserve_bytes = limits::kHardReserveBytes;
  FreeBytesProbe free_bytes = FreeBytesOfFileSystem;
  // If set, the first open binds the store to this model, and later ones must name the same model.
  std::optional<Digest> model_hash = std::nullopt;
  // A memtable is flushed at this size; tests use a smaller one.
  size_t memtable_bytes = limits::kMemtableBytes;
  // Users get no new key when the store has this many keys; tests use a smaller limit.
  size_t max_user_keys = limits::kMaxDataKeys - limits::kReservedDataKeys;
  // The file system; null means that of the operating system. Tests cut its power and fill it.
  std::shared_ptr<rocksdb::FileSystem> file_system = nullptr;
};

// The failure that a write survives once it is acknowledged.
enum class Durability : uint8_t {
  kProcessCrash,  // kill -9: the operating system has the bytes
  kPowerLoss,     // a power cut: the bytes are fsynced
};

enum class StoreHealth : uint8_t {
  kOk,
  kRecoveredWithLoss,  // works, but the log was cut: see Database::recovery
  kPatternsStopped,    // below the soft reserve: bulk data is refused
  kReadOnly,           // below the hard reserve: writes are refused
  kFailed,             // RocksDB failed; reads continue, and only reopening allows writes again
};

// Returns "ok", "recovered_with_loss", "patterns_stopped", "read_only" or "failed".
std::string_view HealthName(StoreHealth health);

// What opening found, compared with the high-water mark beside the log. The mark is exact after a
// kill and after a proper close, and at most limits::kHighWaterSyncInterval old after a power cut.
struct RecoveryReport {
  uint64_t acknowledged = 0;  // the last change known to be fsynced
  uint64_t recovered = 0;     // the last change that is in the store
  bool mark_damaged = false;  // the mark could not be read, so a loss cannot be excluded
  bool closed = false;        // the store was closed properly, so the mark is exact
  // The last loss that an open of this store found, this open included. With 0 changes the mark was
  // damaged.
  struct Loss {
    int64_t at_ms = 0;
    uint64_t changes = 0;
  };
  std::optional<Loss> last_loss;
  // False when a full disk kept the loss from being noted in the store: the next open finds it
  // again.
  bool remembered = true;
  // Returns how many changes were acknowledged and fsynced but are gone, because the log was
  // damaged or cut.
  uint64_t missing() const { return acknowledged > recovered ? acknowledged - recovered : 0; }
  bool loss() const { return missing() > 0 || mark_damaged; }
};

// The row of the family `default` with the number of the store's life (counters/store_life.h). An
// open that finds a loss removes the row, because numbers of changes will be given again.
inline constexpr char kStoreLifeRow[] = "life";

// A data key, without its secret.
struct DataKeyInfo {
  enum class State : uint8_t { kActive, kRetired, kDestroyed };
  uint64_t id = 0;
  State state = State::kActive;
  std::string scope;  // "family/vec", "user/alice", "collection/0"
  int64_t created_ms = 0;
};

// A set of changes that happen together or not at all. Not thread-safe.
class Batch {
 public:
  // `generation` is authenticated with the value; see Database::Get. `scope` selects the data key
  // that seals the value: that of the column family, or one that can be destroyed separately.
  void Put(ColumnFamily family, std::string_view key, std::string_view plaintext,
           uint32_t generation = 0, const KeyScope& scope = {});
  void Delete(ColumnFamily family, std::string_view key);
  // Deletes the rows with start <= key < end that exist at this place in the batch; start < end.
  // One such change is cheap to write, however many rows it hides, so use it for whole days rather
  // than for single rows.
  void DeleteRange(ColumnFamily family, std::string_view start, std::string_view end);
  bool empty() const { return changes_.empty(); }
  // States that the batch removes more than it adds, or begins such a removal. It is then written
  // even below the soft disk reserve, whatever families its rows are in, and below the hard one too
  // if it only deletes.
  void MarkFreesSpace() { frees_space_ = true; }

 private:
  friend class Database;
  struct Change {
    ColumnFamily family;
    std::string key;
    std::optional<std::string> plaintext;  // nothing: delete
    uint32_t generation;
    KeyScope scope;
    std::string range_end;  // the end of a range to delete; empty: a single row
  };
  std::vector<Change> changes_;
  bool frees_space_ = false;
};

// A row as a scan shows it. The views are valid until the callback returns.
struct RowView {
  std::string_view key;
  std::string_view value;
  uint32_t generation = 0;
};

// The node's RocksDB with column families, sealed values, schema version, disk reserve and health.
// It is the only source of truth; everything in memory can be rebuilt from it. All methods except
// Close and the destructor are thread-safe. After a failed write or a background error the store
// stays readable and refuses writes. RocksDB's own Resume is never called, because it may report
// success and lose writes, or abort; the store has to be opened again.
class Database {
 public:
  // Returns STORE_LOCKED when another process has the store open, SCHEMA_TOO_OLD or
  // SCHEMA_TOO_NEW when a program of another schema wrote it, SEAL_BROKEN for a wrong seal key,
  // STORE_FOR_OTHER_MODEL, STORE_CORRUPT or FILE_UNWRITABLE.
  static absl::StatusOr<std::unique_ptr<Database>> Open(DatabaseOptions options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Applies all changes of the batch or none. Returns DISK_FULL for bulk data below the soft
  // reserve and after a real ENOSPC; STORE_READ_ONLY below the hard reserve and after any other
  // failure; LIMIT_EXCEEDED for sizes above storage/limits.h.
  absl::Status Write(Batch batch, Durability durability);
  // Returns whether `bytes` of data that is not bulk have room now: for values of several batches,
  // whose first ones would take the last space in vain. Returns STORE_READ_ONLY below the hard
  // reserve, DISK_FULL if the bytes would lead below it, or the failure that ended all writes. It
  // claims nothing, so a later batch may still be refused.
  absl::Status CheckSpace(uint64_t bytes);
  // Makes every change that was acknowledged before the call survive a power cut. Concurrent calls
  // share an fsync. Returns STORE_READ_ONLY or DISK_FULL on failure.
  absl::Status Sync();

  // Returns the value of a row. Returns kNotFound with reason NOT_FOUND when there is no such row,
  // or with reason KEY_DESTROYED when it was erased. With `expected_generation`, a row of another
  // generation is SEAL_BROKEN. Get and the scans return INVALID_ARGUMENT for the family `key`,
  // whose secrets belong to the database itself.
  absl::StatusOr<std::string> Get(ColumnFamily family, std::string_view key,
                                  std::optional<uint32_t> expected_generation = std::nullopt) const;

  // Returns whether there is such a row that was not erased, without opening its value.
  absl::StatusOr<bool> Contains(ColumnFamily family, std::string_view key) const;

  // Shows the rows with start <= key < end (to the last row when `end` is empty) in key order, as
  // they were at one moment, until the callback returns false or an error. Skips erased rows. A row
  // whose value does not open is shown to `broken`; without `broken` it ends the scan with
  // SEAL_BROKEN.
  using RowCallback = std::function<absl::StatusOr<bool>(const RowView& row)>;
  using BrokenCallback = std::function<absl::StatusOr<bool>(std::string_view key)>;
  absl::Status Scan(ColumnFamily family, std::string_view start, std::string_view end,
                    const RowCallback& callback, const BrokenCallback& broken = nullptr) const;

  // Scans like Scan, from the last row to the first.
  absl::Status ScanBackward(ColumnFamily family, std::string_view start, std::string_view end,
                            const RowCallback& callback,
                            const BrokenCallback& broken = nullptr) const;

  // Wraps all data keys with another node key, in one fsynced batch; afterwards only that key opens
  // the store. When it returns OK, no file of the store contains anything that the former key
  // wrapped. If it fails after the batch, the new key is in use and the next open completes the
  // work. SealKeySource handles the key files.
  absl::Status ChangeSealKey(const privacy::SealKey& next);
  // Returns whether `next_seal_key` opened the store because `seal_key` did not.
  bool opened_with_next_key() const;

  std::vector<DataKeyInfo> DataKeys() const;
  // Gives a scope ("family/vec", "user/alice"), or all scopes when the name is empty, a new data
  // key and retires the old one. ResealStep then seals their values anew. Returns NOT_FOUND for a
  // scope that has no key.
  absl::Status RotateDataKeys(std::string_view scope);
  // Seals a bounded batch of values of retired keys anew. Returns false when no such value is left
  // and the retired keys are removed. It continues where it was after a restart. Other calls may
  // run at the same time.
  absl::StatusOr<bool> ResealStep();

  // Destroys the data keys of a scope. From then on its values are unreadable, and reading one
  // returns KEY_DESTROYED. When it returns OK, no file of the store contains the wrapped keys any
  // more; after an interruption, call it again to complete the work. Compact removes the rows.
  // Later values of the scope get a new key. Returns INVALID_ARGUMENT for the default scope, and
  // NOT_FOUND for a scope without a key, for example because it was erased and its rows were
  // removed. Backups keep their own wrapped keys until they are deleted, or until the node key of
  // their time is destroyed.
  // `around` calls its argument, which destroys the keys quickly, and returns its status or another
  // error. It can thereby lock out callers that would write data they read earlier under a new key.
  // It is called when only writes under way are left to wait for, and must not write itself.
  using DestroyKeys = std::function<absl::Status()>;
  absl::Status Erase(const KeyScope& scope,
                     const std::function<absl::Status(const DestroyKeys&)>& around = nullptr);
  // Makes the key of a scope that has none, so that the next write does not wait for the key's
  // fsync. Returns LIMIT_EXCEEDED when there are too many keys (limits::kMaxDataKeys), or an error
  // of Write.
  absl::Status EnsureKey(const KeyScope& scope);
  // Runs a bounded part of a walk over all rows that removes the keys of users without rows (they
  // expired or were evicted). Returns false when there is nothing to do for now. Other calls may
  // run at the same time. After a restart the walk begins anew.
  absl::StatusOr<bool> ReclaimKeysStep();
  // Removes erased rows and rewrites the tables of every family without deleted data. It takes as
  // long as copying the store and as much space as the largest family; without that space it
  // returns DISK_FULL. Other calls may run at the same time.
  absl::Status Compact();

  // Copies the store, as it is at one moment, into `folder`, which must not exist: a RocksDB
  // checkpoint (hard links on the same file system) and a sealed manifest, see backup.h. The store
  // keeps working. Key changes, erasures and Compact wait for the checkpoint, but not for the
  // manifest, for which every file is read. Calls `cancelled` before each file; when it returns
  // true, the folder is removed and the result is CANCELLED. Calls `on_file` with the number of
  // files done and of all before each file. Other errors are FILE_UNWRITABLE, DISK_FULL and read
  // errors.
  absl::StatusOr<BackupManifest> Backup(
      const std::string& folder, const std::function<bool()>& cancelled = nullptr,
      const std::function<void(size_t done, size_t total)>& on_file = nullptr);
  // Reads all rows, opens every seal and makes RocksDB check every block. It reports everything
  // that is wrong instead of stopping at the first problem. See store_check.h for the checks of
  // single stores.
  absl::StatusOr<StoreReport> Verify() const;

  const RecoveryReport& recovery() const;
  // 16 random bytes, made when the store was made. Backups and restored stores have the same ones.
  const std::string& store_id() const;
  StoreHealth Health() const;
  // Returns the error behind kFailed, or OK.
  absl::Status failure() const;
  const std::string& path() const;
  const Clock& clock() const;

  // Writes the memtables to table files and fsyncs them.
  absl::Status Flush();
  // Fsyncs the log and closes the store; the destructor calls it too. No other call may run at the
  // same time or follow.
  absl::Status Close();

  class Impl;  // storage/db/database_impl.h, internal to storage/db

 private:
  enum class Direction : uint8_t { kForward, kBackward };
  absl::Status ScanRows(ColumnFamily family, std::string_view start, std::string_view end,
                        Direction direction, const RowCallback& callback,
                        const BrokenCallback& broken) const;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruvd::storage
