// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/state/state_store.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/limits.h"
#include "storage/state/number_bytes.h"
#include "storage/state/state_rows.h"
#include "tests/storage/hooked_files.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A value of several chunks and several batches.
constexpr size_t kLargeBytes = limits::kStateBatchBytes + limits::kMaxStateChunkBytes + 7;

v1::DeepCheckpoint Checkpoint(uint64_t seed, size_t bytes = 3) {
  v1::DeepCheckpoint checkpoint;
  checkpoint.set_seed(seed);
  checkpoint.set_run(std::string(bytes, static_cast<char>('a' + seed)));
  return checkpoint;
}

class StateStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    Open();
  }
  // Closes the store first, because its background work would change the folder that is removed.
  void TearDown() override {
    state_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  void Open() { Reopen(Options()); }
  void Reopen(DatabaseOptions options) {
    database_.reset();
    database_ = OpenStore(std::move(options));
    state_ = std::make_unique<StateStore>(*database_);
  }
  // Begins to write a value of several batches, and ends after the first one as a killed process.
  void WriteInterrupted() {
    std::atomic<bool> killed{false};
    const size_t rows = Keys().size();
    const auto files = std::make_shared<HookedFiles>();
    files->before_write = [&killed](const std::string& file) {
      return killed.load() && file.ends_with(".log") ? rocksdb::IOStatus::IOError("killed")
                                                     : rocksdb::IOStatus::OK();
    };
    DatabaseOptions options = Options();
    options.file_system = files;
    options.free_bytes = [&, rows](const std::string&) -> absl::StatusOr<uint64_t> {
      killed.store(killed.load() || (database_ != nullptr && Keys().size() > rows));
      return uint64_t{1} << 40;
    };
    Reopen(std::move(options));
    EXPECT_FALSE(state_->Put(state::DeepCheckpoint(), Checkpoint(1, kLargeBytes)).ok());
    EXPECT_TRUE(killed.load());
    Open();
  }
  // Opens the store anew. The disk is full as soon as the next value of name_ has a chunk.
  void FillDiskOnceAChunkIsThere() {
    filled_ = false;
    const size_t rows = Keys().size();
    DatabaseOptions options = Options();
    options.free_bytes = [this, rows](const std::string&) -> absl::StatusOr<uint64_t> {
      filled_ = filled_ || (database_ != nullptr && Keys().size() > rows);
      return filled_ ? 0 : uint64_t{1} << 40;
    };
    Reopen(std::move(options));
  }
  std::optional<uint64_t> Seed() const {
    const auto found = state_->Get(state::DeepCheckpoint());
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() && found->has_value() ? std::optional((*found)->seed()) : std::nullopt;
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    const auto look = [&keys](const RowView& row) -> absl::StatusOr<bool> {
      keys.emplace_back(row.key);
      return true;
    };
    EXPECT_TRUE(database_->Scan(ColumnFamily::kState, "", "", look).ok());
    return keys;
  }
  // Writes the first chunks of a value, as a process does that is killed before the last batch.
  void WriteHalf(std::string_view name, uint64_t epoch) {
    ASSERT_TRUE(
        PutOne(*database_, ColumnFamily::kState, state_rows::ChunkKey(name, epoch, 0), "x").ok());
  }

  const std::string name_ = state::DeepCheckpoint().text;
  bool filled_ = false;
  std::unique_ptr<Database> database_;
  std::unique_ptr<StateStore> state_;
};

TEST_F(StateStoreTest, AValueIsReplacedAndDeleted) {
  EXPECT_EQ(Seed(), std::nullopt);
  EXPECT_FALSE(state_->Contains(state::DeepCheckpoint()).value());
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(2)).ok());
  EXPECT_EQ(Seed(), 2U);
  EXPECT_TRUE(state_->Contains(state::DeepCheckpoint()).value());
  Open();
  EXPECT_EQ(Seed(), 2U);
  EXPECT_EQ(Keys().size(), 2U) << "the former value left nothing";
  ASSERT_TRUE(state_->Delete(state::DeepCheckpoint()).ok());
  ASSERT_TRUE(state_->Delete(state::DeepCheckpoint()).ok()) << "a missing value is not an error";
  EXPECT_EQ(Seed(), std::nullopt);
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(StateStoreTest, AnEmptyMessageIsAValue) {
  ASSERT_TRUE(state_->Put(state::ClusterRounds(), v1::ClusterRounds()).ok());
  EXPECT_TRUE(state_->Get(state::ClusterRounds())->has_value());
}

TEST_F(StateStoreTest, ALargeValueIsStoredInChunksAndReadAsAWhole) {
  for (const size_t bytes : {kLargeBytes, limits::kMaxStateChunkBytes, size_t{5}}) {
    const v1::DeepCheckpoint written = Checkpoint(1, bytes);
    ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), written).ok());
    const auto read = state_->Get(state::DeepCheckpoint());
    ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
    EXPECT_EQ((*read)->run(), written.run());
    EXPECT_EQ(Keys().size(), 1 + (written.ByteSizeLong() + limits::kMaxStateChunkBytes - 1) /
                                     limits::kMaxStateChunkBytes);
  }
}

TEST_F(StateStoreTest, NamesAreListedByPrefixAndNumbersInTheirOrder) {
  for (const uint32_t version : {10U, 9U, 2U}) {
    ASSERT_TRUE(state_->Put(state::DeepMemory(version), v1::DeepMemory()).ok());
  }
  ASSERT_TRUE(state_->Put(state::LearnedAdapter("a/b", 3), v1::LearnedAdapter()).ok());
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  WriteHalf("deep-memory/1", 1);
  EXPECT_THAT(state_->Numbers(state::kDeepMemories).value(), ElementsAre(2, 9, 10));
  EXPECT_THAT(state_->Names(state::kLearnedAdapters).value(), ElementsAre("learned-adapter/a/b-3"));
  EXPECT_EQ(state_->Names("")->size(), 5U);
}

TEST_F(StateStoreTest, ANameWithControlCharactersOrTooLongIsRefused) {
  for (const std::string& name :
       {std::string(1, '\0'), std::string("\n"), std::string(limits::kMaxStateNameBytes, 'x')}) {
    EXPECT_EQ(ReasonOf(state_->Put(state::LearnedAdapter(name, 1), v1::LearnedAdapter())),
              reasons::kInvalidArgument);
    EXPECT_FALSE(state_->Get(state::LearnedAdapter(name, 1)).ok());
  }
}

TEST_F(StateStoreTest, AnInterruptedWriteLeavesTheFormerValueAndIsRemoved) {
  WriteHalf(name_, 1);
  EXPECT_EQ(Seed(), std::nullopt) << "the first write did not end";
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  EXPECT_EQ(Keys().size(), 2U);
  WriteHalf(name_, 7);
  WriteHalf("deep-memory/4", 1);
  EXPECT_EQ(Seed(), 1U);
  ASSERT_TRUE(state_->RemoveUnfinished().ok());
  EXPECT_EQ(Keys().size(), 2U);
  EXPECT_EQ(Seed(), 1U);
  WriteHalf(name_, 7);
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(2)).ok());
  EXPECT_EQ(Seed(), 2U);
  EXPECT_EQ(Keys().size(), 2U);
}

// An empty value has no chunks, so its epoch is in the head only. A write that took it again would
// add a chunk to the value in force.
TEST_F(StateStoreTest, AWriteAfterAnEmptyValueDoesNotTakeItsEpochAgain) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), v1::DeepCheckpoint()).ok());
  for (int interrupted = 0; interrupted < 2; ++interrupted) {
    const size_t rows = Keys().size();
    WriteInterrupted();
    EXPECT_GT(Keys().size(), rows) << "the first batch was written";
    EXPECT_EQ(Seed(), 0U) << "the empty value is in force";
  }
}

TEST_F(StateStoreTest, AValueThatDoesNotFitIsRefusedBeforeAnyOfItIsWritten) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  free_bytes_ = limits::kStateBatchBytes + 10'000;
  clock_.Advance(limits::kReserveProbeInterval);
  const absl::Status refused = state_->Put(state::DeepCheckpoint(), Checkpoint(2, kLargeBytes));
  EXPECT_EQ(ReasonOf(refused), reasons::kDiskFull) << refused;
  EXPECT_EQ(Keys().size(), 2U);
  EXPECT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(3)).ok()) << "a small one still fits";
  EXPECT_EQ(Seed(), 3U);
  free_bytes_ = 0;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_EQ(ReasonOf(state_->Put(state::DeepCheckpoint(), Checkpoint(4))), reasons::kStoreReadOnly);
}

TEST_F(StateStoreTest, AWriteThatIsRefusedHalfwayLeavesNoChunks) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  FillDiskOnceAChunkIsThere();
  EXPECT_EQ(ReasonOf(state_->Put(state::DeepCheckpoint(), Checkpoint(2, kLargeBytes))),
            reasons::kStoreReadOnly);
  EXPECT_TRUE(filled_) << "the first batch was written";
  EXPECT_EQ(Keys().size(), 2U);
  EXPECT_EQ(Seed(), 1U);
}

// A deep round writes 32 bytes for each parameter, and protobuf takes sizes as an int.
TEST_F(StateStoreTest, TheCheckpointOfALargeAdapterIsNotAboveTheLimit) {
  EXPECT_GE(limits::kMaxStateBytes, size_t{67'000'000} * 32);
  EXPECT_LT(limits::kMaxStateBytes, size_t{std::numeric_limits<int>::max()});
}

// Blocks the first fsync after a row is there.
class BlockingClock final : public Clock {
 public:
  TimePoint Now() const override {
    if (block && block()) {
      blocked.store(true);
      while (!released.load()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    return SystemClock().Now();
  }
  int64_t WallMillis() const override { return SystemClock().WallMillis(); }
  std::function<bool()> block;
  mutable std::atomic<bool> blocked{false};
  std::atomic<bool> released{false};
};

// The gossip actor stores verdicts while a deep checkpoint of gigabytes is written.
TEST_F(StateStoreTest, AWriteDoesNotWaitForThatOfAnotherName) {
  BlockingClock clock;
  DatabaseOptions options = Options();
  options.clock = &clock;
  Reopen(std::move(options));
  clock.block = [&] {  // the first write has its head, and goes on to its fsync
    return !clock.blocked.load() && state_->Contains(state::DeepCheckpoint()).value_or(false);
  };
  std::thread first([&] { EXPECT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok()); });
  const auto wait_for = [](const std::function<bool()>& done) {
    const TimePoint end = SystemClock().Now() + std::chrono::seconds(20);
    while (!done() && SystemClock().Now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done();
  };
  EXPECT_TRUE(wait_for([&] { return clock.blocked.load(); }));
  std::thread second(
      [&] { EXPECT_TRUE(state_->Put(state::ClusterRounds(), v1::ClusterRounds()).ok()); });
  EXPECT_TRUE(wait_for([&] { return state_->Contains(state::ClusterRounds()).value_or(false); }));
  clock.released.store(true);
  first.join();
  second.join();
  state_.reset();
  database_.reset();  // it has the clock
}

TEST_F(StateStoreTest, AMissingOrDamagedPartIsAnErrorUntilReplaced) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1, kLargeBytes)).ok());
  const std::vector<std::string> keys = Keys();
  Batch batch;
  batch.Delete(ColumnFamily::kState, keys[2]);
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  EXPECT_EQ(ReasonOf(state_->Get(state::DeepCheckpoint()).status()), reasons::kStoreCorrupt);
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(2)).ok());
  EXPECT_EQ(Seed(), 2U);
  // A head that promises more than any value has.
  v1::StateHead head;
  head.set_epoch(2);
  head.set_bytes(limits::kMaxStateBytes + 1);
  for (const std::string& damaged : {head.SerializeAsString(), std::string("damaged")}) {
    ASSERT_TRUE(PutOne(*database_, ColumnFamily::kState, state_rows::HeadKey(name_), damaged).ok());
    EXPECT_EQ(ReasonOf(state_->Get(state::DeepCheckpoint()).status()), reasons::kStoreCorrupt);
  }
  ASSERT_TRUE(state_->Delete(state::DeepCheckpoint()).ok());
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(StateStoreTest, ReadersSeeWholeValuesWhileOneIsReplaced) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(0, kLargeBytes)).ok());
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      const auto read = state_->Get(state::DeepCheckpoint());
      ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
      EXPECT_EQ((*read)->run(), Checkpoint((*read)->seed(), (*read)->run().size()).run());
    }
  });
  for (uint64_t seed = 1; seed < 6; ++seed) {
    EXPECT_TRUE(
        state_->Put(state::DeepCheckpoint(), Checkpoint(seed, kLargeBytes / (1 + seed))).ok());
  }
  stop.store(true);
  reader.join();
}

TEST_F(StateStoreTest, IsInABackup) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1, kLargeBytes)).ok());
  const std::string backup = (folder_ / "backup").string();
  ASSERT_TRUE(database_->Backup(backup).ok());
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(2)).ok());
  ASSERT_TRUE(state_->Put(state::ClusterRounds(), v1::ClusterRounds()).ok());
  database_.reset();
  const auto restored =
      RestoreBackup({.backup = backup, .store = (folder_ / "store").string(), .key = key_});
  ASSERT_TRUE(restored.ok()) << restored.status();
  Open();
  EXPECT_EQ(Seed(), 1U);
  EXPECT_FALSE(state_->Contains(state::ClusterRounds()).value());
}

TEST_F(StateStoreTest, ItsDataKeyIsRotatedWithTheOthers) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1, kLargeBytes)).ok());
  ASSERT_TRUE(database_->RotateDataKeys("family/state").ok());
  for (absl::StatusOr<bool> more = true; more.ok() && *more;) {
    more = database_->ResealStep();
    ASSERT_TRUE(more.ok()) << more.status();
  }
  for (const DataKeyInfo& key : database_->DataKeys()) {
    EXPECT_EQ(key.state, DataKeyInfo::State::kActive) << key.scope;
  }
  EXPECT_EQ(Seed(), 1U);
}

TEST_F(StateStoreTest, AValueCanBeDeletedOnAFullDisk) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  free_bytes_ = 0;
  Open();
  EXPECT_TRUE(state_->Delete(state::DeepCheckpoint()).ok());
  EXPECT_EQ(Seed(), std::nullopt);
}

TEST_F(StateStoreTest, ACheckKnowsTheNamesOfValues) {
  ASSERT_TRUE(state_->Put(state::DeepCheckpoint(), Checkpoint(1)).ok());
  EXPECT_TRUE(state_->Check(name_).ok());
  EXPECT_TRUE(absl::IsNotFound(state_->Check("learned-adapter/a-1")));
  ASSERT_TRUE(state_->Put(StateName<v1::DeepCheckpoint>{"unheard-of"}, Checkpoint(1)).ok());
  EXPECT_THAT(MessageOf(state_->Check("unheard-of")), HasSubstr("unheard-of"));
}

TEST(StateRowsTest, OtherBytesAreNoKey) {
  for (const std::string& key :
       {std::string("name"), std::string(1, '\0'), std::string("name\0abc", 8)}) {
    EXPECT_FALSE(state_rows::ParseKey(key).has_value());
  }
  const std::string chunk = state_rows::ChunkKey("name", 7, 3);
  const auto parsed = state_rows::ParseKey(chunk);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->name, "name");
  EXPECT_EQ(parsed->chunk, (state_rows::ParsedKey::Place{.epoch = 7, .chunk = 3}));
  EXPECT_LT(state_rows::HeadKey("name"), chunk);
  EXPECT_LT(chunk, state_rows::EndOfName("name"));
}

TEST(NumberBytesTest, OnlyWholeFiniteNumbersAreRead) {
  const std::vector<double> numbers = {1, -0.5};
  const std::string bytes = NumberBytes<double>(numbers);
  EXPECT_EQ(NumbersOf<double>(bytes), numbers);
  EXPECT_EQ(NumbersOf<double>(""), std::vector<double>());
  EXPECT_EQ(NumbersOf<double>(std::string_view(bytes).substr(1)), std::nullopt);
  const std::vector<float> infinite = {1, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(NumbersOf<float>(NumberBytes<float>(infinite)), std::nullopt);
}

}  // namespace
}  // namespace ruvd::storage
