// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/lessons/lesson_ids.h"

#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/bytes.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage::lessons {
namespace {

class LessonIdsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    database_ = OpenStore();
  }
  void TearDown() override {
    database_.reset();
    StoreTest::TearDown();
  }
  std::unique_ptr<Database> database_;
};

// The values are those of Python's hmac module for the bytes that docs/store-format.md describes.
TEST_F(LessonIdsTest, AreTheDocumentedHash) {
  std::string key(32, '\0');
  std::iota(key.begin(), key.end(), '\0');
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kDefault, kIdKeyRow, key).ok());
  const LessonIds ids = LessonIds::Open(*database_).value();
  EXPECT_EQ(ToHex(ids.IdOf("ann", "Why?", "Because\r\nof this.  \n")),
            "5e3d569b3d2530f9e319e810c9443216");
  EXPECT_EQ(ToHex(ids.IdOf("", "", "text")), "2b9288e803f835e2283380c741e8c7ea");
  EXPECT_EQ(ToHex(ids.SourceIdOf("ann", "notes/a.txt", Sha256("content"))),
            "b84b92eeb965d867c81d97ab1a241de9");
}

TEST_F(LessonIdsTest, StayWhenKeysAreReplaced) {
  EXPECT_TRUE(absl::IsNotFound(LessonIds::Read(*database_).status()));
  const LessonId before = LessonIds::Open(*database_)->IdOf("", "", "text");
  ASSERT_TRUE(database_->RotateDataKeys("").ok());
  for (bool more = true; more;) {
    more = database_->ResealStep().value();
  }
  key_ = privacy::SealKey::Generate();
  ASSERT_TRUE(database_->ChangeSealKey(key_).ok());
  database_.reset();
  database_ = OpenStore();
  EXPECT_EQ(LessonIds::Open(*database_)->IdOf("", "", "text"), before);
  EXPECT_EQ(LessonIds::Read(*database_)->IdOf("", "", "text"), before);
}

TEST_F(LessonIdsTest, OfAnotherStoreAreOthers) {
  DatabaseOptions options = Options();
  options.path += ".other";
  const auto other = OpenStore(options);
  EXPECT_NE(LessonIds::Open(*database_)->IdOf("", "", "text"),
            LessonIds::Open(*other)->IdOf("", "", "text"));
}

TEST_F(LessonIdsTest, AKeyThatIsNoneIsDamage) {
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kDefault, kIdKeyRow, "short").ok());
  EXPECT_EQ(ReasonOf(LessonIds::Open(*database_).status()), reasons::kStoreCorrupt);
}

// Whatever the parts are, moving a byte from one to the next changes the id.
TEST_F(LessonIdsTest, PartsDoNotRunTogether) {
  const LessonIds ids = LessonIds::Open(*database_).value();
  const LessonId id = ids.IdOf("ab", "cd", "ef");
  EXPECT_NE(id, ids.IdOf("a", "bcd", "ef"));
  EXPECT_NE(id, ids.IdOf("abc", "d", "ef"));
  EXPECT_NE(id, ids.IdOf("ab", "c", "def"));
  EXPECT_NE(id, ids.IdOf("ab", "cde", "f"));
  EXPECT_NE(ids.SourceIdOf("a", "bc", Digest{}), ids.SourceIdOf("ab", "c", Digest{}));
}

TEST(NormalTextTest, LeavesOutWhatNobodySees) {
  EXPECT_EQ(NormalText("one \r\ntwo\t\r\n"), "one\ntwo");
  EXPECT_EQ(NormalText("\n\n  \none\n\n \n\ntwo\n\n"), "one\n\ntwo");
  EXPECT_EQ(NormalText("  indented\n\tso"), "  indented\n\tso");
  EXPECT_EQ(NormalText(" \r\n\t"), "");
  EXPECT_EQ(NormalText(""), "");
}

RC_GTEST_PROP(NormalTextTest, IsNormalAlreadyAndAsAnyLineEnd, ()) {
  const std::string text = *rc::gen::container<std::string>(rc::gen::element('a', ' ', '\t', '\n'));
  const std::string normal = NormalText(text);
  RC_ASSERT(NormalText(normal) == normal);
  std::string windows;
  for (const char c : text) {
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  }
  RC_ASSERT(NormalText(windows) == normal);
  RC_ASSERT(std::ranges::count(normal, 'a') == std::ranges::count(text, 'a'));
}

}  // namespace
}  // namespace ruvd::storage::lessons
