// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/lessons/lesson_store.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_scan.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kLesson;

// A page that is being filled.
class PageFiller {
 public:
  explicit PageFiller(const LessonQuery& query) : query_(query) {}

  // Takes the lesson; returns whether more fit.
  bool Add(StoredLesson lesson) {
    const size_t grown = lesson.prompt.size() + lesson.text.size();
    const size_t count = page_.lessons.size();
    if (count >= query_.most || (count > 0 && bytes_ + grown > query_.most_bytes)) {
      page_.next = lesson.number;
      return false;
    }
    bytes_ += grown;
    page_.lessons.push_back(std::move(lesson));
    return true;
  }
  LessonPage Take() { return std::move(page_); }

 private:
  const LessonQuery& query_;
  LessonPage page_;
  size_t bytes_ = 0;
};

}  // namespace

LessonStore::Turn::Turn(const LessonStore& store) : store_(store) {
  store.waiting_.fetch_add(1);
  store.mutex_.Lock();
  if (store.waiting_.fetch_sub(1) == 1) {
    store.waiting_.notify_all();
  }
}

LessonStore::Turn::~Turn() {
  store_.mutex_.Unlock();
}

absl::StatusOr<std::unique_ptr<LessonStore>> LessonStore::Open(Database& database,
                                                               const LessonStoreOptions& options) {
  std::unique_ptr<LessonStore> store(new LessonStore(database, options));
  RETURN_IF_ERROR(store->ReadCounts());
  store->PurgeErased().IgnoreError();  // on a full disk Add or the next start does it
  return store;
}

// Rows whose values do not open count by their keys.
absl::Status LessonStore::ReadCounts() {
  const Turn turn(*this);
  const auto count = [&](std::string_view key) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (const auto member = lessons::MemberOf(key)) {
      ++sources_[member->source];
      ++size_;
      last_number_ = std::max(last_number_, member->number);
    }
    return true;
  };
  ASSIGN_OR_RETURN(const bool handled, database_.Contains(kFamily, lessons::kHandledKey));
  withdrawals_.made = handled ? 0 : 1;
  RETURN_IF_ERROR(database_.Scan(
      kFamily, lessons::kMemberPrefix, EndOfPrefix(lessons::kMemberPrefix),
      [&](const RowView& row) { return count(row.key); }, count));
  return lessons::ScanEntries(database_, 0,
                              [&](const LessonEntry& entry) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                bytes_ += entry.bytes;
                                last_number_ = std::max(last_number_, entry.number);
                                return true;
                              });
}

absl::StatusOr<StoredLesson> LessonStore::Get(const LessonId& id) const {
  const absl::StatusOr<std::string> row = database_.Get(kFamily, lessons::LessonKey(id));
  if (absl::IsNotFound(row.status())) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the store has no lesson {}; it was withdrawn or never added", ToHex(id));
  }
  RETURN_IF_ERROR(row.status());
  return lessons::DecodeLesson(*row, id);
}

absl::StatusOr<bool> LessonStore::Contains(const LessonId& id) const {
  return database_.Contains(kFamily, lessons::LessonKey(id));
}

absl::StatusOr<LessonSource> LessonStore::GetSource(const LessonSourceId& id) const {
  const absl::StatusOr<std::string> row = database_.Get(kFamily, lessons::SourceKey(id));
  if (absl::IsNotFound(row.status())) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the store has no source {} of lessons; it was withdrawn or never added",
                 ToHex(id));
  }
  RETURN_IF_ERROR(row.status());
  ASSIGN_OR_RETURN(LessonSource source, lessons::DecodeSource(*row, id));
  const Turn turn(*this);
  const auto counted = sources_.find(id);
  source.lessons = counted == sources_.end() ? 0 : counted->second;
  return source;
}

absl::Status LessonStore::ForEachEntry(
    const std::function<bool(const LessonEntry&)>& callback) const {
  return lessons::ScanEntriesBackward(database_, callback);
}

absl::StatusOr<LessonPage> LessonStore::List(const LessonQuery& query) const {
  if (query.most == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a page of 0 lessons shows nothing; ask for at least 1");
  }
  PageFiller page(query);
  std::optional<std::set<LessonSourceId>> of_user;
  if (query.user_id) {
    bool damaged = false;
    ASSIGN_OR_RETURN(of_user, SourcesOf(*query.user_id, &damaged));
  }
  const auto show = [&](const LessonEntry& entry) -> absl::StatusOr<bool> {
    if (of_user && !of_user->contains(entry.source)) {
      return true;
    }
    absl::StatusOr<StoredLesson> lesson = Get(entry.id);
    if (lessons::MaySkip(lesson.status())) {
      return true;
    }
    RETURN_IF_ERROR(lesson.status());
    return page.Add(*std::move(lesson));
  };
  const auto show_number = [&](uint64_t number) -> absl::StatusOr<bool> {
    const absl::StatusOr<LessonEntry> entry = lessons::ReadEntry(database_, number);
    if (lessons::MaySkip(entry.status())) {
      return true;
    }
    RETURN_IF_ERROR(entry.status());
    return show(*entry);
  };
  RETURN_IF_ERROR(query.source
                      ? lessons::ScanMembers(database_, *query.source, query.from, show_number)
                      : lessons::ScanEntries(database_, query.from, show));
  return page.Take();
}

absl::StatusOr<std::vector<LessonSource>> LessonStore::ListSources(
    const std::optional<LessonSourceId>& after, size_t most) const {
  std::vector<LessonSourceId> ids;
  {
    const Turn turn(*this);
    auto next = after ? sources_.upper_bound(*after) : sources_.begin();
    for (; next != sources_.end(); ++next) {
      ids.push_back(next->first);
    }
  }
  std::vector<LessonSource> found;
  for (const LessonSourceId& id : ids) {
    if (found.size() == most) {
      break;
    }
    absl::StatusOr<LessonSource> source = GetSource(id);
    if (source.ok()) {
      found.push_back(*std::move(source));
    } else if (!lessons::MaySkip(source.status())) {
      return source.status();
    }
  }
  return found;
}

absl::Status LessonStore::WithRewritesPaused(const std::function<absl::Status()>& erase) {
  const Turn turn(*this);
  ++erasures_;
  return erase();
}

size_t LessonStore::size() const {
  const Turn turn(*this);
  return size_;
}

uint64_t LessonStore::bytes() const {
  const Turn turn(*this);
  return bytes_;
}

}  // namespace ruvd::storage
