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

// The layout of keys and plaintexts that this program writes, and the oldest one whose programs may
// still read and write such a store.
// 1: values sealed by the node's key. 2: values sealed by data keys, which the node's key wraps.
inline constexpr uint32_t kSchemaVersion = 2;
inline constexpr uint32_t kSchemaMinReader = 2;

struct DatabaseOptions {
  std::string path;  // a folder, created with mode 0700 where missing
  privacy::SealKey seal_key;
  // A key that an interrupted rotation may have put in force; tried where seal_key does not open
  // the store (see SealKeySource).
  std::optional<privacy::SealKey> next_seal_key = std::nullopt;
  const Clock* clock = &SystemClock();  // outlives the database
  // Below the soft reserve bulk data is refused, below the hard one every write.
  uint64_t soft_reserve_bytes = limits::kSoftReserveBytes;
  uint64_t hard_reserve_bytes = limits::kHardReserveBytes;
  FreeBytesProbe free_bytes = FreeBytesOfFileSystem;
  // Where set, the first open binds the store to this model and later ones must name the same.
  std::optional<Digest> model_hash = std::nullopt;
  // Flushed at this size; tests flush earlier.
  size_t memtable_bytes = limits::kMemtableBytes;
  // Users get no new key where the store has so many; tests have fewer.
  size_t max_user_keys = limits::kMaxDataKeys - limits::kReservedDataKeys;
  // The disk; null is the operating system's. Tests cut its power and fill it.
  std::shared_ptr<rocksdb::FileSystem> file_system = nullptr;
};

// What a write survives once it is acknowledged.
enum class Durability : uint8_t {
  kProcessCrash,  // kill -9: the bytes are with the operating system
  kPowerLoss,     // fsynced
};

enum class StoreHealth : uint8_t {
  kOk,
  kRecoveredWithLoss,  // works, but the log was cut: see Database::recovery
  kPatternsStopped,    // below the soft reserve: bulk data is refused
  kReadOnly,           // below the hard reserve: every write is refused
  kFailed,             // RocksDB failed; reads go on, only reopening makes it writable again
};

// "ok", "recovered_with_loss", "patterns_stopped", "read_only" or "failed".
std::string_view HealthName(StoreHealth health);

// What opening found, compared with the high-water mark beside the log, which is exact after a kill
// and a proper close and at most limits::kHighWaterSyncInterval behind after a power cut.
struct RecoveryReport {
  uint64_t acknowledged = 0;  // the last change known to have been fsynced
  uint64_t recovered = 0;     // the last change that is there
  bool mark_damaged = false;  // the mark could not be read, so that a loss cannot be excluded
  bool closed = false;        // the store had been closed, so that the mark is exact
  // The last loss that an open of this store found, this one included; 0 changes: a damaged mark.
  struct Loss {
    int64_t at_ms = 0;
    uint64_t changes = 0;
  };
  std::optional<Loss> last_loss;
  // False where a full disk kept a loss from being noted in the store: the next open finds it
  // again.
  bool remembered = true;
  // Changes of rows that were acknowledged and fsynced and are gone: the log was damaged or cut.
  uint64_t missing() const { return acknowledged > recovered ? acknowledged - recovered : 0; }
  bool loss() const { return missing() > 0 || mark_damaged; }
};

// The row of the family `default` with the number of the store's life (counters/store_life.h). An
// open that finds a loss removes it: numbers of changes will be given again.
inline constexpr char kStoreLifeRow[] = "life";

// A data key, without its secret.
struct DataKeyInfo {
  enum class State : uint8_t { kActive, kRetired, kDestroyed };
  uint64_t id = 0;
  State state = State::kActive;
  std::string scope;  // "family/vec", "user/alice", "collection/0"
  int64_t created_ms = 0;
};

// Changes that happen together or not at all. Not thread-safe.
class Batch {
 public:
  // `generation` is authenticated with the value; see Database::Get. `scope` names the data key
  // that seals it: the family's own, or one that can be destroyed apart from it.
  void Put(ColumnFamily family, std::string_view key, std::string_view plaintext,
           uint32_t generation = 0, const KeyScope& scope = {});
  void Delete(ColumnFamily family, std::string_view key);
  // Deletes the rows with start <= key < end as of this place in the batch; start < end. One such
  // change is cheap to write however many rows it hides, so it suits whole days, not single rows.
  void DeleteRange(ColumnFamily family, std::string_view start, std::string_view end);
  bool empty() const { return changes_.empty(); }
  // Says that the batch removes more than it adds, or begins such a removal: it is written below
  // the soft disk reserve, too, whatever family its few new rows are in.
  void MarkFreesSpace() { frees_space_ = true; }

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
  bool frees_space_ = false;
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
  // Makes every change that was acknowledged before survive a power cut; calls at the same time
  // share an fsync. STORE_READ_ONLY, DISK_FULL.
  absl::Status Sync();

  // Here and in scans: INVALID_ARGUMENT for the family `key`, whose secrets are the store's own.
  // kNotFound with reason NOT_FOUND where there is no such row, or KEY_DESTROYED where it was
  // erased. With `expected_generation` a row of another generation is SEAL_BROKEN.
  absl::StatusOr<std::string> Get(ColumnFamily family, std::string_view key,
                                  std::optional<uint32_t> expected_generation = std::nullopt) const;

  // Whether there is such a row that was not erased; does not open its value.
  absl::StatusOr<bool> Contains(ColumnFamily family, std::string_view key) const;

  // Shows the rows with start <= key < end (to the last one where `end` is empty) in key order, as
  // of one moment, until the callback returns false or an error. Passes over erased rows. A row
  // whose value does not open ends the scan with SEAL_BROKEN, or is shown to `broken`.
  using RowCallback = std::function<absl::StatusOr<bool>(const RowView& row)>;
  using BrokenCallback = std::function<absl::StatusOr<bool>(std::string_view key)>;
  absl::Status Scan(ColumnFamily family, std::string_view start, std::string_view end,
                    const RowCallback& callback, const BrokenCallback& broken = nullptr) const;

  // The same rows from the last one to the first.
  absl::Status ScanBackward(ColumnFamily family, std::string_view start, std::string_view end,
                            const RowCallback& callback,
                            const BrokenCallback& broken = nullptr) const;

  // The greatest key of a family, nullopt where it is empty.
  absl::StatusOr<std::optional<std::string>> LastKey(ColumnFamily family) const;

  // Wraps all data keys with another node key, in one fsynced batch: afterwards only that one opens
  // the store. When it returns, what the former one wrapped is in none of the store's files; where
  // it fails after the batch, the change is in force and the next open does the rest.
  // SealKeySource has the files' side of it.
  absl::Status ChangeSealKey(const privacy::SealKey& next);
  // Whether `next_seal_key` opened the store and `seal_key` did not.
  bool opened_with_next_key() const;

  std::vector<DataKeyInfo> DataKeys() const;
  // Gives a scope ("family/vec", "user/alice") a new data key, or all scopes where the name is
  // empty, and retires the old ones. Their values are sealed anew by ResealStep. NOT_FOUND for a
  // scope that has no key.
  absl::Status RotateDataKeys(std::string_view scope);
  // Seals a bounded batch of values of retired keys anew; false once there are none, and their keys
  // are gone. Goes on where it was after a restart. Other calls may run meanwhile.
  absl::StatusOr<bool> ResealStep();

  // Destroys the scope's data keys: its values are unreadable from then on, reading one gives
  // KEY_DESTROYED. When it returns, the wrapped keys are in none of the store's files any more;
  // interrupted, it is done when called again. Compact removes the rows. Later values of the scope
  // get a new key. INVALID_ARGUMENT for the default scope, NOT_FOUND for one that has no key, for
  // example because it was erased and its rows removed. Backups keep their own wrapped keys:
  // they age out, or are worthless once the node key of their time is destroyed.
  // `around` calls what it is given, which destroys the keys in a moment, and returns its status or
  // another: it locks out whoever would write what was read before with a new key. It is called
  // once nothing has to be waited for but writes under way, and must not write itself.
  using DestroyKeys = std::function<absl::Status()>;
  absl::Status Erase(const KeyScope& scope,
                     const std::function<absl::Status(const DestroyKeys&)>& around = nullptr);
  // Makes the key of a scope that has none, so that the next write in it does not wait for its
  // fsync. LIMIT_EXCEEDED where there are too many keys (limits::kMaxDataKeys), the errors of
  // Write.
  absl::Status EnsureKey(const KeyScope& scope);
  // A bounded part of a walk over all rows that finds keys of users without any, because these
  // expired or gave way, and removes the keys; false where there is nothing to do for now. Other
  // calls may run meanwhile. After a restart it begins anew.
  absl::StatusOr<bool> ReclaimKeysStep();
  // Removes erased rows and rewrites the tables of every family without what was deleted. Takes as
  // long as copying the store, and as much space as its largest family (DISK_FULL where that is not
  // there); other calls may run meanwhile.
  absl::Status Compact();

  // Copies the store as of one moment into `folder`, which must not exist, while it goes on:
  // RocksDB checkpoint (hard links on the same file system) and a sealed manifest, see backup.h.
  // Changes of keys, erasures and Compact wait for the checkpoint, not for the manifest, for which
  // every file is read. Asks `cancelled` between two files, and leaves no folder then: CANCELLED.
  // FILE_UNWRITABLE, DISK_FULL and the errors of reading.
  absl::StatusOr<BackupManifest> Backup(const std::string& folder,
                                        const std::function<bool()>& cancelled = nullptr);
  // Walks all rows, opens every seal and lets RocksDB check every block; finds everything that is
  // wrong instead of stopping at the first. See store_check.h for the checks of single stores.
  absl::StatusOr<StoreReport> Verify() const;

  const RecoveryReport& recovery() const;
  // 16 random bytes, made with the store; backups and restored stores have the same.
  const std::string& store_id() const;
  StoreHealth Health() const;
  // The error behind kFailed, else OK.
  absl::Status failure() const;
  const std::string& path() const;
  const Clock& clock() const;

  // Writes memtables to table files and fsyncs them.
  absl::Status Flush();
  // Fsyncs the log and closes; called by the destructor too. No other call may run or follow.
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
