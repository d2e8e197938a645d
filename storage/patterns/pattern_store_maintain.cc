// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// PatternStore: work off the request path, in steps between which writers get their turn.

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd {
namespace {

using patterns::IdKey;

// What a step does while writers wait: a link is about half a millisecond.
constexpr size_t kLinksOfAStep = 1;
constexpr size_t kRepairsOfAStep = 32;
constexpr size_t kRemovalsOfAStep = 32;
constexpr size_t kRewritesOfAStep = 32;
// A checkpoint rewrites the whole graph: no sooner than for this part of its rows.
constexpr size_t kCheckpointPart = 8;

}  // namespace

absl::StatusOr<size_t> PatternStore::ExpireSome() {
  const Writing writing(writer_);
  const std::vector<uint32_t> slots =
      slots_.Expired(database_.clock().WallMillis(), kRemovalsOfAStep);
  if (!slots.empty()) {
    RETURN_IF_ERROR(RemoveSlots(slots, PatternChangeKind::kExpire));
  }
  return slots.size();
}

absl::StatusOr<size_t> PatternStore::EvictSome() {
  const Writing writing(writer_);
  const size_t surplus = slots_.live() - std::min(slots_.live(), options_.capacity);
  if (surplus == 0) {
    return 0;
  }
  const std::vector<uint32_t> slots = slots_.LeastValuable(std::min(surplus, kRemovalsOfAStep));
  RETURN_IF_ERROR(RemoveSlots(slots, PatternChangeKind::kEvict));
  return slots.size();
}

// Slot rows of older programs, in today's form; those that changed since have it already.
absl::StatusOr<size_t> PatternStore::RewriteSome() {
  const Writing writing(writer_);
  size_t done = 0;
  for (; done < kRewritesOfAStep && !outdated_.empty(); ++done) {
    const uint32_t slot = outdated_.back();
    const patterns::SlotState& state = slots_.at(slot);
    if (state.live) {
      ASSIGN_OR_RETURN(const patterns::MetaRow meta, ReadMeta(state.id, state.generation));
      RETURN_IF_ERROR(Rewrite(slot, meta, Batch()));
    }
    outdated_.pop_back();
  }
  return done;
}

size_t PatternStore::LinkSome() {
  const Writing writing(writer_);
  const size_t linked = index_->LinkSome(kLinksOfAStep);
  graph_changes_ += linked;
  return linked;
}

bool PatternStore::RepairSome() {
  const Writing writing(writer_);
  return index_->RepairSome(kRepairsOfAStep);
}

absl::StatusOr<size_t> PatternStore::ForgetTombstones(const std::vector<PatternId>& ids) {
  const Writing writing(writer_);
  const int64_t oldest = database_.clock().WallMillis() - options_.tombstone_retention.count();
  Batch batch;
  size_t forgotten = 0;
  for (const PatternId& id : ids) {
    const absl::StatusOr<std::string> stored =
        database_.Get(ColumnFamily::kMeta, IdKey(collection_, id));
    RETURN_IF_ERROR(stored.status());
    ASSIGN_OR_RETURN(const patterns::MetaRow row, patterns::DecodeMetaRow(*stored, id));
    if (row.tombstone && row.pattern.updated_ms < oldest) {  // and not stored again meanwhile
      batch.Delete(ColumnFamily::kMeta, IdKey(collection_, id));
      ++forgotten;
    }
  }
  if (!batch.empty()) {
    RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  }
  return forgotten;
}

absl::StatusOr<size_t> PatternStore::ForgetSome() {
  const TimePoint now = database_.clock().Now();
  if (walk_ended_at_ && now - *walk_ended_at_ < limits::kTombstoneWalkInterval) {
    return 0;
  }
  const std::string prefix = patterns::CollectionPrefix(collection_);
  const int64_t oldest = database_.clock().WallMillis() - options_.tombstone_retention.count();
  std::vector<PatternId> old;
  std::string next;
  size_t seen = 0;
  size_t tombstones = 0;
  const auto look = [&](const RowView& row) -> absl::StatusOr<bool> {
    if (seen++ == limits::kTombstoneWalkRows) {
      next = row.key;
      return false;
    }
    PatternId id{};
    if (row.key.size() == prefix.size() + id.size()) {
      std::copy_n(row.key.begin() + static_cast<ptrdiff_t>(prefix.size()), id.size(), id.begin());
    }
    ASSIGN_OR_RETURN(const patterns::MetaRow meta, patterns::DecodeMetaRow(row.value, id));
    if (meta.tombstone && meta.pattern.updated_ms < oldest) {
      old.push_back(id);
    } else if (meta.tombstone) {
      ++tombstones;
    }
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kMeta, walk_key_.empty() ? prefix : walk_key_,
                                 EndOfPrefix(prefix), look));
  walk_tombstones_ += tombstones;
  walk_key_ = std::move(next);
  if (walk_key_.empty()) {
    walk_ended_at_ = now;
    const std::unique_lock state(state_);
    tombstones_ = std::exchange(walk_tombstones_, 0);
  }
  return ForgetTombstones(old);
}

bool PatternStore::CheckpointIsDue() const {
  const size_t changes = graph_changes_.load();
  if (changes == 0) {
    return false;
  }
  const bool many =
      changes >= std::max(options_.checkpoint_changes, index_->Counts().live / kCheckpointPart);
  const bool late = database_.clock().Now() - checkpoint_tried_at_ >= options_.checkpoint_interval;
  return late || (many && !checkpoint_failed_);
}

void PatternStore::NoteCheckpoint(std::string problem) {
  const patterns::CheckpointRow& row = checkpoint_->row();
  const std::unique_lock state(state_);
  checkpoint_stats_.epoch = row.epoch;
  checkpoint_stats_.created_ms = row.created_ms;
  checkpoint_stats_.bytes = row.bytes;
  checkpoint_stats_.rows = row.rows;
  checkpoint_stats_.problem = std::move(problem);
}

absl::Status PatternStore::SaveCheckpoint() {
  const size_t changes = graph_changes_.load();
  checkpoint_tried_at_ = database_.clock().Now();
  const absl::Status saved = checkpoint_->Save(*index_);
  checkpoint_failed_ = !saved.ok();
  if (saved.ok()) {
    graph_changes_ -= changes;
  }
  NoteCheckpoint(MessageOf(saved));
  return saved;
}

absl::Status PatternStore::Checkpoint() {
  const MutexLock lock(maintenance_);
  return SaveCheckpoint();
}

absl::Status PatternStore::MaintainRows(TimePoint end, PatternMaintenance* done) {
  do {
    ASSIGN_OR_RETURN(const size_t expired, ExpireSome());
    ASSIGN_OR_RETURN(const size_t evicted, EvictSome());
    ASSIGN_OR_RETURN(const size_t rewritten, RewriteSome());
    if (expired + evicted > 0) {
      Notify();
    }
    done->expired += expired;
    done->evicted += evicted;
    done->rewritten += rewritten;
    done->more = expired + evicted + rewritten > 0;
  } while (done->more && database_.clock().Now() < end);
  ASSIGN_OR_RETURN(done->forgotten, ForgetSome());
  return absl::OkStatus();
}

void PatternStore::MaintainGraph(TimePoint end, PatternMaintenance* done) {
  bool more = false;
  do {
    const size_t linked = LinkSome();
    const bool repairing = RepairSome();
    done->linked += linked;
    more = linked > 0 || repairing;
  } while (more && database_.clock().Now() < end);
  done->more = done->more || more;
}

absl::StatusOr<PatternMaintenance> PatternStore::Maintain(Duration budget) {
  const MutexLock lock(maintenance_);
  const TimePoint end = database_.clock().Now() + budget;
  PatternMaintenance done;
  const absl::Status rows = MaintainRows(end, &done);
  MaintainGraph(end, &done);  // needs no disk
  RETURN_IF_ERROR(rows);
  if (CheckpointIsDue()) {
    done.saved = SaveCheckpoint().ok();
  }
  return done;
}

}  // namespace ruvd
