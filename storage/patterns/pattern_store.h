// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hybrid_clock.h"
#include "base/mutex.h"
#include "base/steady_time.h"
#include "storage/db/database.h"
#include "storage/fair_shared_mutex.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/limits.h"
#include "storage/patterns/graph_checkpoint.h"
#include "storage/patterns/pattern.h"
#include "storage/patterns/pattern_filter.h"
#include "storage/patterns/slot_table.h"

namespace ruvd::storage {

namespace patterns {
class VectorReader;
}

struct PatternStoreOptions {
  uint32_t dimension = 0;          // of the model's hidden states
  Digest model_hash{};             // id of the model package that made the embeddings
  uint32_t m = 16;                 // see HnswOptions
  uint32_t ef_construction = 200;  // see HnswOptions
  // The durability of Put, Update, Delete and SetTier. A pattern is learned work and worth an
  // fsync.
  Durability durability = Durability::kPowerLoss;
  // Above this number Maintain evicts the patterns that are worth least; 1 to limits::kMaxPatterns.
  size_t capacity = limits::kPatternCapacity;
  // half-life of a pattern's value; above 0
  std::chrono::milliseconds half_life = limits::kPatternHalfLife;
  // Deletions are remembered for this time, so that no peer brings a pattern back.
  std::chrono::milliseconds tombstone_retention = limits::kTombstoneRetention;
  // Maintain saves the graph after this many changes of it (and at least an eighth of its rows),
  // and after this time if it changed at all.
  size_t checkpoint_changes = limits::kCheckpointChanges;
  std::chrono::milliseconds checkpoint_interval = limits::kCheckpointInterval;
  // Stamps changes; must outlive the store. Null: the store uses its own clock.
  HybridClock* clock = nullptr;
};

struct PatternSearchOptions {
  size_t k = 10;  // 1 to limits::kMaxSearchHits
  size_t ef = 0;  // 0: kDefaultSearchEf
  PatternFilter filter;
  std::optional<float> min_similarity;  // omits patterns that are less similar
};

struct PatternHit {
  Pattern pattern;       // without its payload, which Get returns
  float similarity = 0;  // cosine
};

struct PatternPage {
  std::vector<Pattern> patterns;  // without their payloads
  std::string next_page_token;    // empty on the last page
};

struct PatternChangePage {
  std::vector<PatternChange> changes;
  uint64_t last_sequence = 0;  // pass it as `after_sequence` for the next page
  bool more = false;
};

struct PatternStoreStats {
  size_t patterns = 0;  // live patterns, including expired ones that wait for Maintain
  size_t capacity = 0;
  size_t slots = 0;  // in use or free for reuse
  // An estimate: the count of Maintain's last walk over the rows plus later ones; 0 before the
  // first walk.
  size_t tombstones = 0;
  size_t pending = 0;  // patterns that are in no graph yet, so searches scan them
  size_t removed = 0;  // rows that still take memory in the index
  // Patterns without a row in the index, because memory was short. No search finds them. The next
  // start tries again.
  size_t unindexed = 0;
  // Patterns with rows that were found to be unreadable; searches and lists skip them. Delete or
  // Put of the id removes the damage; VerifyPatterns names all of them.
  size_t damaged = 0;
  uint64_t expired = 0;  // removed since the store was opened
  uint64_t evicted = 0;
  size_t index_bytes = 0;  // memory of the index
  struct Bank {
    uint32_t bank = 0;
    size_t patterns = 0;
    size_t index_bytes = 0;  // its share of the index's memory
  };
  std::vector<Bank> banks;      // the banks that have patterns
  uint64_t first_sequence = 0;  // the oldest change in the log that Changes can return
  uint64_t last_sequence = 0;   // the newest change that Changes can return; 0: there was no change
  struct Checkpoint {
    uint64_t epoch = 0;  // 0: there is no checkpoint
    int64_t created_ms = 0;
    uint64_t bytes = 0;
    uint64_t rows = 0;
    bool restored = false;  // the graph came from a checkpoint when the store was opened
    std::string problem;    // of the last attempt to restore or save one; empty: it succeeded
  } checkpoint;
};

// The result of one call of Maintain.
struct PatternMaintenance {
  absl::Status status;   // why some of the work was not done; the other work was done
  size_t linked = 0;     // patterns linked into their graphs
  size_t expired = 0;    // patterns removed because they expired
  size_t evicted = 0;    // patterns evicted
  size_t forgotten = 0;  // tombstones removed
  bool saved = false;    // a checkpoint was saved
  bool more = false;     // work is left because the budget was spent
};

// Stores the node's patterns. Rows in RocksDB are the truth, with one batch for each change. The
// vector index is in memory; Open fills it from the rows and takes its graph from a checkpoint. A
// search finds a pattern as soon as Put has written it: until Maintain links it, searches scan it.
// Embeddings of different models cannot be compared, so each model has a collection of its own, and
// an open store sees only the collection of its model. At most one store may be open on a database.
// A damaged row costs only the pattern that it belongs to; the store opens and serves the others.
//
// Thread-safe. Readers never wait for an fsync or a link. A writer waits for other writers and for
// at most one step of Maintain (one link, about half a millisecond). Writers share their fsyncs, so
// a change may be visible before it is acknowledged.
class PatternStore {
 public:
  // Opens the model's collection, or makes an empty one the first time. A checkpoint that is
  // missing or damaged is not an error: searches find all patterns anyway, and Maintain links them
  // anew (Stats says why). Returns LIMIT_EXCEEDED for more models than limits::kMaxCollections,
  // INVALID_ARGUMENT for options out of range, or an error of Database. `database` must outlive the
  // store.
  static absl::StatusOr<std::unique_ptr<PatternStore>> Open(Database& database,
                                                            const PatternStoreOptions& options);

  // Stores a pattern, or replaces the one with its id, with a new stamp. When it replaces a
  // pattern, the larger `uses` and the later `last_used_ms` are kept, because retrievals may go on
  // meanwhile. With kProcessCrash it does not wait for the fsync: searches see the change at once,
  // but Sync makes it durable and only then are watchers told. Returns WRONG_DIMENSION;
  // INVALID_ARGUMENT for an embedding that is not finite or is all zero, a text that is not UTF-8,
  // a quality outside 0 to 1, a bank or tier that does not exist, or an expiry in the past;
  // LIMIT_EXCEEDED (storage/limits.h); DISK_FULL or another error of Database::Write.
  absl::Status Put(const Pattern& pattern, Durability durability = Durability::kPowerLoss);

  // Does what Put does if the stored version still has the stamp `expected`, or if nothing is
  // stored (nullopt). So it never undoes a change or a deletion that came after the caller's Get.
  // Otherwise it returns ABORTED with reason CHANGED: read again and decide again. With nullopt a
  // tombstone counts as nothing stored, even that of a pattern that was stored and deleted after
  // the caller's Get.
  absl::Status Update(const Pattern& pattern, std::optional<HybridTime> expected,
                      Durability durability = Durability::kPowerLoss);

  // Makes every earlier change durable; concurrent calls share an fsync. Cheap if all are durable.
  absl::Status Sync();

  // Returns kNotFound with reason NOT_FOUND for an unknown or expired pattern, and DATA_LOSS for a
  // damaged one.
  absl::StatusOr<Pattern> Get(const PatternId& id) const;
  // Returns the pattern without its payload, which may have megabytes.
  absl::StatusOr<Pattern> GetWithoutPayload(const PatternId& id) const;

  // Deletes a pattern, even an expired one that Maintain has not removed yet. It drops embedding
  // and payload and leaves a tombstone, so that code that takes patterns from peers knows that this
  // one is not wanted (WasDeleted). Put of the id makes it live again. `durability` is as in Put.
  // Returns NOT_FOUND for an unknown id.
  absl::Status Delete(const PatternId& id, Durability durability = Durability::kPowerLoss);

  // Does what Delete does with kProcessCrash, to make room for other patterns: Maintain removes the
  // tombstone the next time that it looks for old ones, so that peers who send ever new patterns do
  // not leave tombstones for months.
  absl::Status DeleteForRoom(const PatternId& id);

  // Returns up to `page_size` patterns (1 to limits::kMaxListPageSize) that the filter admits, in
  // the order of their ids, after the page that returned `page_token`. Returns INVALID_ARGUMENT for
  // an invalid size or token.
  absl::StatusOr<PatternPage> List(uint32_t page_size, std::string_view page_token,
                                   const PatternFilter& filter = {}) const;

  // Returns the patterns most similar to the query that the filter admits, most similar first.
  // Returns fewer than k when fewer match, or when a thousand patterns expired at once and Maintain
  // has not run since. The errors are those of HnswIndex::Search.
  absl::StatusOr<std::vector<PatternHit>> Search(std::span<const float> query,
                                                 const PatternSearchOptions& options) const;

  // Counts one retrieval. The count survives kill -9 but not a power cut. Returns NOT_FOUND for an
  // unknown id.
  absl::Status RecordUse(const PatternId& id);

  // Changes only the tier, in whatever version of the pattern is stored now: a Put of a version
  // read earlier could undo another change. With `expected` it changes the tier only if the stored
  // version still has that stamp, and otherwise returns ABORTED with reason CHANGED, because the
  // caller decided for that version. Returns NOT_FOUND for an unknown id.
  absl::Status SetTier(const PatternId& id, SharingTier tier,
                       std::optional<HybridTime> expected = std::nullopt);

  // Returns whether a pattern of this id was deleted, expired or evicted, and not stored again.
  absl::StatusOr<bool> WasDeleted(const PatternId& id) const;

  // Returns the changes after number `after_sequence` (0: from the beginning), oldest first: those
  // among the next `limit` (1 to limits::kMaxListPageSize) that are of this collection. Retrievals
  // are not included, and neither are changes that a power cut may still undo, because their
  // numbers would be given again. Returns FAILED_PRECONDITION with LOG_TRUNCATED when the log no
  // longer has, or never had, that number: the follower must then list all patterns and continue
  // from the present end.
  absl::StatusOr<PatternChangePage> Changes(uint64_t after_sequence, size_t limit) const;

  // Calls `listener` after each change with the number of the last change that Changes can return.
  // The call is on the thread that made the change durable and holds no lock of the store; numbers
  // of concurrent changes may come out of order. An empty function removes the listener. When this
  // returns, the former listener is not called any more. A listener must not call this method or
  // change patterns.
  void SetChangeListener(std::function<void(uint64_t sequence)> listener);

  // Does work off the request path for about `budget`, in small steps between which writers get
  // their turn: removes expired patterns, evicts above the capacity, links new patterns, repairs
  // the graph around removed ones, removes old tombstones, and saves a checkpoint when one is due
  // (which may exceed the budget). While the wall clock cannot be trusted (WallClockTrust), nothing
  // is removed because of its age; searches skip expired patterns anyway. If the database refuses
  // writes, links are still made; a checkpoint that fails is only noted (Stats) and tried again
  // later.
  PatternMaintenance Maintain(Duration budget);

  // Saves the graph now, due or not, unless the saved one is up to date. The node calls it, for
  // example, before it stops.
  absl::Status Checkpoint();

  PatternStoreStats Stats() const;
  size_t size() const;
  // Returns how many patterns may be found by a search for serving ones.
  size_t serving() const;
  uint32_t dimension() const { return options_.dimension; }
  uint32_t collection() const { return collection_; }

 private:
  // One version of a live pattern.
  struct Place {
    PatternId id{};
    uint32_t slot = 0;
    uint32_t generation = 0;
    float similarity = 0;  // to a query, as far as the index knows it
    float error = 0;       // standard deviation of the index's error
  };
  using Writing = std::lock_guard<FairSharedMutex>;

  PatternStore(Database& database, const PatternStoreOptions& options,
               std::unique_ptr<HnswIndex> index);

  // These steps of opening run in this order (pattern_store_open.cc).
  absl::Status Bind();
  absl::Status LoadSequence();
  absl::Status LoadSlots();
  absl::StatusOr<bool> LoadLostSlots(std::set<uint32_t> lost);
  void FreeWithheld();
  absl::Status LoadVectors(patterns::VectorReader* vectors);
  void RestoreGraph();

  // These methods write and need writer_ (pattern_store.cc).
  absl::Status Check(const Pattern& pattern) const;
  absl::Status CheckUnchanged(const PatternId& id, std::optional<HybridTime> expected) const;
  absl::Status Store(Pattern pattern);
  // Returns the slot of a pattern that has not expired.
  std::optional<uint32_t> LiveSlot(const PatternId& id) const;
  // `keep_tombstone`: for PatternStoreOptions::tombstone_retention
  absl::Status RemoveSlots(std::span<const uint32_t> slots, PatternChangeKind kind,
                           bool keep_tombstone = true);
  absl::Status Remove(const PatternId& id, bool keep_tombstone);
  // Returns whether only the id of the pattern is known.
  bool IsLost(const PatternId& id) const { return lost_.contains(id); }
  absl::Status RemoveLost(const PatternId& id);
  // Adds the removal of the withheld slots' content if this pattern is the last lost one.
  void CleanWithheld(const PatternId& lost, Batch* batch) const;
  void EmptyWithheld(Batch* batch) const;
  // Must be called after the batch was written, under state_.
  void SettleLost(const PatternId& lost);
  // Writes meta and slot rows of a pattern that keeps its slot.
  absl::Status Rewrite(uint32_t slot, const patterns::MetaRow& meta, Batch batch);
  patterns::SlotRow SlotRowOf(const Pattern& pattern, uint32_t generation) const;
  void Log(PatternChangeKind kind, const PatternId& id, HybridTime time, uint64_t sequence,
           Batch* batch) const;
  absl::StatusOr<uint32_t> SlotOf(const PatternId& id) const;
  absl::StatusOr<patterns::MetaRow> ReadMeta(const PatternId& id, uint32_t generation) const;

  // Makes the change durable, as far as the options and the caller ask for it, and tells the
  // listener. Call it after writing, without locks.
  absl::Status Acknowledge(Durability durability = Durability::kPowerLoss);

  // These methods read (pattern_store_read.cc). They set `changed` when a writer may have come
  // between two reads, so that the answer may mix two moments.
  absl::StatusOr<Pattern> ReadRows(const Place& place, bool with_payload) const;
  absl::StatusOr<Pattern> ReadOnce(const PatternId& id, bool with_payload, bool* changed) const;
  absl::StatusOr<Pattern> ReadLive(const PatternId& id, bool with_payload) const;
  // `alone` states that the caller holds writer_, so rows that do not fit together are damaged.
  absl::StatusOr<std::vector<PatternHit>> SearchOnce(std::span<const float> query,
                                                     const PatternSearchOptions& options,
                                                     bool alone, bool* changed) const;
  // Returns the versions that the index finds, nearest first, without expired or damaged ones.
  absl::StatusOr<std::vector<Place>> FindPlaces(std::span<const float> query,
                                                const PatternSearchOptions& options,
                                                bool* changed) const;
  std::vector<Place> PlacesOf(std::span<const HnswHit> hits, bool* changed) const;
  std::vector<PatternId> ListIds(std::optional<PatternId> after, const PatternFilter& filter,
                                 size_t count) const;
  // The caller holds writer_.
  void RecordDamage(uint32_t slot) const;

  // The steps of Maintain (pattern_store_maintain.cc). Each does a bounded piece of one kind of
  // work and returns how much it did, 0 when there is nothing to do.
  // RemoveBatch removes some of the expired and the surplus patterns.
  absl::Status RemoveBatch(bool ages_count, PatternMaintenance* done);
  absl::Status MaintainRows(TimePoint end, PatternMaintenance* done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  void MaintainGraph(TimePoint end, PatternMaintenance* done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::StatusOr<size_t> ExpireBatch();
  absl::StatusOr<size_t> EvictBatch();
  size_t LinkBatch();
  bool RepairBatch();
  absl::StatusOr<size_t> ForgetBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::StatusOr<size_t> ForgetTombstones(std::span<const PatternId> ids);
  bool CheckpointIsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status SaveCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  void RecordCheckpointProblem(std::string problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);

  Database& database_;
  const PatternStoreOptions options_;
  HybridClock own_clock_;
  HybridClock& clock_;
  uint32_t collection_ = 0;  // set by Open

  // A writer holds it for the whole of its work, Maintain for each step. It is taken after
  // maintenance_ and before state_. It is fair, so that Maintain does not starve writers.
  mutable FairSharedMutex writer_;
  std::unique_ptr<HnswIndex> index_;  // labels are slots; changed under writer_

  // Guards the members below. They change only under writer_ too, so writers read them without
  // state_.
  mutable FairSharedMutex state_;
  mutable patterns::SlotTable slots_;  // mutable because readers mark damage
  // Patterns whose slot rows and meta rows are both damaged. They are in withheld slots, but it is
  // not known in which.
  std::set<PatternId> lost_;
  uint64_t next_sequence_ = 1;
  size_t tombstones_ = 0;
  uint64_t expired_ = 0;
  uint64_t evicted_ = 0;
  PatternStoreStats::Checkpoint checkpoint_stats_;

  Mutex maintenance_;  // for one call of Maintain or Checkpoint at a time
  std::unique_ptr<patterns::GraphCheckpoint> checkpoint_ ABSL_GUARDED_BY(maintenance_);
  std::atomic<size_t> graph_changes_{0};  // since the last checkpoint
  TimePoint checkpoint_tried_at_ ABSL_GUARDED_BY(maintenance_);
  bool checkpoint_failed_ ABSL_GUARDED_BY(maintenance_) = false;
  WallClockTrust wall_ ABSL_GUARDED_BY(maintenance_);
  // The walk over the rows that removes tombstones: where it continues, what it has counted so far,
  // and when the last walk ended.
  std::string walk_key_ ABSL_GUARDED_BY(maintenance_);
  size_t walk_tombstones_ ABSL_GUARDED_BY(maintenance_) = 0;
  std::optional<TimePoint> walk_ended_at_ ABSL_GUARDED_BY(maintenance_);

  std::atomic<uint64_t> acknowledged_{0};  // the last change that no power cut can undo

  FairSharedMutex listener_mutex_;
  std::function<void(uint64_t)> listener_;
};

}  // namespace ruvd::storage
