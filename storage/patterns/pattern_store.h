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
  // Of Put, Update, Delete and SetTier; a pattern is learned work, worth the fsync.
  Durability durability = Durability::kPowerLoss;
  // Maintain evicts what is worth least above this; 1 to limits::kMaxPatterns.
  size_t capacity = limits::kPatternCapacity;
  std::chrono::milliseconds half_life = limits::kPatternHalfLife;  // of the value; above 0
  // Deletions are remembered for so long, so that no peer brings a pattern back.
  std::chrono::milliseconds tombstone_retention = limits::kTombstoneRetention;
  // Maintain saves the graph after so many changes of it (and no fewer than an eighth of its rows),
  // and after so much time where it changed at all.
  size_t checkpoint_changes = limits::kCheckpointChanges;
  std::chrono::milliseconds checkpoint_interval = limits::kCheckpointInterval;
  // Stamps changes; outlives the store. Null: a clock of its own.
  HybridClock* clock = nullptr;
};

struct PatternSearchOptions {
  size_t k = 10;  // 1 to limits::kMaxSearchHits
  size_t ef = 0;  // 0: kDefaultSearchEf
  PatternFilter filter;
  std::optional<float> min_similarity;  // leaves out what is less similar
};

struct PatternHit {
  Pattern pattern;       // without its payload; Get has it
  float similarity = 0;  // cosine
};

struct PatternPage {
  std::vector<Pattern> patterns;  // without their payloads
  std::string next_page_token;    // empty on the last page
};

struct PatternChangePage {
  std::vector<PatternChange> changes;
  uint64_t last_sequence = 0;  // where the next page goes on
  bool more = false;
};

struct PatternStoreStats {
  size_t patterns = 0;  // live, those that expired and wait for Maintain included
  size_t capacity = 0;
  size_t slots = 0;  // in use or free for reuse
  // About: as of Maintain's last walk over the rows, and those since; 0 before the first.
  size_t tombstones = 0;
  size_t pending = 0;  // patterns that are not in a graph yet: searches scan them
  size_t removed = 0;  // rows that wait to leave the index's memory
  // Patterns without a row in the index, which no search finds: there was no memory for it. The
  // next start tries again.
  size_t unindexed = 0;
  // Patterns with rows that cannot be read, as far as anybody noticed: searches and lists pass over
  // them. Delete or Put of the id ends it; VerifyPatterns names all of them.
  size_t damaged = 0;
  uint64_t expired = 0;  // removed since the store was opened
  uint64_t evicted = 0;
  size_t index_bytes = 0;  // memory of the index
  struct Bank {
    uint32_t bank = 0;
    size_t patterns = 0;
    size_t index_bytes = 0;  // its share
  };
  std::vector<Bank> banks;      // those that have patterns
  uint64_t first_sequence = 0;  // of the log of changes: the oldest that Changes still has
  uint64_t last_sequence = 0;   // the newest that Changes has; 0: there was none
  struct Checkpoint {
    uint64_t epoch = 0;  // 0: none
    int64_t created_ms = 0;
    uint64_t bytes = 0;
    uint64_t rows = 0;
    bool restored = false;  // the graph came from a checkpoint when the store was opened
    std::string problem;    // of the last attempt to restore or save one; empty: none
  } checkpoint;
};

// What one call of Maintain did.
struct PatternMaintenance {
  absl::Status status;   // why some of the work was not done; the rest was
  size_t linked = 0;     // patterns taken into their graphs
  size_t expired = 0;    // patterns
  size_t evicted = 0;    // patterns
  size_t forgotten = 0;  // tombstones
  bool saved = false;    // a checkpoint
  bool more = false;     // there is work left: the budget was spent
};

// The node's patterns: rows in RocksDB are the truth, one batch for each change; the vector index
// is in memory, filled from the rows at Open, its graph from a checkpoint. A pattern is found as
// soon as Put has written it: until Maintain links it, searches scan it. Embeddings of different
// models are not comparable: each model has a collection of its own, and an open store sees that of
// its model only. At most one store may be open on a database. A damaged row costs the pattern that
// it is of; the store opens without it, serves and looks after the others.
//
// Thread-safe. Readers wait for no fsync and for no link; a writer waits for other writers and for
// at most one step of Maintain (one link, about half a millisecond). Writers share their fsyncs: a
// change may be seen by others before it is acknowledged.
class PatternStore {
 public:
  // Opens the model's collection; the first time, an empty one is made. A checkpoint that is
  // missing or damaged is no error: patterns are found all the same, and Maintain links them anew
  // (Stats says why). LIMIT_EXCEEDED for more models than limits::kMaxCollections; INVALID_ARGUMENT
  // for options out of range; the errors of Database. `database` outlives the store.
  static absl::StatusOr<std::unique_ptr<PatternStore>> Open(Database& database,
                                                            const PatternStoreOptions& options);

  // Stores a pattern or replaces the one with its id, with a new stamp. A replaced one's uses and
  // time of the last use stay where they are greater: retrievals go on meanwhile. With
  // kProcessCrash it does not wait for the fsync: searches see the change, Sync makes it durable
  // and watchers hear of it then. WRONG_DIMENSION; INVALID_ARGUMENT for an embedding that is not
  // finite or all zero, a text that is not UTF-8, a quality outside 0 to 1, a bank or tier that
  // does not exist, an expiry in the past; LIMIT_EXCEEDED (storage/limits.h); DISK_FULL and the
  // other errors of Database::Write.
  absl::Status Put(const Pattern& pattern, Durability durability = Durability::kPowerLoss);

  // Put where the stored version still has the stamp `expected`, or where nothing is stored
  // (nullopt), so that a change that came after the caller's Get is not undone, nor a deletion of
  // what Get showed. Otherwise ABORTED with reason CHANGED: read again, decide again. With nullopt
  // a tombstone counts as nothing, also one of a pattern that came and went since the caller's Get.
  absl::Status Update(const Pattern& pattern, std::optional<HybridTime> expected,
                      Durability durability = Durability::kPowerLoss);

  // Makes every change before durable; calls at the same time share an fsync. Cheap where all are.
  absl::Status Sync();

  // kNotFound with reason NOT_FOUND, also for one that expired; DATA_LOSS for a damaged one.
  absl::StatusOr<Pattern> Get(const PatternId& id) const;
  // The same without its payload, which may have megabytes.
  absl::StatusOr<Pattern> GetWithoutPayload(const PatternId& id) const;

  // Leaves a tombstone, so that whoever takes patterns from peers can tell that this one is not
  // wanted (WasDeleted), and drops embedding and payload. Put of the id makes it live again. Of one
  // that expired, too, until Maintain has removed it. NOT_FOUND.
  absl::Status Delete(const PatternId& id);

  // Up to `page_size` patterns (1 to limits::kMaxListPageSize) that the filter admits, in the order
  // of their ids, after those of the page that gave `page_token`. INVALID_ARGUMENT for a size or
  // token that is not one.
  absl::StatusOr<PatternPage> List(uint32_t page_size, std::string_view page_token,
                                   const PatternFilter& filter = {}) const;

  // The patterns most similar to the query that the filter admits, most similar first. Fewer than k
  // where fewer match (or, until Maintain has run, where a thousand expired at once). Errors as
  // HnswIndex::Search.
  absl::StatusOr<std::vector<PatternHit>> Search(std::span<const float> query,
                                                 const PatternSearchOptions& options) const;

  // Counts one retrieval. Survives kill -9, not a power cut. NOT_FOUND.
  absl::Status RecordUse(const PatternId& id);

  // Changes nothing but the tier, whatever version of the pattern is stored by now: a Put of a row
  // read earlier would undo a change that came between. With `expected` only where the stored
  // version still has that stamp, otherwise ABORTED with CHANGED: who read the row decided for that
  // version. NOT_FOUND.
  absl::Status SetTier(const PatternId& id, SharingTier tier,
                       std::optional<HybridTime> expected = std::nullopt);

  // Whether a pattern of this id was deleted, expired or evicted, and not stored again.
  absl::StatusOr<bool> WasDeleted(const PatternId& id) const;

  // The changes after number `after_sequence` (0: from the beginning), oldest first: those among
  // the next `limit` (1 to limits::kMaxListPageSize) that are of this collection. Retrievals are
  // not among them, nor changes that a power cut may still undo: their numbers would be given
  // again. FAILED_PRECONDITION with LOG_TRUNCATED where the log does not go back so far, or never
  // came so far: whoever follows lists all patterns then and goes on from the present end.
  absl::StatusOr<PatternChangePage> Changes(uint64_t after_sequence, size_t limit) const;

  // Calls `listener` with the number of the last change that Changes has after each change, on the
  // thread that made it durable, without locks of the store; numbers of concurrent changes may come
  // out of order. Empty: nobody. When this returns, the former listener is not called any more; a
  // listener calls neither this nor what changes patterns.
  void SetChangeListener(std::function<void(uint64_t sequence)> listener);

  // Work off the request path, for about `budget`, in small steps between which writers get their
  // turn: removes what expired, evicts above the capacity, links new patterns, repairs the graph
  // around removed ones, forgets old tombstones, saves a checkpoint when one is due (which takes
  // what it takes). While the wall clock cannot be trusted (WallClockTrust) nothing is removed for
  // its age; searches pass over expired patterns all the same. A database that refuses to write
  // keeps no link waiting; a checkpoint that fails is only noted (Stats) and tried again later.
  PatternMaintenance Maintain(Duration budget);

  // Saves the graph now, whether or not it is due, unless the saved one is what it would save;
  // before the node stops, for example.
  absl::Status Checkpoint();

  PatternStoreStats Stats() const;
  size_t size() const;
  uint32_t dimension() const { return options_.dimension; }
  uint32_t collection() const { return collection_; }

 private:
  // One version of a live pattern.
  struct Place {
    PatternId id{};
    uint32_t slot = 0;
    uint32_t generation = 0;
    float similarity = 0;  // to a query, as far as the index knows it
    float error = 0;       // standard deviation of what it does not know
  };
  using Writing = std::lock_guard<FairSharedMutex>;

  PatternStore(Database& database, const PatternStoreOptions& options,
               std::unique_ptr<HnswIndex> index);

  // Opening, in this order (pattern_store_open.cc).
  absl::Status Bind();
  absl::Status LoadSequence();
  absl::Status LoadSlots();
  absl::StatusOr<bool> LoadLostSlots(std::set<uint32_t> lost);
  void FreeWithheld();
  absl::Status LoadVectors(patterns::VectorReader* vectors);
  void RestoreGraph();

  // Writing, under writer_ (pattern_store.cc).
  absl::Status Check(const Pattern& pattern) const;
  absl::Status CheckUnchanged(const PatternId& id, std::optional<HybridTime> expected) const;
  absl::Status Store(Pattern pattern);
  // Of a pattern that has not expired.
  std::optional<uint32_t> LiveSlot(const PatternId& id) const;
  absl::Status RemoveSlots(std::span<const uint32_t> slots, PatternChangeKind kind);
  // Of patterns of which only the id is known.
  bool IsLost(const PatternId& id) const { return lost_.contains(id); }
  absl::Status RemoveLost(const PatternId& id);
  // Removes what the withheld slots hold, where the pattern is the last one that is lost.
  void CleanWithheld(const PatternId& lost, Batch* batch) const;
  void EmptyWithheld(Batch* batch) const;
  // After the batch: under state_.
  void SettleLost(const PatternId& lost);
  // Writes meta and slot rows of a pattern that stays where it is.
  absl::Status Rewrite(uint32_t slot, const patterns::MetaRow& meta, Batch batch);
  patterns::SlotRow SlotRowOf(const Pattern& pattern, uint32_t generation) const;
  void Log(PatternChangeKind kind, const PatternId& id, HybridTime time, uint64_t sequence,
           Batch* batch) const;
  absl::StatusOr<uint32_t> SlotOf(const PatternId& id) const;
  absl::StatusOr<patterns::MetaRow> ReadMeta(const PatternId& id, uint32_t generation) const;

  // After writing, without locks: makes the change durable, as far as the options and the caller
  // ask for it, and tells the listener.
  absl::Status Acknowledge(Durability durability = Durability::kPowerLoss);

  // Reading (pattern_store_read.cc). `changed`: a writer may have come between, so that the answer
  // mixes two moments.
  absl::StatusOr<Pattern> ReadRows(const Place& place, bool with_payload) const;
  absl::StatusOr<Pattern> ReadOnce(const PatternId& id, bool with_payload, bool* changed) const;
  absl::StatusOr<Pattern> ReadLive(const PatternId& id, bool with_payload) const;
  // `alone`: under writer_, so that what does not go together is damage.
  absl::StatusOr<std::vector<PatternHit>> SearchOnce(std::span<const float> query,
                                                     const PatternSearchOptions& options,
                                                     bool alone, bool* changed) const;
  // The versions that the index finds, nearest first, without those that expired or are damaged.
  absl::StatusOr<std::vector<Place>> FindPlaces(std::span<const float> query,
                                                const PatternSearchOptions& options,
                                                bool* changed) const;
  std::vector<Place> PlacesOf(std::span<const HnswHit> hits, bool* changed) const;
  std::vector<PatternId> ListIds(std::optional<PatternId> after, const PatternFilter& filter,
                                 size_t count) const;
  // Under writer_.
  void NoteDamage(uint32_t slot) const;

  // Maintain's steps (pattern_store_maintain.cc): each a bounded piece of one kind of work; how
  // much it did, 0 where there is nothing to do.
  // Removes some of what expired or is too much.
  absl::Status RemoveSome(bool ages_count, PatternMaintenance* done);
  absl::Status MaintainRows(TimePoint end, PatternMaintenance* done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  void MaintainGraph(TimePoint end, PatternMaintenance* done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::StatusOr<size_t> ExpireSome();
  absl::StatusOr<size_t> EvictSome();
  size_t LinkSome();
  bool RepairSome();
  absl::StatusOr<size_t> ForgetSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::StatusOr<size_t> ForgetTombstones(std::span<const PatternId> ids);
  bool CheckpointIsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  absl::Status SaveCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);
  void NoteCheckpoint(std::string problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(maintenance_);

  Database& database_;
  const PatternStoreOptions options_;
  HybridClock own_clock_;
  HybridClock& clock_;
  uint32_t collection_ = 0;  // set by Open

  // Held by one writer over all of its steps, and by each step of Maintain; taken after
  // maintenance_ and before state_. Fair, so that Maintain does not starve writers.
  mutable FairSharedMutex writer_;
  std::unique_ptr<HnswIndex> index_;  // labels are slots; changed under writer_

  // Guards what follows, which changes under writer_ too: writers read it without.
  mutable FairSharedMutex state_;
  mutable patterns::SlotTable slots_;  // mutable: who reads notices damage
  // Patterns whose slot rows and meta rows are both damaged: they are in withheld slots, nobody
  // knows in which.
  std::set<PatternId> lost_;
  uint64_t next_sequence_ = 1;
  size_t tombstones_ = 0;
  uint64_t expired_ = 0;
  uint64_t evicted_ = 0;
  PatternStoreStats::Checkpoint checkpoint_stats_;

  Mutex maintenance_;  // one call of Maintain or Checkpoint at a time
  std::unique_ptr<patterns::GraphCheckpoint> checkpoint_ ABSL_GUARDED_BY(maintenance_);
  std::atomic<size_t> graph_changes_{0};  // since the last checkpoint
  TimePoint checkpoint_tried_at_ ABSL_GUARDED_BY(maintenance_);
  bool checkpoint_failed_ ABSL_GUARDED_BY(maintenance_) = false;
  WallClockTrust wall_ ABSL_GUARDED_BY(maintenance_);
  // The walk over the rows that forgets tombstones: where it goes on, what it counted so far, when
  // the last one ended.
  std::string walk_key_ ABSL_GUARDED_BY(maintenance_);
  size_t walk_tombstones_ ABSL_GUARDED_BY(maintenance_) = 0;
  std::optional<TimePoint> walk_ended_at_ ABSL_GUARDED_BY(maintenance_);

  std::atomic<uint64_t> acknowledged_{0};  // the last change that no power cut undoes

  FairSharedMutex listener_mutex_;
  std::function<void(uint64_t)> listener_;
};

}  // namespace ruvd::storage
