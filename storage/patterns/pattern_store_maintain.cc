// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file has PatternStore's work off the request path, in steps between which writers get their
// turn.

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::storage {
namespace {

using patterns::IdKey;

// The work of one step, while writers wait: a link takes about half a millisecond.
constexpr size_t kLinksOfAStep = 1;
constexpr size_t kRepairsOfAStep = 32;
constexpr size_t kRemovalsOfAStep = 32;
// A checkpoint rewrites the whole graph, so at least this part of its rows must have changed.
constexpr size_t kCheckpointPart = 8;

}  // namespace

absl::StatusOr<size_t> PatternStore::ExpireBatch() {
  const Writing writing(writer_);
  const std::vector<uint32_t> slots =
      slots_.Expired(database_.clock().WallMillis(), kRemovalsOfAStep);
  if (!slots.empty()) {
    RETURN_IF_ERROR(RemoveSlots(slots, PatternChangeKind::kExpire));
  }
  return slots.size();
}

absl::StatusOr<size_t> PatternStore::EvictBatch() {
  const Writing writing(writer_);
  const size_t surplus = slots_.live() - std::min(slots_.live(), options_.capacity);
  if (surplus == 0) {
    return 0;
  }
  const std::vector<uint32_t> slots = slots_.LeastValuable(std::min(surplus, kRemovalsOfAStep));
  RETURN_IF_ERROR(RemoveSlots(slots, PatternChangeKind::kEvict));
  return slots.size();
}

size_t PatternStore::LinkBatch() {
  const Writing writing(writer_);
  const size_t linked = index_->LinkBatch(kLinksOfAStep);
  graph_changes_ += linked;
  return linked;
}

bool PatternStore::RepairBatch() {
  const Writing writing(writer_);
  return index_->RepairBatch(kRepairsOfAStep);
}

absl::StatusOr<size_t> PatternStore::ForgetTombstones(std::span<const PatternId> ids) {
  const Writing writing(writer_);
  const int64_t oldest = database_.clock().WallMillis() - options_.tombstone_retention.count();
  Batch batch;
  size_t forgotten = 0;
  for (const PatternId& id : ids) {
    const absl::StatusOr<std::string> stored =
        database_.Get(ColumnFamily::kMeta, IdKey(collection_, id));
    const auto row = stored.ok() ? patterns::DecodeMetaRow(*stored, id)
                                 : absl::StatusOr<patterns::MetaRow>(stored.status());
    // The pattern may have been stored again meanwhile. Damaged rows are skipped.
    if (row.ok() && row->tombstone && row->pattern.updated_ms < oldest) {
      batch.Delete(ColumnFamily::kMeta, IdKey(collection_, id));
      ++forgotten;
    }
  }
  if (!batch.empty()) {
    RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  }
  return forgotten;
}

absl::StatusOr<size_t> PatternStore::ForgetBatch() {
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
    const auto meta = patterns::DecodeMetaRow(row.value, id);
    if (meta.ok() && meta->tombstone && meta->pattern.updated_ms < oldest) {
      old.push_back(id);
    } else if (meta.ok() && meta->tombstone) {
      ++tombstones;
    }
    return true;
  };
  const auto pass = [](std::string_view) -> absl::StatusOr<bool> { return true; };
  const absl::Status walked = database_.Scan(
      ColumnFamily::kMeta, walk_key_.empty() ? prefix : walk_key_, EndOfPrefix(prefix), look, pass);
  walk_tombstones_ += tombstones;
  // the walk cannot pass a place that RocksDB cannot read
  walk_key_ = walked.ok() ? std::move(next) : "";
  if (walk_key_.empty()) {
    walk_ended_at_ = now;
    const std::unique_lock state(state_);
    tombstones_ = std::exchange(walk_tombstones_, 0);
  }
  RETURN_IF_ERROR(walked);
  size_t forgotten = 0;
  for (std::span<const PatternId> rest(old); !rest.empty();) {
    const auto step = rest.first(std::min(rest.size(), kRemovalsOfAStep));
    ASSIGN_OR_RETURN(const size_t gone, ForgetTombstones(step));
    forgotten += gone;
    rest = rest.subspan(step.size());
  }
  return forgotten;
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

void PatternStore::RecordCheckpointProblem(std::string problem) {
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
  RecordCheckpointProblem(MessageOf(saved));
  return saved;
}

absl::Status PatternStore::Checkpoint() {
  const MutexLock lock(maintenance_);
  if (graph_changes_.load() == 0 && checkpoint_->row().epoch != 0 && !checkpoint_failed_) {
    return absl::OkStatus();
  }
  return SaveCheckpoint();
}

absl::Status PatternStore::RemoveBatch(bool ages_count, PatternMaintenance* done) {
  done->more = false;  // a step that fails is not tried again at once
  size_t expired = 0;
  if (ages_count) {
    ASSIGN_OR_RETURN(expired, ExpireBatch());
    done->expired += expired;
  }
  ASSIGN_OR_RETURN(const size_t evicted, EvictBatch());
  done->evicted += evicted;
  done->more = expired + evicted > 0;
  return absl::OkStatus();
}

absl::Status PatternStore::MaintainRows(TimePoint end, PatternMaintenance* done) {
  const bool ages_count = wall_.Trusted();
  do {
    RETURN_IF_ERROR(RemoveBatch(ages_count, done));
  } while (done->more && database_.clock().Now() < end);
  if (ages_count) {
    ASSIGN_OR_RETURN(done->forgotten, ForgetBatch());
  }
  return absl::OkStatus();
}

void PatternStore::MaintainGraph(TimePoint end, PatternMaintenance* done) {
  bool more = false;
  do {
    // this comes first, because links between removed rows cost most
    const bool repairing = RepairBatch();
    const size_t linked = LinkBatch();
    done->linked += linked;
    more = linked > 0 || repairing;
  } while (more && database_.clock().Now() < end);
  done->more = done->more || more;
}

PatternMaintenance PatternStore::Maintain(Duration budget) {
  PatternMaintenance done;
  {
    const MutexLock lock(maintenance_);
    const TimePoint end = database_.clock().Now() + budget;
    done.status = MaintainRows(end, &done);
    MaintainGraph(end, &done);  // this needs no disk
    if (CheckpointIsDue()) {
      done.saved = SaveCheckpoint().ok();
    }
  }
  if (done.expired + done.evicted > 0) {
    done.status.Update(Acknowledge());
  }
  return done;
}

}  // namespace ruvd::storage
