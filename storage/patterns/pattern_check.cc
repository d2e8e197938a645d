// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/patterns/graph_checkpoint.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/slot_table.h"
#include "storage/similarity/cosine.h"

namespace ruvd::storage {
namespace {

using patterns::IdKey;
using patterns::SlotKey;

// Graphs lose a few nodes between two searches for orphans. More than kFewOrphans that are also
// more than one in a hundred are a fault of the graph.
constexpr size_t kOrphanPart = 100;
constexpr size_t kFewOrphans = 8;
// Two ways to compute one cosine differ by rounding; this is the largest difference.
constexpr double kSameSimilarity = 1e-6;

std::optional<PatternId> IdOfKey(std::string_view key) {
  PatternId id;
  if (key.size() != sizeof(uint32_t) + id.size()) {
    return std::nullopt;
  }
  std::memcpy(id.data(), key.data() + sizeof(uint32_t), id.size());
  return id;
}

// A pattern of the sample, with what an exact scan finds near it.
struct Sampled {
  uint32_t slot = 0;
  uint32_t bank = 0;
  std::vector<float> embedding;
  std::vector<double> nearest;  // the greatest similarities so far, greatest first

  void Offer(double similarity, size_t neighbours) {
    if (nearest.size() == neighbours && similarity <= nearest.back()) {
      return;
    }
    nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), similarity, std::greater<>()),
                   similarity);
    nearest.resize(std::min(nearest.size(), neighbours));
  }
};

// The check of one collection.
class CollectionCheck {
 public:
  CollectionCheck(Database& database, const PatternCheckOptions& options,
                  const PatternCollectionCheck& found, StoreReport* report)
      : database_(database), options_(options), found_(found), report_(report) {}

  absl::StatusOr<PatternCollectionCheck> Run(const patterns::CollectionRow& row);

 private:
  template <typename... Args>
  void AddProblem(fmt::format_string<Args...> format, Args&&... args) {
    report_->AddProblem(fmt::format("patterns {}: ", found_.collection) +
                        fmt::format(format, std::forward<Args>(args)...));
  }
  // Shows the rows of the collection in a family, and the keys of rows whose values do not open,
  // which Database::Verify reports. If not all rows could be read, no row is reported as missing.
  void Scan(ColumnFamily family, const std::function<void(const RowView&)>& look,
            const std::function<void(std::string_view key)>& damaged);
  // A lost row may have named other rows, so these are not reported.
  void LoseSlot(std::string_view key);
  void LoseMeta(std::string_view key);

  void LookAtSlot(const RowView& row);
  void LookAtMeta(const RowView& row);
  void LookAtPayload(const RowView& row);
  void LookAtVector(const RowView& row);
  void Count();
  absl::Status CheckGraph();
  void ChooseSample();
  absl::Status Recall();

  struct Held {
    patterns::SlotRow row;
    bool has_meta = false;
    bool has_payload = false;
    bool has_vector = false;
    std::string content_hash;
  };

  Database& database_;
  const PatternCheckOptions& options_;
  PatternCollectionCheck found_;
  StoreReport* const report_;
  std::map<uint32_t, Held> held_;          // live slots
  std::map<PatternId, uint32_t> slot_of_;  // slots of the live patterns
  std::unique_ptr<HnswIndex> index_;
  std::vector<Sampled> sample_;
  bool scans_whole_ = true;
  // The slots and patterns with damaged rows, one set for each of the families slot, meta, payload
  // and vec.
  std::set<uint32_t> lost_slots_;
  std::set<PatternId> lost_metas_;
  std::set<PatternId> lost_payloads_;
  std::set<uint32_t> lost_vectors_;
  std::set<PatternId> in_lost_slots_;  // patterns whose meta rows name a lost slot
};

void CollectionCheck::Scan(ColumnFamily family, const std::function<void(const RowView&)>& look,
                           const std::function<void(std::string_view key)>& damaged) {
  const std::string prefix = patterns::CollectionPrefix(found_.collection);
  const auto show = [&](const RowView& row) -> absl::StatusOr<bool> {
    look(row);
    return true;
  };
  const auto pass = [&](std::string_view key) -> absl::StatusOr<bool> {
    damaged(key);
    return true;
  };
  const absl::Status status = database_.Scan(family, prefix, EndOfPrefix(prefix), show, pass);
  if (!status.ok()) {
    scans_whole_ = false;
    AddProblem("not all rows of {} could be read: {}", InfoOf(family).name, MessageOf(status));
  }
}

void CollectionCheck::LoseSlot(std::string_view key) {
  if (const auto slot = ReadKeyU32(key, sizeof(uint32_t))) {
    lost_slots_.insert(*slot);
  }
}

void CollectionCheck::LoseMeta(std::string_view key) {
  if (const auto id = IdOfKey(key)) {
    lost_metas_.insert(*id);
  }
}

void CollectionCheck::LookAtSlot(const RowView& row) {
  const std::optional<uint32_t> slot = ReadKeyU32(row.key, sizeof(uint32_t));
  const auto decoded = patterns::DecodeSlotRow(row.value);
  if (!slot || row.key.size() != 2 * sizeof(uint32_t) || !decoded.ok() ||
      decoded->generation != row.generation) {
    AddProblem("slot row {} is damaged", ToHex(AsBytes(row.key)));
    LoseSlot(row.key);
    return;
  }
  if (!decoded->live) {
    return;
  }
  if (!slot_of_.emplace(decoded->id, *slot).second) {
    AddProblem("pattern {} is in two slots, {} and {}", ToHex(decoded->id), slot_of_[decoded->id],
               *slot);
    return;
  }
  held_[*slot].row = *decoded;
}

void CollectionCheck::LookAtMeta(const RowView& row) {
  const std::optional<PatternId> id = IdOfKey(row.key);
  const auto meta = patterns::DecodeMetaRow(row.value, id.value_or(PatternId{}));
  if (!id || !meta.ok() || meta->generation != row.generation) {
    AddProblem("meta row {} is damaged", ToHex(AsBytes(row.key)));
    LoseMeta(row.key);
    return;
  }
  const auto slot = slot_of_.find(*id);
  if (meta->tombstone) {
    ++found_.tombstones;
    if (slot != slot_of_.end()) {
      AddProblem("pattern {} was deleted but is in slot {}", ToHex(*id), slot->second);
    }
    return;
  }
  if (slot == slot_of_.end() || slot->second != meta->slot) {
    if (lost_slots_.contains(meta->slot)) {
      in_lost_slots_.insert(*id);
    } else if (scans_whole_) {
      AddProblem("pattern {} is not in its slot {}", ToHex(*id), meta->slot);
    }
    return;
  }
  Held& held = held_[slot->second];
  held.has_meta = true;
  held.content_hash = meta->content_hash;
  patterns::SlotRow expected = patterns::SlotRowOf(meta->pattern, meta->generation);
  // A time in the future is cut when a slot row is written.
  expected.touched_ms = std::min(expected.touched_ms, held.row.touched_ms);
  if (held.row.generation != meta->generation || expected != held.row) {
    AddProblem("pattern {} disagrees with its slot {}", ToHex(*id), slot->second);
  }
}

void CollectionCheck::LookAtPayload(const RowView& row) {
  const std::optional<PatternId> id = IdOfKey(row.key);
  const auto slot = id ? slot_of_.find(*id) : slot_of_.end();
  if (slot == slot_of_.end() || held_[slot->second].row.generation != row.generation) {
    // A pattern whose meta row is damaged too may be in any of the lost slots.
    const bool unsure =
        id && (in_lost_slots_.contains(*id) || (lost_metas_.contains(*id) && !lost_slots_.empty()));
    if (scans_whole_ && !unsure) {
      AddProblem("payload row {} belongs to no pattern", ToHex(AsBytes(row.key)));
    }
    return;
  }
  held_[slot->second].has_payload = true;
}

void CollectionCheck::LookAtVector(const RowView& row) {
  const std::optional<uint32_t> slot = ReadKeyU32(row.key, sizeof(uint32_t));
  const auto found = slot ? held_.find(*slot) : held_.end();
  if (found == held_.end() || found->second.row.generation != row.generation) {
    if (scans_whole_ && !(slot && lost_slots_.contains(*slot))) {
      AddProblem("embedding {} belongs to no pattern", ToHex(AsBytes(row.key)));
    }
    return;
  }
  Held& held = found->second;
  const auto embedding = patterns::DecodeVecRow(row.value, found_.dimension);
  const absl::Status put = embedding.ok() ? index_->Put({.label = *slot,
                                                         .generation = row.generation,
                                                         .vector = *embedding,
                                                         .attributes = {.bank = held.row.bank}})
                                          : embedding.status();
  if (!put.ok()) {
    AddProblem("the embedding of pattern {} is invalid: {}", ToHex(held.row.id), MessageOf(put));
    return;
  }
  held.has_vector = true;
  const auto payload = database_.Get(ColumnFamily::kPayload, IdKey(found_.collection, held.row.id));
  if (payload.ok() && !held.content_hash.empty() &&
      AsText(Sha256({AsBytes(row.value), AsBytes(*payload)})) != held.content_hash) {
    AddProblem("the content of pattern {} differs from what was stored", ToHex(held.row.id));
  }
}

void CollectionCheck::Count() {
  found_.patterns = held_.size();
  if (!scans_whole_) {
    return;  // otherwise every row that was not read would seem missing
  }
  for (const auto& [slot, held] : held_) {
    const bool meta = held.has_meta || lost_metas_.contains(held.row.id);
    const bool vector = held.has_vector || lost_vectors_.contains(slot);
    const bool payload = held.has_payload || lost_payloads_.contains(held.row.id);
    if (!meta || !vector || !payload) {
      AddProblem("pattern {} in slot {} lacks its {}", ToHex(held.row.id), slot,
                 !meta ? "meta row" : (!vector ? "embedding" : "payload"));
    }
  }
}

absl::Status CollectionCheck::CheckGraph() {
  patterns::GraphCheckpoint checkpoint(database_, found_.collection);
  const patterns::GraphRestore restore = checkpoint.Restore(index_.get());
  found_.checkpoint_epoch = checkpoint.row().epoch;
  if (restore.found && !restore.restored) {
    AddProblem("{}", restore.problem);
  }
  found_.linked = restore.counts.linked;
  found_.unreachable = restore.counts.orphans;
  found_.pending = index_->Counts().pending - found_.unreachable;
  if (found_.unreachable > kFewOrphans &&
      found_.unreachable * kOrphanPart > found_.linked + found_.unreachable) {
    AddProblem(
        "links lead to only {} of the {} patterns in the graph; the next start links the others",
        found_.linked, found_.linked + found_.unreachable);
  }
  if (found_.linked == 0 || options_.sample == 0 || options_.neighbours == 0) {
    return absl::OkStatus();
  }
  ChooseSample();
  return Recall();
}

void CollectionCheck::ChooseSample() {
  std::vector<uint32_t> slots;
  for (const auto& [slot, held] : held_) {
    if (held.has_vector) {
      slots.push_back(slot);
    }
  }
  Random random(options_.seed);
  random.Shuffle(std::span(slots));
  slots.resize(std::min(slots.size(), options_.sample));
  for (const uint32_t slot : slots) {
    const auto vec = database_.Get(ColumnFamily::kVec, SlotKey(found_.collection, slot));
    auto embedding = vec.ok() ? patterns::DecodeVecRow(*vec, found_.dimension) : vec.status();
    if (embedding.ok()) {
      sample_.push_back({slot, held_[slot].row.bank, *std::move(embedding), {}});
    }
  }
  const auto offer = [&](const RowView& row) {
    const auto found = held_.find(ReadKeyU32(row.key, sizeof(uint32_t)).value_or(0));
    const auto embedding = patterns::DecodeVecRow(row.value, found_.dimension);
    if (found == held_.end() || !embedding.ok()) {
      return;
    }
    for (Sampled& sampled : sample_) {
      if (sampled.bank == found->second.row.bank) {
        sampled.Offer(CosineSimilarity(sampled.embedding, *embedding).value_or(0),
                      options_.neighbours);
      }
    }
  };
  Scan(ColumnFamily::kVec, offer, [](std::string_view) {});
}

absl::Status CollectionCheck::Recall() {
  size_t wanted = 0;
  size_t right = 0;
  for (const Sampled& sampled : sample_) {
    HnswQuery query{.vector = sampled.embedding, .k = options_.neighbours, .path = HnswPath::kWalk};
    query.filter.banks = uint64_t{1} << sampled.bank;
    ASSIGN_OR_RETURN(const std::vector<HnswHit> hits, index_->Search(query));
    wanted += sampled.nearest.size();
    for (const HnswHit& hit : hits) {
      ASSIGN_OR_RETURN(const std::string vec,
                       database_.Get(ColumnFamily::kVec, SlotKey(found_.collection, hit.label)));
      ASSIGN_OR_RETURN(const std::vector<float> embedding,
                       patterns::DecodeVecRow(vec, found_.dimension));
      right += CosineSimilarity(sampled.embedding, embedding).value_or(0) >=
               sampled.nearest.back() - kSameSimilarity;
    }
  }
  found_.sampled = sample_.size();
  found_.recall = wanted == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(wanted);
  if (found_.recall < options_.min_recall) {
    AddProblem(
        "the graph finds {:.1f} % of the nearest neighbours of {} patterns, less than {:.1f} %; "
        "export the patterns and import them into a new store",
        100 * found_.recall, found_.sampled, 100 * options_.min_recall);
  }
  return absl::OkStatus();
}

absl::StatusOr<PatternCollectionCheck> CollectionCheck::Run(const patterns::CollectionRow& row) {
  // The graph may have been built with another m than the collection was made for.
  const auto stored =
      database_.Get(ColumnFamily::kDefault, patterns::CheckpointKey(found_.collection));
  const auto checkpoint = patterns::DecodeCheckpointRow(stored.value_or(""));
  const uint32_t m = checkpoint.ok() && checkpoint->m != 0 ? checkpoint->m : row.m;
  ASSIGN_OR_RETURN(index_, HnswIndex::Create({.dimension = row.dimension, .m = m}));
  Scan(
      ColumnFamily::kSlot, [this](const RowView& view) { LookAtSlot(view); },
      [this](std::string_view key) { LoseSlot(key); });
  Scan(
      ColumnFamily::kMeta, [this](const RowView& view) { LookAtMeta(view); },
      [this](std::string_view key) { LoseMeta(key); });
  Scan(
      ColumnFamily::kPayload, [this](const RowView& view) { LookAtPayload(view); },
      [this](std::string_view key) {
        if (const auto id = IdOfKey(key)) {
          lost_payloads_.insert(*id);
        }
      });
  Scan(
      ColumnFamily::kVec, [this](const RowView& view) { LookAtVector(view); },
      [this](std::string_view key) {
        if (const auto slot = ReadKeyU32(key, sizeof(uint32_t))) {
          lost_vectors_.insert(*slot);
        }
      });
  Count();
  RETURN_IF_ERROR(CheckGraph());
  return found_;
}

}  // namespace

absl::StatusOr<std::vector<PatternCollectionCheck>> VerifyPatterns(
    Database& database, const PatternCheckOptions& options, StoreReport* report) {
  std::vector<std::pair<PatternCollectionCheck, patterns::CollectionRow>> collections;
  const absl::Status scanned = database.Scan(
      ColumnFamily::kDefault, patterns::kCollectionKeys, EndOfPrefix(patterns::kCollectionKeys),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        const auto number = ReadKeyU32(row.key, patterns::kCollectionKeys.size());
        const auto collection = patterns::DecodeCollectionRow(row.value);
        if (!number || !collection.ok()) {
          report->AddProblem("patterns: collection row " + ToHex(AsBytes(row.key)) + " is damaged");
        } else {
          collections.push_back({{.collection = *number,
                                  .model_hash = collection->model_hash,
                                  .dimension = collection->dimension},
                                 *collection});
        }
        return true;
      },
      // Database::Verify reports this row; the ones after it are still checked.
      [](std::string_view) -> absl::StatusOr<bool> { return true; });
  if (!scanned.ok()) {
    report->AddProblem("patterns: not all collections could be read: " + MessageOf(scanned));
  }
  std::vector<PatternCollectionCheck> checks;
  for (const auto& [found, row] : collections) {
    ASSIGN_OR_RETURN(checks.emplace_back(),
                     CollectionCheck(database, options, found, report).Run(row));
  }
  return checks;
}

}  // namespace ruvd::storage
