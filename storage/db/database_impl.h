// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/db/high_water.h"
#include "storage/db/key_ring.h"
#include "storage/db/rocks_options.h"
#include "storage/db/row_sweep.h"
#include "storage/db/store_folder.h"
#include "storage/db/stored_value.h"
#include "storage/db/sync_group.h"
#include "storage/fair_shared_mutex.h"

namespace ruvd::storage {

inline rocksdb::Slice SliceOf(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view ViewOf(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// The state and the work behind the public methods of Database: the RocksDB instance, its handles,
// the data keys, the checks at open and the admission of writes.
class Database::Impl {
 public:
  // One change of a row, before it is sealed.
  using Changes = std::vector<Batch::Change>;

  static absl::StatusOr<std::unique_ptr<Impl>> Open(DatabaseOptions options);
  ~Impl();

  // Checks limits and reserve, seals and writes. With `frees_space` it ignores the soft reserve,
  // and the hard one too if all changes are deletions.
  absl::Status Write(const Changes& changes, bool frees_space, Durability durability);
  absl::Status CheckSpace(uint64_t bytes);
  absl::Status Sync() { return sync_.Sync(); }
  // `keys` must have been taken before the value was read from RocksDB.
  absl::StatusOr<OpenedValue> Decode(ColumnFamily family, std::string_view key,
                                     std::string_view stored,
                                     std::optional<uint32_t> expected_generation,
                                     const KeyRing::View& keys) const;
  // The caller must hold the gate, so that no key is removed meanwhile.
  absl::StatusOr<OpenedValue> Decode(ColumnFamily family, std::string_view key,
                                     std::string_view stored,
                                     std::optional<uint32_t> expected_generation) const {
    return Decode(family, key, stored, expected_generation, ring_.Hold());
  }
  // Returns whether a stored value was erased; false when its header is damaged.
  static bool IsErased(ColumnFamily family, std::string_view key, std::string_view stored,
                       const KeyRing::View& keys);

  // See Database for the methods below.
  absl::Status ChangeSealKey(const privacy::SealKey& next);
  absl::Status RotateDataKeys(std::string_view scope);
  absl::StatusOr<bool> ResealStep();
  using Around = std::function<absl::Status(const DestroyKeys&)>;
  absl::Status Erase(std::string_view scope, const Around& around);
  absl::Status EnsureKey(const std::string& scope);
  absl::StatusOr<bool> ReclaimKeysStep();
  absl::Status Compact();
  absl::StatusOr<BackupManifest> Backup(const std::string& folder,
                                        const std::function<bool()>& cancelled,
                                        const std::function<void(size_t, size_t)>& on_file);
  absl::StatusOr<StoreReport> Verify() const;

  // ActiveKey returns the key that seals new values of a scope, or nullopt when the scope has no
  // key; ActiveOrNewKey makes the key then. A caller that seals with it must hold the gate.
  std::optional<KeyRing::Held> ActiveKey(const std::string& scope);
  absl::StatusOr<KeyRing::Held> ActiveOrNewKey(const std::string& scope);
  // Runs one bounded batch of a sweep over all rows; returns false at the end. See row_sweep.h.
  absl::StatusOr<bool> SweepStep(const RowSweep& sweep);

  absl::Status Flush();
  absl::Status Close();

  StoreHealth Health();
  absl::Status failure() const { return latch_->status(); }
  rocksdb::DB& db() const { return *db_; }
  rocksdb::ColumnFamilyHandle* handle(ColumnFamily family) const {
    return handles_[static_cast<size_t>(family)];
  }
  const KeyRing& ring() const { return ring_; }
  const DatabaseOptions& options() const { return options_; }
  const RecoveryReport& recovery() const { return recovery_; }
  bool opened_with_next_key() const { return opened_with_next_key_; }
  // 16 random bytes that never change.
  const std::string& store_id() const { return store_id_; }
  privacy::SealKey node_key() const;

 private:
  explicit Impl(DatabaseOptions options);

  // These steps of opening run in this order (database_open.cc).
  absl::Status OpenRocks();
  absl::Status CheckSchema();
  absl::Status WriteSchemaOfNewStore();
  absl::Status CheckSealKey();
  absl::Status LoadKeys();
  // Returns an error when a row that the first open of a store writes must not be missing.
  absl::Status CheckMayBegin(std::string_view row) const;
  absl::Status CheckHighWater();
  absl::Status ReadLastLoss();
  absl::Status SettleMark();
  absl::Status CheckModel();
  absl::StatusOr<std::optional<std::string>> GetRaw(ColumnFamily family,
                                                    std::string_view key) const;

  // A walk that looks for keys that seal nothing any more (key_reclaim.cc): its place, and the keys
  // for which it has found no use so far.
  struct Reclaim {
    size_t family = 0;
    std::string key;
    std::set<uint64_t> unused;
    bool finished() const { return family >= kColumnFamilies.size() || unused.empty(); }
  };
  void RecordKeyUse(uint64_t key_id);
  absl::StatusOr<bool> BeginReclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status CountUses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status EndReclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  void GiveUpReclaim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);

  // These methods write (database_impl.cc).
  absl::Status CheckNotFailed() const;
  // Checks that there is room for a write. Hold the claim until the write is done.
  absl::StatusOr<SpaceClaim> Admit(uint64_t bytes, bool bulk);
  // Returns the error that the store is below its hard reserve.
  absl::Status BelowHardReserve() const;
  absl::Status Commit(rocksdb::WriteBatch* batch);
  absl::Status CommitAndSync(rocksdb::WriteBatch* batch);
  absl::Status SyncLog(bool clean);
  absl::Status WriteMark(uint64_t sequence, bool clean);
  absl::Status Seal(const Changes& changes, rocksdb::WriteBatch* batch);
  absl::StatusOr<KeyRing::Held> KeyOf(const Batch::Change& change);

  // These methods change keys (key_changes.cc).
  absl::Status PutKeyRow(uint64_t id, const KeyRecord& record, rocksdb::WriteBatch* batch) const;
  absl::Status WriteKeyRows(const std::vector<std::pair<uint64_t, KeyRecord>>& rows)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status RemoveKeyRows(const std::vector<std::pair<uint64_t, KeyRecord>>& rows)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  // The caller holds the gate.
  absl::Status RemoveKeyRowsLocked(const std::vector<std::pair<uint64_t, KeyRecord>>& rows)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status Destroy(std::string_view scope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status WrapKeysWith(const privacy::SealKey& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  // Adds a note that the data which a batch removes or replaces must leave the files, even after a
  // crash.
  absl::Status PutForgetRow(const privacy::SealKey& node_key, rocksdb::WriteBatch* batch) const;
  absl::Status ForgetWrappedKeys() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  // Makes a checkpoint in `store` and returns the manifest's facts about that moment.
  absl::StatusOr<BackupManifest> CopyStore(const std::string& store);
  absl::StatusOr<SpaceClaim> ClaimForRewriting(rocksdb::ColumnFamilyHandle* family);
  absl::Status SweepErased() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);

  DatabaseOptions options_;
  DiskReserve reserve_;
  std::shared_ptr<db::FailureLatch> latch_ = std::make_shared<db::FailureLatch>();
  std::unique_ptr<db::FolderLock> lock_;  // released after RocksDB has closed
  std::shared_ptr<rocksdb::FileSystem> files_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<db::HighWaterFile> high_water_;  // written under sync_ only; null: none yet
  // The mark that was found at open. Until opening has compared the mark with the store and noted
  // any loss, new marks are computed from it: the mark never goes back before that, so an open that
  // fails leaves the loss for the next one to find.
  std::optional<db::HighWater> mark_;  // as found at open
  bool mark_settled_ = false;
  // the last fsync of the mark
  TimePoint mark_synced_at_{Duration(-limits::kHighWaterSyncInterval)};
  std::unique_ptr<rocksdb::DB> db_;
  // by ColumnFamily, then families that this program does not know
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  db::SyncGroup sync_;

  // Held shared from the choice of a data key to the end of the write. Held exclusively to replace
  // or destroy keys and to rewrite rows. So no value is written under a key that is gone, and no
  // sweep overwrites a newer value.
  FairSharedMutex key_gate_;
  Mutex key_creation_;
  // Allows one key change, sweep or compaction at a time, from what it reads to what it writes.
  Mutex maintenance_;
  bool keys_to_forget_ ABSL_GUARDED_BY(maintenance_) = false;  // the row kForgetKeysRow exists
  std::optional<Reclaim> reclaim_ ABSL_GUARDED_BY(maintenance_);
  std::optional<TimePoint> reclaimed_at_ ABSL_GUARDED_BY(maintenance_);
  // The keys that sealed a value while a walk counts uses; recorded under the gate.
  std::atomic<bool> noting_uses_{false};
  Mutex uses_mutex_;
  std::set<uint64_t> used_ ABSL_GUARDED_BY(uses_mutex_);
  KeyRing ring_;
  mutable Mutex node_key_mutex_;
  privacy::SealKey node_key_ ABSL_GUARDED_BY(node_key_mutex_);

  std::string store_id_;
  RecoveryReport recovery_;
  bool opened_with_next_key_ = false;
};

}  // namespace ruvd::storage
