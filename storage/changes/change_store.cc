// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/changes/change_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "storage/changes/change_rows.h"
#include "storage/db/key_scope.h"
#include "storage/db/row_key.h"
#include "storage/reasons.h"
#include "storage/row_text.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kChangeFamily = ColumnFamily::kChange;

absl::Status NoSuchChange(std::string_view token) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "no change {} is listed; `ruvd learn changes` shows the listed ones", token);
}

// Returns how many changes like those of a kind are listed.
size_t CapacityOf(const ChangeStoreOptions& options, ChangeKind kind) {
  return kind == ChangeKind::kSessionTaught      ? options.session_capacity
         : kind == ChangeKind::kLessonRemembered ? options.lesson_capacity
                                                 : options.capacity;
}

// Returns whether changes of two kinds share one capacity.
bool AreOfOneSort(ChangeKind a, ChangeKind b) {
  const auto lasts = [](ChangeKind kind) {
    return kind != ChangeKind::kSessionTaught && kind != ChangeKind::kLessonRemembered;
  };
  return a == b || (lasts(a) && lasts(b));
}

// A session's memory does not outlive the process, so its changes need not survive a power cut.
Durability DurabilityOf(const LearningChange& change) {
  return change.kind == ChangeKind::kSessionTaught ? Durability::kProcessCrash
                                                   : Durability::kPowerLoss;
}

absl::Status Check(const LearningChange& change, std::span<const PatternImage> images) {
  constexpr char kChange[] = "a change that learning makes";
  for (const std::string& response : change.responses) {
    RETURN_IF_ERROR(CheckTexts(kChange, {response}));
  }
  RETURN_IF_ERROR(CheckTexts(kChange, {change.user_id, change.session_id, change.adapter_name}));
  if (images.size() > limits::kMaxChangeImages) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
        "a change has {} patterns before it, but the limit is {}; list it as several changes",
        images.size(), limits::kMaxChangeImages);
  }
  return absl::OkStatus();
}

}  // namespace

ChangeStore::Entry ChangeStore::EntryOf(const LearningChange& change) {
  Entry entry{.images = change.images,
              .image_bytes = change.image_bytes,
              .patterns = {},
              .kind = change.kind};
  for (const std::optional<PatternId>& id : {change.pattern, change.merged}) {
    if (id) {
      entry.patterns.push_back(*id);
    }
  }
  return entry;
}

absl::StatusOr<std::unique_ptr<ChangeStore>> ChangeStore::Open(Database& database,
                                                               const ChangeStoreOptions& options) {
  std::unique_ptr<ChangeStore> store(new ChangeStore(database, options));
  std::map<uint64_t, Entry> entries;
  uint64_t bytes = 0;
  const auto load = [&](const RowView& row) -> absl::StatusOr<bool> {
    const uint64_t number = changes::NumberOfKey(row.key).value_or(0);
    const auto change = changes::DecodeChange(row.value, number);
    if (change.ok() && number > 0) {
      entries[number] = EntryOf(*change);
      bytes += change->image_bytes;
    }
    return true;
  };
  const auto pass = [](std::string_view) -> absl::StatusOr<bool> { return true; };
  RETURN_IF_ERROR(database.Scan(kChangeFamily, changes::kChangePrefix,
                                EndOfPrefix(changes::kChangePrefix), load, pass));
  std::vector<uint64_t> forgotten;
  for (const auto& [number, entry] : entries) {
    if (entry.kind == ChangeKind::kSessionTaught) {
      forgotten.push_back(number);
    }
  }
  const MutexLock lock(store->mutex_);
  store->entries_ = std::move(entries);
  store->image_bytes_ = bytes;
  store->Drop(forgotten, true).IgnoreError();  // on a full disk the next start does it
  return store;
}

void ChangeStore::Put(const LearningChange& change, Batch* batch) {
  const KeyScope scope = change.user_id.empty() ? KeyScope() : KeyScope::User(change.user_id);
  batch->Put(kChangeFamily, changes::ChangeKey(change.number), changes::EncodeChange(change), 0,
             scope);
}

void ChangeStore::DeleteImages(uint64_t number, const Entry& entry, Batch* batch) {
  for (uint32_t i = 0; i < entry.images; ++i) {
    batch->Delete(kChangeFamily, changes::ImageKey(number, i));
  }
}

absl::StatusOr<LearningChange> ChangeStore::Read(uint64_t number) const {
  ASSIGN_OR_RETURN(const std::string row, database_.Get(kChangeFamily, changes::ChangeKey(number)));
  return changes::DecodeChange(row, number);
}

absl::Status ChangeStore::Drop(std::span<const uint64_t> numbers, bool all) {
  Batch batch;
  batch.MarkFreesSpace();
  uint64_t bytes = 0;
  for (const uint64_t number : numbers) {
    const Entry& entry = entries_.at(number);
    DeleteImages(number, entry, &batch);
    bytes += entry.image_bytes;
    const auto change = Read(number);
    if (all || !change.ok()) {
      batch.Delete(kChangeFamily, changes::ChangeKey(number));
      continue;
    }
    LearningChange without = *change;
    without.images = 0;
    without.image_bytes = 0;
    Put(without, &batch);
  }
  if (numbers.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  image_bytes_ -= bytes;
  for (const uint64_t number : numbers) {
    if (all) {
      entries_.erase(number);
    } else {
      entries_.at(number) = {};
    }
  }
  return absl::OkStatus();
}

absl::Status ChangeStore::MakeRoom(const LearningChange& change) {
  const size_t capacity = CapacityOf(options_, change.kind);
  std::vector<uint64_t> oldest;  // the oldest changes of its sort
  for (const auto& [number, entry] : entries_) {
    if (AreOfOneSort(entry.kind, change.kind)) {
      oldest.push_back(number);
    }
  }
  oldest.resize(oldest.size() < capacity ? 0 : oldest.size() + 1 - capacity);
  RETURN_IF_ERROR(Drop(oldest, true));
  oldest.clear();
  uint64_t held = image_bytes_;
  for (const auto& [number, entry] : entries_) {
    if (held + change.image_bytes <= options_.image_bytes) {
      break;
    }
    if (entry.images > 0) {
      oldest.push_back(number);
      held -= entry.image_bytes;
    }
  }
  return Drop(oldest, false);
}

absl::StatusOr<LearningChange> ChangeStore::Add(LearningChange change,
                                                std::span<const PatternImage> images,
                                                const std::function<bool()>& still) {
  RETURN_IF_ERROR(Check(change, images));
  change.responses.resize(std::min(change.responses.size(), limits::kMaxChangeResponses));
  std::array<uint8_t, sizeof(change.mark)> mark{};
  privacy::SecureRandomBytes(mark);
  std::memcpy(&change.mark, mark.data(), sizeof(change.mark));
  std::vector<std::string> rows;
  for (const PatternImage& image : images) {
    rows.push_back(changes::EncodeImage(image));
    change.image_bytes += rows.back().size();
  }
  change.images = static_cast<uint32_t>(rows.size());
  const MutexLock lock(mutex_);
  if (still && !still()) {
    return Error(absl::StatusCode::kAborted, reasons::kChanged,
                 "what the change was learned from was erased meanwhile; it is not listed");
  }
  RETURN_IF_ERROR(MakeRoom(change));
  change.number = entries_.empty() ? 1 : entries_.rbegin()->first + 1;
  Batch batch;
  Put(change, &batch);
  for (uint32_t i = 0; i < change.images; ++i) {
    batch.Put(kChangeFamily, changes::ImageKey(change.number, i), rows[i], 0, options_.image_scope);
  }
  RETURN_IF_ERROR(database_.Write(std::move(batch), DurabilityOf(change)));
  entries_[change.number] = EntryOf(change);
  image_bytes_ += change.image_bytes;
  return change;
}

absl::Status ChangeStore::Remove(uint64_t number) {
  const MutexLock lock(mutex_);
  return entries_.contains(number) ? Drop(std::span(&number, 1), true) : absl::OkStatus();
}

absl::StatusOr<LearningChange> ChangeStore::Find(std::string_view token) const {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error != std::errc() || end == token.data() + token.size() || *end != '-') {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "\"{}\" is not an undo token; use a token from the answer to feedback or from "
                 "`ruvd learn changes`, such as 12-9f03ab77",
                 token.substr(0, limits::kMaxResponseIdBytes));
  }
  const MutexLock lock(mutex_);
  const absl::StatusOr<LearningChange> change = Read(number);
  if (absl::IsNotFound(change.status()) || (change.ok() && TokenOf(*change) != token)) {
    return NoSuchChange(token);
  }
  return change;
}

absl::StatusOr<std::vector<LearningChange>> ChangeStore::List(size_t count) const {
  std::vector<LearningChange> list;
  const MutexLock lock(mutex_);
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && list.size() < count; ++entry) {
    absl::StatusOr<LearningChange> change = Read(entry->first);
    if (absl::IsNotFound(change.status()) || absl::IsDataLoss(change.status())) {
      continue;  // its user was erased, or the row is damaged and must not hide others
    }
    RETURN_IF_ERROR(change.status());
    list.push_back(*std::move(change));
  }
  return list;
}

absl::StatusOr<std::vector<PatternImage>> ChangeStore::ImagesOf(
    const LearningChange& change) const {
  std::vector<PatternImage> images;
  const MutexLock lock(mutex_);
  const absl::Status gone = Error(
      absl::StatusCode::kFailedPrecondition, reasons::kCannotUndo,
      "the state before change {} is not kept any more: newer changes needed the room, or the "
      "pattern or its collection was removed; delete the pattern to remove what was learned",
      TokenOf(change));
  const auto entry = entries_.find(change.number);
  if (entry == entries_.end() || entry->second.images == 0) {
    return gone;
  }
  for (uint32_t i = 0; i < entry->second.images; ++i) {
    const absl::StatusOr<std::string> row =
        database_.Get(kChangeFamily, changes::ImageKey(change.number, i));
    if (absl::IsNotFound(row.status())) {
      return gone;
    }
    RETURN_IF_ERROR(row.status());
    ASSIGN_OR_RETURN(images.emplace_back(), changes::DecodeImage(*row));
  }
  return images;
}

absl::Status ChangeStore::SetUndone(uint64_t number, int64_t now_ms) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(LearningChange change, Read(number));
  const auto entry = entries_.find(number);
  if (entry == entries_.end()) {
    return NoSuchChange(TokenOf(change));
  }
  Batch batch;
  DeleteImages(number, entry->second, &batch);
  change.undone_ms = now_ms;
  change.images = 0;
  change.image_bytes = 0;
  Put(change, &batch);
  RETURN_IF_ERROR(database_.Write(std::move(batch), DurabilityOf(change)));
  image_bytes_ -= entry->second.image_bytes;
  entry->second = EntryOf(change);
  return absl::OkStatus();
}

absl::Status ChangeStore::ForgetPattern(const PatternId& id) {
  const MutexLock lock(mutex_);
  std::vector<uint64_t> of_it;
  for (const auto& [number, entry] : entries_) {
    if (entry.images > 0 && std::ranges::find(entry.patterns, id) != entry.patterns.end()) {
      of_it.push_back(number);
    }
  }
  return Drop(of_it, false);
}

absl::Status ChangeStore::WithRewritesPaused(const std::function<absl::Status()>& erase) {
  const MutexLock lock(mutex_);
  return erase();
}

absl::StatusOr<bool> ChangeStore::IsPaused() const {
  return database_.Contains(kChangeFamily, changes::kPausedKey);
}

absl::Status ChangeStore::SetPaused(bool paused) {
  Batch batch;
  if (paused) {
    batch.Put(kChangeFamily, changes::kPausedKey, "");
  } else {
    batch.Delete(kChangeFamily, changes::kPausedKey);
  }
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

size_t ChangeStore::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace ruvd::storage
