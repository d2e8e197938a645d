// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests collections of patterns: listing them, and erasing one.

#include "storage/patterns/pattern_collections.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "storage/counters/store_incarnation.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/reasons.h"
#include "tests/storage/hooked_files.h"
#include "tests/storage/pattern_fixture.h"
#include "tests/storage/raw_store.h"

namespace ruvd::storage {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class PatternCollectionsTest : public PatternTest {
 protected:
  void SetUp() override {
    PatternTest::SetUp();
    options_.checkpoint_changes = 1;  // saves the graph with every Maintain
  }
  void Serve(std::string_view model) {
    options_.model_hash = Sha256(model);
    Reopen();
  }
  void PutAll(uint32_t first, uint32_t count) {
    for (uint32_t n = first; n < first + count; ++n) {
      ASSERT_TRUE(store_->Put(MakePattern(n)).ok());
    }
    Maintain();
  }
  // Puts three patterns into collection 0 and two into collection 1.
  void PutInTwo() {
    Serve("model");
    PutAll(0, 3);
    Serve("other model");
    PutAll(10, 2);
  }
  void ExpectAll(uint32_t first, uint32_t count) {
    EXPECT_EQ(store_->Stats().patterns, count);
    for (uint32_t n = first; n < first + count; ++n) {
      const auto pattern = store_->Get(Id(n));
      ASSERT_TRUE(pattern.ok()) << pattern.status();
      ExpectSame(*pattern, MakePattern(n));
      EXPECT_EQ(Found(MakePattern(n)).at(0), n);
    }
  }
  // Returns the stored value of the family `key` for a scope: the data key that the node's key
  // wrapped.
  std::string WrappedKeyOf(std::string_view scope) {
    uint64_t id = 0;
    for (const DataKeyInfo& key : database_->DataKeys()) {
      id = key.scope == scope ? key.id : id;
    }
    EXPECT_NE(id, 0U) << scope;
    Close();
    std::string wrapped;
    std::vector<std::string> names;
    for (const ColumnFamilyInfo& info : kColumnFamilies) {
      names.emplace_back(info.name);
    }
    WithRocks((folder_ / "store").string(), names, [&](rocksdb::DB& rocks, RawHandles& handles) {
      EXPECT_TRUE(rocks
                      .Get({}, handles[static_cast<size_t>(ColumnFamily::kKey)],
                           RowKey().U64(id).Take(), &wrapped)
                      .ok());
    });
    database_ = OpenStore();
    return wrapped;
  }
};

TEST_F(PatternCollectionsTest, EveryModelHasOne) {
  PutInTwo();
  ASSERT_TRUE(store_->Delete(Id(10)).ok());
  const auto collections = ListPatternCollections(*database_);
  ASSERT_TRUE(collections.ok()) << collections.status();
  ASSERT_THAT(*collections, SizeIs(2));
  EXPECT_EQ((*collections)[0].number, 0U);
  EXPECT_EQ((*collections)[0].model_hash, Sha256("model"));
  EXPECT_EQ((*collections)[0].dimension, kPatternDimension);
  EXPECT_EQ((*collections)[0].patterns, 3U);
  EXPECT_EQ((*collections)[1].model_hash, Sha256("other model"));
  EXPECT_EQ((*collections)[1].patterns, 1U);
}

TEST_F(PatternCollectionsTest, ARowThatCannotBeReadIsListed) {
  PutInTwo();
  ASSERT_TRUE(
      PutOne(*database_, ColumnFamily::kDefault, patterns::CollectionKey(0), "no message \xff")
          .ok());
  const auto collections = ListPatternCollections(*database_);
  ASSERT_TRUE(collections.ok()) << collections.status();
  ASSERT_THAT(*collections, SizeIs(2));
  EXPECT_TRUE((*collections)[0].damaged);
  EXPECT_EQ((*collections)[0].patterns, 3U);
}

TEST_F(PatternCollectionsTest, ErasingOneLeavesTheOthers) {
  PutInTwo();
  store_.reset();
  const std::string wrapped = WrappedKeyOf("collection/0");
  ASSERT_THAT(FilesContaining(folder_, wrapped), Not(IsEmpty()));
  const uint64_t life = StoreIncarnation(*database_).value();
  ASSERT_TRUE(ErasePatternCollection(*database_, 0).ok());
  EXPECT_THAT(FilesContaining(folder_, wrapped), IsEmpty());
  EXPECT_NE(StoreIncarnation(*database_).value(), life);  // its watchers list everything again
  const auto collections = ListPatternCollections(*database_);
  ASSERT_TRUE(collections.ok()) << collections.status();
  ASSERT_THAT(*collections, SizeIs(2));
  EXPECT_EQ((*collections)[0].patterns, 0U);
  EXPECT_EQ((*collections)[1].patterns, 2U);
  Serve("other model");
  ExpectAll(10, 2);
  Serve("model");
  ExpectAll(0, 0);
  PutAll(1, 1);
  Reopen();
  ExpectAll(1, 1);
  EXPECT_TRUE(store_->Stats().checkpoint.problem.empty()) << store_->Stats().checkpoint.problem;
}

// A watcher would never learn that the patterns are gone.
TEST_F(PatternCollectionsTest, AnErasureThatIsInterruptedHasBegunANewLife) {
  PutInTwo();
  const uint64_t life = StoreIncarnation(*database_).value();
  Close();
  const auto files = std::make_shared<HookedFiles>();
  std::atomic<bool> armed = false;
  files->before_new = [&](const std::string& name) {
    return armed && name.ends_with(".sst") ? rocksdb::IOStatus::IOError("the disk fails")
                                           : rocksdb::IOStatus::OK();
  };
  DatabaseOptions options = Options();
  options.file_system = files;
  database_ = OpenStore(options);
  armed = true;
  EXPECT_FALSE(ErasePatternCollection(*database_, 0).ok());
  database_.reset();
  database_ = OpenStore();
  EXPECT_NE(StoreIncarnation(*database_).value(), life);
  ASSERT_TRUE(ErasePatternCollection(*database_, 0).ok());
}

TEST_F(PatternCollectionsTest, AnInterruptedErasureIsDoneWhenCalledAgain) {
  PutInTwo();
  store_.reset();
  ASSERT_TRUE(database_->Erase(KeyScope::Collection(0)).ok());  // it was interrupted here
  Serve("model");
  ExpectAll(0, 0);
  store_.reset();
  ASSERT_TRUE(ErasePatternCollection(*database_, 0).ok());
  ASSERT_TRUE(ErasePatternCollection(*database_, 0).ok());
  Serve("other model");
  ExpectAll(10, 2);
}

TEST_F(PatternCollectionsTest, ErasingWhatIsNotThereIsRefused) {
  PutInTwo();
  const absl::Status erased = ErasePatternCollection(*database_, 2);
  EXPECT_TRUE(absl::IsNotFound(erased));
  EXPECT_THAT(MessageOf(erased), testing::HasSubstr("no collection 2"));
}

}  // namespace
}  // namespace ruvd::storage
