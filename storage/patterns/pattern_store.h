// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/fair_shared_mutex.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/limits.h"
#include "storage/patterns/pattern.h"

namespace ruvd {

namespace patterns {
struct MetaRow;
}

struct PatternStoreOptions {
  uint32_t dimension = 0;          // of the model's hidden states
  Digest model_hash{};             // id of the model package that made the embeddings
  uint32_t m = 16;                 // see HnswOptions
  uint32_t ef_construction = 200;  // see HnswOptions
  // Of Put and Delete; a pattern is learned work, worth the fsync.
  Durability durability = Durability::kPowerLoss;
};

struct PatternSearchOptions {
  size_t k = 10;                 // 1 to limits::kMaxSearchHits
  size_t ef = 0;                 // 0: kDefaultSearchEf
  std::optional<uint32_t> bank;  // patterns of this bank only
};

struct PatternHit {
  Pattern pattern;       // without its payload; Get has it
  float similarity = 0;  // cosine
};

struct PatternPage {
  std::vector<Pattern> patterns;  // without their payloads
  std::string next_page_token;    // empty on the last page
};

// The node's patterns: rows in RocksDB are the truth, one batch for each change; the vector index
// is in memory and rebuilt from the rows at Open. Embeddings of different models are not
// comparable: each model has a collection of its own, and an open store sees that of its model
// only. Thread-safe: searches and reads run
// at the same time; one writer at a time, which they wait for while its batch is written.
class PatternStore {
 public:
  // Opens the model's collection; the first time, an empty one is made. LIMIT_EXCEEDED for more
  // models than limits::kMaxCollections; the errors of Database. `database` outlives the store.
  static absl::StatusOr<std::unique_ptr<PatternStore>> Open(Database& database,
                                                            const PatternStoreOptions& options);

  // Stores a pattern or replaces the one with its id. WRONG_DIMENSION; INVALID_ARGUMENT for an
  // embedding that is not finite or all zero, a quality outside 0 to 1, a bank or tier that does
  // not exist; LIMIT_EXCEEDED (storage/limits.h); DISK_FULL and the other errors of
  // Database::Write.
  absl::Status Put(const Pattern& pattern);

  // kNotFound with reason NOT_FOUND.
  absl::StatusOr<Pattern> Get(const PatternId& id) const;

  // Leaves a tombstone, so that whoever takes patterns from peers can tell that this one is not
  // wanted (WasDeleted), and drops embedding and payload. Put of the id makes it live again.
  // NOT_FOUND.
  absl::Status Delete(const PatternId& id);

  // Up to `page_size` patterns (1 to limits::kMaxListPageSize) in the order of their ids, after
  // those of the page that gave `page_token`. INVALID_ARGUMENT for a size or token that is not one.
  absl::StatusOr<PatternPage> List(uint32_t page_size, std::string_view page_token) const;

  // The patterns most similar to the query, most similar first. Errors as HnswIndex::Search.
  absl::StatusOr<std::vector<PatternHit>> Search(std::span<const float> query,
                                                 const PatternSearchOptions& options) const;

  // Counts one retrieval. Survives kill -9, not a power cut. NOT_FOUND.
  absl::Status RecordUse(const PatternId& id);

  // Changes nothing but the tier, whatever version of the pattern is stored by now: a Put of a row
  // read earlier would undo a change that came between. NOT_FOUND.
  absl::Status SetTier(const PatternId& id, SharingTier tier);

  // Whether a pattern of this id was deleted and not stored again.
  absl::StatusOr<bool> WasDeleted(const PatternId& id) const;

  size_t size() const;
  uint32_t dimension() const { return options_.dimension; }

 private:
  struct Slot {
    PatternId id{};
    uint32_t generation = 0;
    uint32_t bank = 0;
    bool live = false;
  };

  PatternStore(Database& database, const PatternStoreOptions& options,
               std::unique_ptr<HnswIndex> index)
      : database_(database), options_(options), index_(std::move(index)) {}

  absl::Status Bind();
  absl::Status LoadSlots();
  absl::Status LoadVectors();
  absl::Status LoadSequence();

  absl::Status Check(const Pattern& pattern) const;
  uint32_t ChooseSlot() const;
  void Occupy(uint32_t slot, const Slot& state);
  void Vacate(uint32_t slot);
  void AppendOplog(uint8_t op, const PatternId& id, Batch* batch) const;
  absl::StatusOr<Pattern> ReadPattern(uint32_t slot) const;
  absl::StatusOr<uint32_t> SlotOf(const PatternId& id) const;
  absl::StatusOr<patterns::MetaRow> ReadMeta(const PatternId& id, uint32_t generation) const;
  // Links new rows and repairs around removed ones, a little with every change; searches go on.
  void TendIndex();

  Database& database_;
  const PatternStoreOptions options_;
  uint32_t collection_ = 0;  // set by Open
  Mutex writer_;             // held by one writer over all of its steps, taken before state_
  // Guards what follows; exclusive while a batch is written and the state follows it.
  mutable FairSharedMutex state_;
  std::unique_ptr<HnswIndex> index_;  // labels are slots
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::map<PatternId, uint32_t> slot_of_;
  uint64_t next_sequence_ = 1;
};

}  // namespace ruvd
