// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/tokens/observed_store.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/limits.h"
#include "storage/reasons.h"
#include "storage/tokens/observed_rows.h"
#include "storage/verify/row_checks.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ObservedLesson Lesson(const std::string& name, const std::string& user = "",
                      const std::string& masked = "masked") {
  return {.name = name,
          .user_id = user,
          .made_by = Digest{1},
          .source = Digest{2},
          .masked = masked,
          .causal = std::string("\0causal", 7)};
}

class ObservedStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    Open();
  }
  void TearDown() override {
    Close();
    StoreTest::TearDown();
  }
  void Open() {
    database_ = OpenStore();
    store_.emplace(*database_);
  }
  void Close() {
    store_.reset();
    database_.reset();
  }
  std::vector<ObservedLesson> All(size_t expect_damaged = 0) {
    std::vector<ObservedLesson> all;
    size_t damaged = 0;
    EXPECT_TRUE(store_
                    ->ForEach(
                        [&](ObservedLesson lesson) {
                          all.push_back(std::move(lesson));
                          return true;
                        },
                        &damaged)
                    .ok());
    EXPECT_EQ(damaged, expect_damaged);
    return all;
  }
  absl::Status Put(const ObservedLesson& lesson) {
    return store_->Put(lesson, [] { return true; }).status();
  }
  std::vector<std::string> Problems() {
    StoreReport report;
    EXPECT_TRUE(CheckObservedRows(*database_, &report).ok());
    return report.problems;
  }

  std::unique_ptr<Database> database_;
  std::optional<ObservedStore> store_;
};

TEST_F(ObservedStoreTest, KeepsEveryMemberOverARestart) {
  ASSERT_TRUE(Put(Lesson("a", "ann")).ok());
  ASSERT_TRUE(Put(Lesson("b", "", "first")).ok());
  ASSERT_TRUE(Put(Lesson("b")).ok());
  for (const bool again : {false, true}) {
    if (again) {
      Close();
      Open();
    }
    EXPECT_THAT(All(), ElementsAre(Lesson("a", "ann"), Lesson("b")));
    EXPECT_THAT(Problems(), IsEmpty());
  }
  ASSERT_TRUE(store_->Remove({"a", "never there"}).ok());
  EXPECT_THAT(All(), ElementsAre(Lesson("b")));
  ASSERT_TRUE(store_->Remove({}).ok());
  ASSERT_TRUE(store_->Clear().ok());
  EXPECT_THAT(All(), IsEmpty());
}

TEST_F(ObservedStoreTest, BadNamesAndTextsAreRefused) {
  for (const std::string& name :
       {std::string(), std::string(limits::kMaxObservedNameBytes + 1, 'a'), std::string("\xff")}) {
    EXPECT_EQ(ReasonOf(Put(Lesson(name))), reasons::kInvalidArgument);
  }
  EXPECT_TRUE(Put(Lesson(std::string(limits::kMaxObservedNameBytes, 'a'))).ok());
}

TEST_F(ObservedStoreTest, LessonsOfAnErasedUserAreGone) {
  ASSERT_TRUE(Put(Lesson("a", "ann")).ok());
  ASSERT_TRUE(Put(Lesson("b", "bob")).ok());
  ASSERT_TRUE(database_->Erase(KeyScope::User("ann")).ok());
  EXPECT_THAT(All(), ElementsAre(Lesson("b", "bob")));
}

// Found by review: a lesson that was read before an erasure was sealed with a new key after it.
TEST_F(ObservedStoreTest, NothingIsAddedThatWasErasedMeanwhile) {
  ASSERT_TRUE(Put(Lesson("a", "ann")).ok());
  bool there = true;
  const auto erase = [&] {
    return store_->WithRewritesPaused([&] {
      there = false;
      return database_->Erase(KeyScope::User("ann"));
    });
  };
  ASSERT_TRUE(erase().ok());
  EXPECT_FALSE(store_->Put(Lesson("b", "ann"), [&] { return there; }).value());
  EXPECT_THAT(All(), IsEmpty());
  EXPECT_EQ(std::ranges::count(database_->DataKeys(), "user/ann", &DataKeyInfo::scope), 1)
      << "the destroyed key";
  const auto broken = store_->Put(
      Lesson("c"), []() -> absl::StatusOr<bool> { return absl::InternalError("unknown"); });
  EXPECT_TRUE(absl::IsInternal(broken.status()));
}

TEST_F(ObservedStoreTest, DamagedRowsHideNoOthersAndGo) {
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(Put(Lesson(name)).ok());
  }
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kToken, tokens::ObservedKey("b"), "garbage").ok());
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kToken, tokens::ObservedKey("c"),
                     tokens::EncodeObserved(Lesson("d")))
                  .ok());
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("does not decode"), HasSubstr("another lesson")));
  Close();
  DamageRows(Options().path, {{ColumnFamily::kToken, tokens::ObservedKey("a")}});
  Open();
  EXPECT_THAT(All(/*expect_damaged=*/3), ElementsAre(Lesson("d")));
  EXPECT_THAT(All(), ElementsAre(Lesson("d")));
}

TEST_F(ObservedStoreTest, AFullDiskRefusesLessonsAndLetsThemGo) {
  ASSERT_TRUE(Put(Lesson("a")).ok());
  free_bytes_ = 1500;  // below the soft reserve
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_EQ(ReasonOf(Put(Lesson("b"))), reasons::kDiskFull);
  free_bytes_ = 0;  // below the hard one
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_TRUE(store_->Remove({"a"}).ok());
  EXPECT_THAT(All(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::storage
