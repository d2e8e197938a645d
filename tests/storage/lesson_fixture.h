// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_store.h"
#include "storage/verify/row_checks.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {

// Returns a source named after its file and texts that occur nowhere else.
inline LessonSource SourceOf(const std::string& name, const std::string& user_id = "") {
  return {.name = name,
          .content_hash = Sha256(name),
          .bytes = 100,
          .user_id = user_id,
          .created_ms = 1'700'000'000'000};
}
inline std::vector<NewLesson> TextsOf(const std::string& name, size_t count) {
  std::vector<NewLesson> lessons;
  for (size_t i = 0; i < count; ++i) {
    lessons.push_back({.text = name + " says " + std::to_string(i)});
  }
  return lessons;
}

// An open store of lessons whose batches have three lessons.
class LessonTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.batch = 3;
    Reopen();
  }
  void TearDown() override {
    Close();
    StoreTest::TearDown();
  }
  void Close() {
    lessons_.reset();
    database_.reset();
  }
  void Reopen() { Reopen(Options()); }
  void Reopen(DatabaseOptions options) {
    Close();
    database_ = OpenStore(std::move(options));
    ASSERT_NE(database_, nullptr);
    auto lessons = LessonStore::Open(*database_, options_);
    ASSERT_TRUE(lessons.ok()) << lessons.status();
    lessons_ = *std::move(lessons);
  }
  void SetFreeBytes(uint64_t bytes) {
    free_bytes_ = bytes;
    clock_.Advance(limits::kReserveProbeInterval);
  }
  AddedLessons Add(const LessonSource& source, const std::vector<NewLesson>& texts) {
    const absl::StatusOr<AddedLessons> added = lessons_->Add(source, texts);
    EXPECT_TRUE(added.ok()) << added.status();
    return added.value_or(AddedLessons{});
  }
  AddedLessons Add(const std::string& name, size_t count, const std::string& user_id = "") {
    return Add(SourceOf(name, user_id), TextsOf(name, count));
  }
  std::vector<StoredLesson> All(const LessonQuery& query = {}) const {
    const absl::StatusOr<LessonPage> page = lessons_->List(query);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->lessons : std::vector<StoredLesson>();
  }
  std::vector<std::string> Texts(const LessonQuery& query = {}) const {
    std::vector<std::string> texts;
    for (const StoredLesson& lesson : All(query)) {
      texts.push_back(lesson.text);
    }
    return texts;
  }
  // Returns the number of rows in the family, also of unreadable ones, but without the one
  // that says that withdrawals are handled.
  size_t Rows() const {
    size_t rows = 0;
    const auto count = [&](std::string_view key) -> absl::StatusOr<bool> {
      rows += key != lessons::kHandledKey ? 1 : 0;
      return true;
    };
    EXPECT_TRUE(database_
                    ->Scan(
                        ColumnFamily::kLesson, "", "",
                        [&](const RowView& row) { return count(row.key); }, count)
                    .ok());
    return rows;
  }
  // Returns what `ruvd store verify` finds in the lessons.
  std::vector<std::string> Problems() {
    StoreReport report;
    EXPECT_TRUE(CheckLessonRows(*database_, &report).ok());
    return report.problems;
  }

  LessonStoreOptions options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<LessonStore> lessons_;
};

}  // namespace ruvd::storage
