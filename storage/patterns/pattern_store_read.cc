// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file has the methods of PatternStore that read patterns. Rows are read without locks, so a
// writer may come between reading memory and reading the rows, which are ahead of memory for a
// moment. Their generations show that, and the read is repeated. The last try keeps writers out,
// and then an error is real.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_store.h"
#include "storage/reasons.h"
#include "storage/similarity/cosine.h"

namespace ruvd::storage {
namespace {

using patterns::IdKey;
using patterns::OplogKey;
using patterns::SlotKey;

constexpr int kReadsBesideWriters = 3;

template <typename... Args>
absl::Status InvalidQuery(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

absl::Status CheckSearch(const PatternSearchOptions& options) {
  if (options.k == 0 || options.k > limits::kMaxSearchHits) {
    return InvalidQuery("a search cannot return {} patterns; ask for 1 to {}", options.k,
                        limits::kMaxSearchHits);
  }
  if (options.min_similarity && std::isnan(*options.min_similarity)) {
    return InvalidQuery(
        "the least similarity of the search is not a number; give a number from -1 to 1");
  }
  return options.filter.Check();
}

// The index is asked for this many hits more: it knows similarities only up to the error of its
// codes, so hits that may be nearer are read too.
constexpr size_t kSpareHits = 8;

// A row is read when it is within this many standard deviations of that error.
constexpr float kMarginDeviations = 4;

// Puts the most similar first and keeps at most k.
void Order(const PatternSearchOptions& options, std::vector<PatternHit>* hits) {
  std::stable_sort(hits->begin(), hits->end(), [](const PatternHit& a, const PatternHit& b) {
    return a.similarity > b.similarity;
  });
  if (options.min_similarity) {
    std::erase_if(*hits,
                  [&](const PatternHit& hit) { return hit.similarity < *options.min_similarity; });
  }
  if (hits->size() > options.k) {
    hits->erase(hits->begin() + static_cast<ptrdiff_t>(options.k), hits->end());
  }
}

// Returns whether the error is damage, if no writer is active: the row does not open or decode, or
// is gone.
bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

uint64_t OldestLogged(uint64_t last) {
  return last > limits::kMaxOplogRows ? last - limits::kMaxOplogRows + 1 : 1;
}

absl::Status LogTruncated(uint64_t after, uint64_t last) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kLogTruncated,
               "the log of changes has numbers {} to {} and cannot continue after {}; list all "
               "patterns and follow "
               "the log from {}",
               OldestLogged(last), last, after, last);
}

}  // namespace

absl::StatusOr<Pattern> PatternStore::ReadRows(const Place& place, bool with_payload) const {
  ASSIGN_OR_RETURN(patterns::MetaRow row, ReadMeta(place.id, place.generation));
  if (row.tombstone) {  // deleted meanwhile: a tombstone keeps the generation of its pattern
    return patterns::NoSuchPattern(place.id);
  }
  ASSIGN_OR_RETURN(
      const std::string vec,
      database_.Get(ColumnFamily::kVec, SlotKey(collection_, place.slot), place.generation));
  ASSIGN_OR_RETURN(row.pattern.embedding, patterns::DecodeVecRow(vec, options_.dimension));
  if (with_payload) {
    ASSIGN_OR_RETURN(
        row.pattern.payload,
        database_.Get(ColumnFamily::kPayload, IdKey(collection_, place.id), place.generation));
  }
  return std::move(row.pattern);
}

absl::StatusOr<Pattern> PatternStore::ReadOnce(const PatternId& id, bool with_payload,
                                               bool* changed) const {
  *changed = false;
  Place place{.id = id};
  {
    const std::shared_lock state(state_);
    ASSIGN_OR_RETURN(place.slot, SlotOf(id));
    place.generation = slots_.at(place.slot).generation;
  }
  absl::StatusOr<Pattern> pattern = ReadRows(place, with_payload);
  *changed = !pattern.ok();
  return pattern;
}

absl::StatusOr<Pattern> PatternStore::ReadLive(const PatternId& id, bool with_payload) const {
  bool changed = false;
  for (int i = 0; i < kReadsBesideWriters; ++i) {
    absl::StatusOr<Pattern> pattern = ReadOnce(id, with_payload, &changed);
    if (!changed) {
      return pattern;
    }
  }
  const Writing none_else(writer_);
  absl::StatusOr<Pattern> pattern = ReadOnce(id, with_payload, &changed);
  if (!changed || !IsDamage(pattern.status())) {
    return pattern;
  }
  RecordDamage(*slots_.Find(id));
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the rows of pattern {} cannot be read ({}); delete it, or restore the store from a "
               "backup",
               ToHex(id), MessageOf(pattern.status()));
}

void PatternStore::RecordDamage(uint32_t slot) const {
  const std::unique_lock state(state_);
  slots_.MarkDamaged(slot);
}

absl::StatusOr<Pattern> PatternStore::Get(const PatternId& id) const {
  return ReadLive(id, /*with_payload=*/true);
}

absl::StatusOr<Pattern> PatternStore::GetWithoutPayload(const PatternId& id) const {
  return ReadLive(id, /*with_payload=*/false);
}

absl::StatusOr<PatternPage> PatternStore::List(uint32_t page_size, std::string_view page_token,
                                               const PatternFilter& filter) const {
  if (page_size == 0 || page_size > limits::kMaxListPageSize) {
    return InvalidQuery("a page cannot have {} patterns; ask for 1 to {}", page_size,
                        limits::kMaxListPageSize);
  }
  RETURN_IF_ERROR(filter.Check());
  std::optional<PatternId> after;
  if (!page_token.empty()) {
    const std::optional<std::string> last = FromHex(page_token);
    if (!last || last->size() != sizeof(PatternId)) {
      return InvalidQuery("this node did not give the page token \"{}\"; list from the start",
                          page_token.substr(0, 2 * sizeof(PatternId)));
    }
    std::memcpy(after.emplace().data(), last->data(), last->size());
  }
  std::vector<PatternId> ids = ListIds(after, filter, page_size + size_t{1});
  PatternPage page;
  if (ids.size() > page_size) {
    ids.pop_back();
    page.next_page_token = ToHex(ids.back());
  }
  for (const PatternId& id : ids) {
    absl::StatusOr<Pattern> pattern = ReadLive(id, /*with_payload=*/false);
    if (pattern.ok() && filter.Admits(*pattern)) {
      page.patterns.push_back(*std::move(pattern));
      // a not-found pattern was removed meanwhile
    } else if (!pattern.ok() && !IsDamage(pattern.status())) {
      return pattern.status();
    }
  }
  return page;
}

// Writers get their turn between two pieces: a narrow filter looks at all patterns.
std::vector<PatternId> PatternStore::ListIds(std::optional<PatternId> after,
                                             const PatternFilter& filter, size_t count) const {
  const int64_t now = database_.clock().WallMillis();
  std::vector<PatternId> ids;
  do {
    const std::shared_lock state(state_);
    patterns::SlotTable::Listed piece = slots_.List(after, filter, now, count - ids.size());
    ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    after = piece.after;
  } while (after && ids.size() < count);
  return ids;
}

std::vector<PatternStore::Place> PatternStore::PlacesOf(std::span<const HnswHit> hits,
                                                        bool* changed) const {
  const int64_t now = database_.clock().WallMillis();
  std::vector<Place> places;
  const std::shared_lock state(state_);
  for (const HnswHit& hit : hits) {
    if (!slots_.Holds(hit.label, hit.generation)) {
      *changed = true;
    } else if (!slots_.at(hit.label).damaged && !slots_.at(hit.label).ExpiredAt(now)) {
      places.push_back(
          {slots_.at(hit.label).id, hit.label, hit.generation, hit.similarity, hit.error});
    }
  }
  return places;
}

absl::StatusOr<std::vector<PatternStore::Place>> PatternStore::FindPlaces(
    std::span<const float> query, const PatternSearchOptions& options, bool* changed) const {
  HnswQuery search{.vector = query,
                   .k = std::min(options.k + kSpareHits, limits::kMaxSearchHits),
                   .ef = options.ef};
  {
    const std::shared_lock state(state_);
    std::optional<HnswFilter> filter = slots_.Compile(options.filter);
    if (!filter) {
      return std::vector<Place>();
    }
    search.filter = *std::move(filter);
  }
  ASSIGN_OR_RETURN(const std::vector<HnswHit> found, index_->Search(search));
  std::vector<Place> places = PlacesOf(found, changed);
  if (places.size() >= options.k || found.size() < search.k) {
    return places;
  }
  {
    const std::shared_lock state(state_);  // this many of the hits may have to be hidden
    const size_t hidden = slots_.damaged() + slots_.CountExpired(database_.clock().WallMillis(),
                                                                 limits::kMaxSearchHits);
    search.k = std::min(search.k + hidden, limits::kMaxSearchHits);
  }
  ASSIGN_OR_RETURN(const std::vector<HnswHit> more, index_->Search(search));
  return PlacesOf(more, changed);
}

absl::StatusOr<std::vector<PatternHit>> PatternStore::SearchOnce(
    std::span<const float> query, const PatternSearchOptions& options, bool alone,
    bool* changed) const {
  ASSIGN_OR_RETURN(const std::vector<Place> places, FindPlaces(query, options, changed));
  std::vector<PatternHit> hits;
  float least = 1;
  for (const Place& place : places) {
    if (hits.size() >= options.k && place.similarity + kMarginDeviations * place.error < least) {
      continue;
    }
    absl::StatusOr<Pattern> pattern = ReadRows(place, /*with_payload=*/false);
    if (!pattern.ok() && alone && IsDamage(pattern.status())) {
      RecordDamage(place.slot);
      continue;
    }
    if (!pattern.ok()) {
      *changed = true;
      return pattern.status();
    }
    if (!options.filter.Admits(*pattern)) {
      *changed = true;
      continue;
    }
    // The similarity comes from the row itself: the index knows it only up to the error of its
    // codes.
    const float similarity = CosineSimilarity(query, pattern->embedding).value_or(0);
    least = hits.size() < options.k ? std::min(least, similarity) : least;
    hits.push_back({*std::move(pattern), similarity});
  }
  Order(options, &hits);
  return hits;
}

absl::StatusOr<std::vector<PatternHit>> PatternStore::Search(
    std::span<const float> query, const PatternSearchOptions& options) const {
  RETURN_IF_ERROR(CheckSearch(options));
  RETURN_IF_ERROR(index_->CheckVector(query));
  for (int i = 0; i < kReadsBesideWriters; ++i) {
    bool changed = false;
    absl::StatusOr<std::vector<PatternHit>> hits =
        SearchOnce(query, options, /*alone=*/false, &changed);
    if (!changed) {
      return hits;
    }
  }
  const Writing none_else(writer_);
  bool changed = false;
  return SearchOnce(query, options, /*alone=*/true, &changed);
}

absl::StatusOr<bool> PatternStore::WasDeleted(const PatternId& id) const {
  {
    const std::shared_lock state(state_);
    if (const std::optional<uint32_t> slot = slots_.Find(id)) {
      return slots_.at(*slot).ExpiredAt(database_.clock().WallMillis());
    }
  }
  const absl::StatusOr<std::string> stored =
      database_.Get(ColumnFamily::kMeta, IdKey(collection_, id));
  if (absl::IsNotFound(stored.status())) {
    return false;
  }
  RETURN_IF_ERROR(stored.status());
  ASSIGN_OR_RETURN(const patterns::MetaRow row, patterns::DecodeMetaRow(*stored, id));
  return row.tombstone;
}

absl::StatusOr<PatternChangePage> PatternStore::Changes(uint64_t after_sequence,
                                                        size_t limit) const {
  if (limit == 0 || limit > limits::kMaxListPageSize) {
    return InvalidQuery("a page cannot have {} changes; ask for 1 to {}", limit,
                        limits::kMaxListPageSize);
  }
  const uint64_t last = acknowledged_.load();
  if (after_sequence > last || after_sequence + 1 < OldestLogged(last)) {
    return LogTruncated(after_sequence, last);
  }
  PatternChangePage page{.last_sequence = after_sequence};
  const auto take = [&](const RowView& row) -> absl::StatusOr<bool> {
    const uint64_t sequence = ReadKeyU64(row.key, 0).value_or(0);
    if (sequence != page.last_sequence + 1) {  // the log was cut meanwhile
      return LogTruncated(after_sequence, last);
    }
    const auto change = patterns::DecodeOplogRow(row.value);
    if (!change.ok()) {
      return LogTruncated(after_sequence, last);
    }
    if (change->collection == collection_) {
      page.changes.push_back({sequence, change->kind, change->id, change->time});
    }
    page.last_sequence = sequence;
    return sequence - after_sequence < limit;
  };
  // The content of a damaged row is unknown: a follower must list all patterns, and is then past
  // the row.
  const auto broken = [&](std::string_view) -> absl::StatusOr<bool> {
    return LogTruncated(after_sequence, last);
  };
  if (after_sequence < last) {
    RETURN_IF_ERROR(database_.Scan(ColumnFamily::kOplog, OplogKey(after_sequence + 1),
                                   OplogKey(last + 1), take, broken));
  }
  page.more = page.last_sequence < last;
  return page;
}

size_t PatternStore::size() const {
  const std::shared_lock state(state_);
  return slots_.live();
}

size_t PatternStore::serving() const {
  const std::shared_lock state(state_);
  return slots_.serving();
}

PatternStoreStats PatternStore::Stats() const {
  const HnswCounts counts = index_->Counts();
  PatternStoreStats stats{.capacity = options_.capacity,
                          .pending = counts.pending,
                          .removed = counts.removed,
                          .index_bytes = counts.memory_bytes};
  const std::shared_lock state(state_);
  stats.patterns = slots_.live();
  stats.slots = slots_.size();
  stats.tombstones = tombstones_;
  stats.damaged = slots_.damaged() + std::min(lost_.size(), slots_.withheld().size());
  stats.expired = expired_;
  stats.evicted = evicted_;
  stats.unindexed = stats.patterns - std::min(stats.patterns, counts.live);
  stats.last_sequence = acknowledged_.load();
  stats.first_sequence = OldestLogged(stats.last_sequence);
  stats.checkpoint = checkpoint_stats_;
  for (uint32_t bank = 0; bank < limits::kMaxBanks; ++bank) {
    if (const size_t patterns = slots_.live_in_bank(bank); patterns > 0) {
      stats.banks.push_back({.bank = bank,
                             .patterns = patterns,
                             .index_bytes = counts.memory_bytes * patterns / slots_.live()});
    }
  }
  return stats;
}

}  // namespace ruvd::storage
