// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the store of lessons when the power fails, rows are damaged, and others write or erase.

#include <atomic>
#include <thread>

#include "base/random.h"
#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_store.h"
#include "storage/reasons.h"
#include "tests/campaign/power_cut_files.h"
#include "tests/storage/lesson_fixture.h"
#include "tests/storage/raw_store.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Opens a store with two sources, adds one of 14 batches and withdraws another on a disk whose
// power is cut at the n-th write, fsync, rename or removal.
class LessonPowerTest : public LessonTest {
 protected:
  static constexpr size_t kLessons = 40;

  void SetUp() override {
    LessonTest::SetUp();
    Add("kept", 2);
    withdrawn_ = *Add("withdrawn", 2).source;
    Close();
    std::filesystem::rename(folder_ / "store", folder_ / "before");
  }
  // Returns whether there was a cut.
  bool CutAt(uint64_t operation) {
    SCOPED_TRACE(operation);
    CopyStore();
    const auto files = std::make_shared<campaign::PowerCutFiles>(
        (folder_ / "store").string(), (folder_ / "trash").string(), operation);
    const bool added = Work(files);
    const bool cut = files->dead();
    Random random(operation);
    files->Apply(random);
    Reopen();
    Check(added);
    return cut;
  }
  size_t interrupted() const { return interrupted_; }

 private:
  void CopyStore() {
    Close();
    std::filesystem::remove_all(folder_ / "store");
    std::filesystem::remove_all(folder_ / "trash");
    std::filesystem::create_directories(folder_ / "trash");
    std::filesystem::copy(folder_ / "before", folder_ / "store",
                          std::filesystem::copy_options::recursive);
    acknowledged_ = false;
  }
  // Returns whether the addition was acknowledged while there was power.
  bool Work(const std::shared_ptr<campaign::PowerCutFiles>& files) {
    DatabaseOptions options = Options();
    options.file_system = files;
    auto database = Database::Open(options);
    if (!database.ok()) {
      return false;
    }
    auto lessons = LessonStore::Open(**database, options_);
    const bool added = lessons.ok() &&
                       (*lessons)->Add(SourceOf("large"), TextsOf("large", kLessons)).ok() &&
                       !files->dead();
    acknowledged_ = lessons.ok() && (*lessons)->WithdrawSource(withdrawn_).ok() && !files->dead();
    return added;
  }
  void Check(bool added) {
    EXPECT_THAT(Problems(), IsEmpty());
    EXPECT_EQ(lessons_->size(), All().size());
    EXPECT_EQ(Texts().front(), "kept says 0");
    if (acknowledged_) {
      EXPECT_FALSE(lessons_->GetSource(withdrawn_).ok());
    }
    size_t large = 0;
    const std::vector<LessonSource> sources = lessons_->ListSources({}, 10).value();
    for (const LessonSource& source : sources) {
      if (source.name == "large") {
        large = source.lessons;
        EXPECT_EQ(source.complete, large == kLessons);
      }
    }
    EXPECT_EQ(large % options_.batch == 0 || large == kLessons, true) << large;
    if (added) {
      EXPECT_EQ(large, kLessons);
    }
    interrupted_ += large > 0 && large < kLessons ? 1 : 0;
    const AddedLessons again = Add("large", kLessons);
    EXPECT_EQ(again.added + large, kLessons);
    EXPECT_TRUE(lessons_->GetSource(*again.source)->complete);
    EXPECT_THAT(Texts({.source = again.source}), testing::UnorderedElementsAreArray(LargeTexts()));
    EXPECT_THAT(Problems(), IsEmpty());
  }
  static std::vector<std::string> LargeTexts() {
    std::vector<std::string> texts;
    for (const NewLesson& lesson : TextsOf("large", kLessons)) {
      texts.push_back(lesson.text);
    }
    return texts;
  }

  LessonSourceId withdrawn_{};
  bool acknowledged_ = false;  // the withdrawal
  size_t interrupted_ = 0;     // cuts that left a part of the large source
};

TEST_F(LessonPowerTest, EveryCutLeavesWholeBatchesAndTheNextCallCompletesThem) {
  // Finds the first operation after the last one by halving.
  uint64_t low = 1;
  uint64_t high = 128;
  ASSERT_FALSE(CutAt(high));
  while (low + 1 < high) {
    const uint64_t middle = (low + high) / 2;
    (CutAt(middle) ? low : high) = middle;
  }
  // The last operations are those of the addition, the withdrawal and closing the store.
  for (uint64_t operation = low > 40 ? low - 40 : 1; operation <= low; ++operation) {
    EXPECT_TRUE(CutAt(operation));
  }
  RecordProperty("operations", static_cast<int>(low));
  EXPECT_GT(interrupted(), 0U);
}

using LessonDamageTest = LessonTest;

TEST_F(LessonDamageTest, ADamagedRowHidesNoOther) {
  const LessonSourceId a = *Add("a", 4, "ann").source;
  Add("b", 1);
  const StoredLesson broken = All()[1];
  Close();
  DamageRows(Options().path, {{ColumnFamily::kLesson, lessons::LessonKey(broken.id)}});
  Reopen();
  EXPECT_THAT(Texts(), ElementsAre("a says 0", "a says 2", "a says 3", "b says 0"));
  EXPECT_EQ(Texts({.source = a}).size(), 3U);
  size_t seen = 0;
  EXPECT_TRUE(lessons_
                  ->ForEachEntry([&](const LessonEntry& entry) {
                    seen += lessons_->Get(entry.id).ok() ? 1 : 0;
                    return true;
                  })
                  .ok());
  EXPECT_EQ(seen, 4U);
  EXPECT_EQ(ReasonOf(lessons_->Get(broken.id).status()), reasons::kSealBroken);
  EXPECT_EQ(lessons_->WithdrawSource(a)->lessons, 4U);
  EXPECT_EQ(Rows(), 4U) << "those of b";
}

// A withdrawal must not leave a text because the row that leads to it does not open.
TEST_F(LessonDamageTest, AWithdrawalFindsLessonsWithoutTheirEntries) {
  for (const bool by_user : {false, true}) {
    const LessonSourceId a = *Add("a", 4, "ann").source;
    Add("b", 1, "bob");
    const uint64_t number = All({.source = a})[1].number;
    Close();
    DamageRows(Options().path, {{ColumnFamily::kLesson, lessons::EntryKey(number)},
                                {ColumnFamily::kLesson, lessons::MemberKey(a, number)}});
    Reopen();
    const auto withdrawn = by_user ? lessons_->WithdrawUser("ann") : lessons_->WithdrawSource(a);
    ASSERT_TRUE(withdrawn.ok()) << withdrawn.status();
    EXPECT_EQ(withdrawn->lessons, 4U);
    EXPECT_EQ(Rows(), 4U) << "those of b";
    EXPECT_THAT(Problems(), IsEmpty());
    EXPECT_EQ(lessons_->size(), 1U);
  }
}

TEST_F(LessonDamageTest, AUsersLessonsAreFoundWithoutTheirSource) {
  const LessonSourceId a = *Add("a", 4, "ann").source;
  Add("b", 1, "bob");
  Close();
  DamageRows(Options().path, {{ColumnFamily::kLesson, lessons::SourceKey(a)}});
  Reopen();
  EXPECT_EQ(lessons_->ListSources({}, 10)->size(), 1U);
  EXPECT_EQ(lessons_->WithdrawUser("ann")->lessons, 4U);
  EXPECT_EQ(Rows(), 4U) << "those of b";
}

TEST_F(LessonDamageTest, AnErasureMakesTextsUnreadableAndItsRemainsLeave) {
  Add("a", 4, "ann");
  const LessonId id = All().front().id;
  Add("b", 1, "bob");
  ASSERT_TRUE(database_->Erase(KeyScope::User("ann")).ok());
  EXPECT_EQ(ReasonOf(lessons_->Get(id).status()), reasons::kNotFound);
  EXPECT_FALSE(lessons_->Contains(id).value());
  EXPECT_THAT(Texts(), ElementsAre("b says 0"));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(lessons_->PurgeErased().value(), 4U);
  EXPECT_EQ(lessons_->PurgeErased().value(), 0U);
  EXPECT_EQ(lessons_->size(), 1U);
  EXPECT_EQ(lessons_->bytes(), 8U);
  EXPECT_EQ(lessons_->ListSources({}, 10)->size(), 1U);
  ASSERT_TRUE(database_->Compact().ok());
  EXPECT_EQ(Rows(), 4U);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LessonDamageTest, AStartRemovesWhatAnErasureLeft) {
  Add("a", 4, "ann");
  Add("b", 1, "bob");
  ASSERT_TRUE(database_->Erase(KeyScope::User("ann")).ok());
  ASSERT_TRUE(database_->Compact().ok());
  Reopen();
  EXPECT_EQ(lessons_->size(), 1U);
  EXPECT_EQ(Rows(), 4U);
  EXPECT_THAT(Problems(), IsEmpty());
}

// An erasure does not wait for the end of an addition, which then leaves nothing.
TEST_F(LessonDamageTest, AnErasureEndsAnAdditionOfItsUser) {
  Reopen();
  Add("before", 1, "ann");
  std::thread eraser([&] {
    while (lessons_->size() < 10) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(
        lessons_->WithRewritesPaused([&] { return database_->Erase(KeyScope::User("ann")); }).ok());
    EXPECT_TRUE(lessons_->PurgeErased().ok());
  });
  const auto added = lessons_->Add(SourceOf("a", "ann"), TextsOf("a", 20'000));
  eraser.join();
  EXPECT_EQ(ReasonOf(added.status()), reasons::kChanged);
  EXPECT_EQ(lessons_->size(), 0U);
  EXPECT_EQ(Rows(), 0U);
  EXPECT_THAT(Problems(), IsEmpty());
}

// An addition of another user goes on.
TEST_F(LessonDamageTest, AnErasureLetsAdditionsOfOthersGoOn) {
  Reopen();
  Add("before", 1, "ann");
  std::thread eraser([&] {
    while (lessons_->size() < 10) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(
        lessons_->WithRewritesPaused([&] { return database_->Erase(KeyScope::User("ann")); }).ok());
  });
  const auto added = lessons_->Add(SourceOf("a", "bob"), TextsOf("a", 2000));
  eraser.join();
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->added, 2000U);
  EXPECT_EQ(added->duplicates, 0U);
  EXPECT_TRUE(lessons_->GetSource(*added->source)->complete);
  EXPECT_EQ(All({.user_id = "bob", .most = 5000}).size(), 2000U);
  EXPECT_TRUE(lessons_->PurgeErased().ok());
  EXPECT_EQ(lessons_->size(), 2000U);
  EXPECT_THAT(Problems(), IsEmpty());
}

// The erasure comes after the addition looked which texts the user has, and before its first batch:
// what it found there is gone and must be added, too.
TEST_F(LessonDamageTest, AnErasureBeforeTheFirstBatchLeavesNoGap) {
  Add("a", 4, "ann");
  enum Step : uint8_t { kBefore, kAdding, kChosen, kErasing };
  std::atomic<Step> step{kBefore};
  DatabaseOptions options = Options();
  options.free_bytes = [&step](const std::string&) -> absl::StatusOr<uint64_t> {
    if (step.load() == kAdding) {
      step.store(kChosen);
      while (step.load() != kErasing) {
        std::this_thread::yield();
      }
    }
    return uint64_t{1} << 40;
  };
  Reopen(options);
  std::thread eraser([&] {
    while (step.load() != kChosen) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(lessons_
                    ->WithRewritesPaused([&] {
                      step.store(kErasing);
                      return database_->Erase(KeyScope::User("ann"));
                    })
                    .ok());
  });
  clock_.Advance(limits::kReserveProbeInterval);
  step.store(kAdding);
  const AddedLessons added = Add(SourceOf("b", "ann"), TextsOf("a", 5));
  eraser.join();
  EXPECT_EQ(added.added, 5U);
  EXPECT_EQ(Texts({.user_id = "ann"}).size(), 5U);
  EXPECT_EQ(lessons_->size(), 5U);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LessonDamageTest, AWithdrawalDuringAnAdditionEndsIt) {
  options_.batch = 1;
  Reopen();
  std::thread withdrawer([&] {
    absl::Status status = absl::NotFoundError("");
    while (absl::IsNotFound(status)) {
      status = lessons_->WithdrawUser("ann").status();
    }
    EXPECT_TRUE(status.ok()) << status;
  });
  const auto added = lessons_->Add(SourceOf("a", "ann"), TextsOf("a", 5000));
  withdrawer.join();
  EXPECT_EQ(ReasonOf(added.status()), reasons::kChanged);
  EXPECT_EQ(Rows(), 0U);
  EXPECT_EQ(lessons_->size(), 0U);
}

TEST_F(LessonDamageTest, WritersAndReadersWorkAtTheSameTime) {
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 20; ++i) {
        const std::string name = std::to_string(writer) + "/" + std::to_string(i);
        const auto added = lessons_->Add(SourceOf(name), TextsOf(name, 5));
        ASSERT_TRUE(added.ok()) << added.status();
        if (i % 2 == 1) {
          EXPECT_EQ(lessons_->WithdrawSource(*added->source)->lessons, 5U);
        }
      }
    });
  }
  std::thread reader([&] {
    while (!done.load()) {
      EXPECT_TRUE(lessons_->List({.most = 10}).ok());
      EXPECT_TRUE(lessons_->ListSources({}, 10).ok());
      EXPECT_TRUE(lessons_->ForEachEntry([](const LessonEntry&) { return true; }).ok());
      EXPECT_EQ(lessons_->PurgeErased().value(), 0U);
    }
  });
  for (std::thread& writer : writers) {
    writer.join();
  }
  done.store(true);
  reader.join();
  EXPECT_EQ(lessons_->size(), 3U * 10 * 5);
  const uint64_t bytes = lessons_->bytes();
  Reopen();
  EXPECT_EQ(lessons_->size(), 3U * 10 * 5);
  EXPECT_EQ(lessons_->bytes(), bytes);
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::storage
