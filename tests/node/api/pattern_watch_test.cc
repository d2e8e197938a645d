// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/util/time_util.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/reasons.h"
#include "tests/node/pattern_service_fixture.h"

namespace ruvd::api {
namespace {

using namespace pattern::v1;  // NOLINT(google-build-using-namespace): all messages of one package
using testing::HasSubstr;

TEST_F(PatternServiceTest, AWatchShowsChangesInTheirOrder) {
  Put(1);
  grpc::ClientContext context;
  const Stream stream = Watch(&context);
  const uint64_t start = Next(stream).started().sequence();
  EXPECT_EQ(start, patterns_->Stats().last_sequence);
  Put(2);
  const auto put = Next(stream).change();
  EXPECT_EQ(put.kind(), WatchPatternsResponse::CHANGE_KIND_PUT);
  EXPECT_EQ(put.id(), Id(2));
  EXPECT_EQ(put.pattern().id(), Id(2));
  EXPECT_EQ(google::protobuf::util::TimeUtil::TimestampToMilliseconds(put.time()),
            clock_.WallMillis());
  EXPECT_GT(put.sequence(), start);
  ASSERT_TRUE(Delete(1).ok());
  const auto removed = Next(stream).change();
  EXPECT_EQ(removed.kind(), WatchPatternsResponse::CHANGE_KIND_DELETE);
  EXPECT_EQ(removed.id(), Id(1));
  EXPECT_FALSE(removed.has_pattern());
  EXPECT_GT(removed.sequence(), put.sequence());

  grpc::ClientContext later;
  const Stream again = Watch(&later, start);
  EXPECT_EQ(Next(again).started().sequence(), start);
  EXPECT_EQ(Next(again).change().sequence(), put.sequence());
  EXPECT_EQ(Next(again).change().sequence(), removed.sequence());
  context.TryCancel();
  later.TryCancel();
}

// The node does not wait for a caller that does not read, and the caller misses nothing.
TEST_F(PatternServiceTest, ASlowWatcherGetsEverythingOnceItReads) {
  grpc::ClientContext context;
  const Stream stream = Watch(&context, 0);
  constexpr uint64_t kChanges = 3000;
  for (uint64_t n = 1; n <= kChanges; ++n) {
    ASSERT_TRUE(patterns_
                    ->Put({.id = {static_cast<uint8_t>(n), static_cast<uint8_t>(n >> 8)},
                           .embedding = {1, 2, 3, static_cast<float>(n)}})
                    .ok());
  }
  EXPECT_TRUE(Next(stream).has_started());
  uint64_t last = 0;
  for (uint64_t n = 1; n <= kChanges; ++n) {
    const auto event = Next(stream);
    ASSERT_EQ(event.change().sequence(), last + 1);
    last = event.change().sequence();
  }
  context.TryCancel();
}

TEST_F(PatternServiceTest, AWatcherBehindTheLogIsToldWhereToGoOn) {
  for (uint64_t n = 1; n <= 5; ++n) {
    Put(n);
  }
  const uint64_t newest = patterns_->Stats().last_sequence;
  Close();
  storage::Batch cut;  // as if 65,536 changes had followed
  cut.Delete(storage::ColumnFamily::kOplog, storage::RowKey().U64(1).Take());
  cut.Delete(storage::ColumnFamily::kOplog, storage::RowKey().U64(2).Take());
  ASSERT_TRUE(database_->Write(std::move(cut), storage::Durability::kProcessCrash).ok());
  Open();
  grpc::ClientContext context;
  const Stream stream = Watch(&context, 0);
  EXPECT_TRUE(Next(stream).has_started());
  const absl::Status status = EndOf(stream);
  EXPECT_EQ(ReasonOf(status), reasons::kLogTruncated);
  EXPECT_THAT(MessageOf(status), HasSubstr(fmt::format("after_sequence = {}", newest)));
  grpc::ClientContext resumed;
  const Stream again = Watch(&resumed, newest);
  EXPECT_EQ(Next(again).started().sequence(), newest);
  resumed.TryCancel();
}

// After a restore the numbers begin again at a lower value: a caller that continued with an old
// number missed changes.
TEST_F(PatternServiceTest, ANumberOfAnotherLogIsRefused) {
  Put(1);
  WatchPatternsRequest request;
  request.set_after_sequence(0);
  request.set_log_id("000000000000004d");  // 77
  grpc::ClientContext context;
  const Stream stream = stub_->WatchPatterns(&context, request);
  EXPECT_EQ(Next(stream).started().log_id(), request.log_id());
  EXPECT_TRUE(Next(stream).has_change());
  context.TryCancel();
  request.set_log_id("000000000000004e");
  grpc::ClientContext other;
  const absl::Status status = EndOf(stub_->WatchPatterns(&other, request));
  EXPECT_EQ(ReasonOf(status), reasons::kLogTruncated);
  EXPECT_THAT(MessageOf(status), HasSubstr("after_sequence = 1"));
}

TEST_F(PatternServiceTest, AChangeThatNeverWasIsRefused) {
  grpc::ClientContext context;
  const absl::Status status = EndOf(Watch(&context, 99));
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("newest change of this node is 0"));
}

TEST_F(PatternServiceTest, WatchesAreLimitedAndACancelledOneMakesRoom) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<Stream> streams;
  for (size_t i = 0; i < kStreams; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(Watch(contexts.back().get()));
    EXPECT_TRUE(Next(streams.back()).has_started());
  }
  EXPECT_EQ(feed_->size(), kStreams);
  grpc::ClientContext refused;
  EXPECT_EQ(ReasonOf(EndOf(Watch(&refused))), reasons::kLimitExceeded);
  contexts[0]->TryCancel();
  (void)streams[0]->Finish();
  // The server learns of this with a delay: until then other callers are refused.
  for (;;) {
    grpc::ClientContext context;
    const Stream stream = Watch(&context);
    WatchPatternsResponse event;
    if (stream->Read(&event)) {
      EXPECT_TRUE(event.has_started());
      context.TryCancel();
      break;
    }
  }
}

// The stop may come before the write of the change is known to be done: what the caller was sent
// counts, not what was known when the stop came.
TEST_F(PatternServiceTest, AStopEndsEveryWatchAndSaysWhereToGoOn) {
  grpc::ClientContext context;
  const Stream stream = Watch(&context);
  EXPECT_TRUE(Next(stream).has_started());
  Put(1);
  EXPECT_TRUE(Next(stream).has_change());
  feed_->Close();
  const absl::Status status = EndOf(stream);
  EXPECT_EQ(ReasonOf(status), reasons::kNodeDraining);
  EXPECT_THAT(MessageOf(status), HasSubstr("after_sequence = 1"));
  grpc::ClientContext late;
  EXPECT_EQ(ReasonOf(EndOf(Watch(&late))), reasons::kNodeDraining);
  while (feed_->size() != 0) {  // the caller learns of the end before the stream is gone
    std::this_thread::yield();
  }
}

TEST_F(PatternServiceTest, WatchersAndWritersAtTheSameTime) {
  constexpr uint64_t kChanges = 400;
  std::vector<std::thread> watchers;
  for (size_t i = 0; i < kStreams; ++i) {
    watchers.emplace_back([this] {
      grpc::ClientContext context;
      const Stream stream = Watch(&context, 0);
      EXPECT_TRUE(Next(stream).has_started());
      for (uint64_t sequence = 1; sequence <= kChanges; ++sequence) {
        ASSERT_EQ(Next(stream).change().sequence(), sequence);
      }
      context.TryCancel();
    });
  }
  std::vector<std::thread> writers;
  for (uint8_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([this, writer] {
      for (uint64_t n = 0; n < kChanges / 2; ++n) {
        ASSERT_TRUE(patterns_
                        ->Put({.id = {writer, static_cast<uint8_t>(n)},
                               .embedding = {1, 2, 3, static_cast<float>(n)}})
                        .ok());
      }
    });
  }
  for (std::thread& thread : writers) {
    thread.join();
  }
  for (std::thread& thread : watchers) {
    thread.join();
  }
}

// Regression test: a stream that could be woken before it had its place began at change 0.
TEST_F(PatternServiceTest, AWatchFromNowOnBeginsThereWhileOthersWrite) {
  std::atomic<bool> stop{false};
  std::thread writer([this, &stop] {
    for (uint64_t n = 0; !stop.load(); ++n) {
      ASSERT_TRUE(patterns_
                      ->Put({.id = {static_cast<uint8_t>(n), static_cast<uint8_t>(n >> 8)},
                             .embedding = {1, 2, 3, static_cast<float>(n)}})
                      .ok());
    }
  });
  int begun = 0;
  for (int i = 0; i < 10'000 && begun < 100; ++i) {
    grpc::ClientContext context;
    const Stream stream = Watch(&context);
    WatchPatternsResponse event;
    if (!stream->Read(&event)) {
      continue;  // the changes before it have not been sent yet
    }
    ++begun;
    EXPECT_TRUE(event.has_started()) << event.ShortDebugString();
    const uint64_t start = event.started().sequence();
    EXPECT_EQ(Next(stream).change().sequence(), start + 1);
    context.TryCancel();
  }
  stop.store(true);
  writer.join();
  EXPECT_EQ(begun, 100);
}

// Regression test: no watcher got past the change of such a pattern.
TEST_F(PatternServiceTest, AWatchGoesOnBehindAPatternThatDoesNotOpen) {
  Put(1);
  Put(2);
  const storage::PatternId id = patterns_->List(1, "")->patterns[0].id;
  storage::Batch damage;
  damage.Put(storage::ColumnFamily::kMeta, storage::patterns::IdKey(patterns_->collection(), id),
             "damage", 1);
  ASSERT_TRUE(database_->Write(std::move(damage), storage::Durability::kProcessCrash).ok());
  ASSERT_FALSE(patterns_->Get(id).ok());
  grpc::ClientContext context;
  const Stream stream = Watch(&context, 0);
  EXPECT_TRUE(Next(stream).has_started());
  EXPECT_FALSE(Next(stream).change().has_pattern());
  EXPECT_TRUE(Next(stream).change().has_pattern());
  context.TryCancel();
}

// A power cut undoes the second version, and no later change would tell the watcher.
TEST_F(PatternServiceTest, AChangeIsNotShownWithAVersionThatMayBeUndone) {
  ruvd::storage::Pattern pattern{.id = {1}, .embedding = {1, 2, 3, 4}, .quality = 0.25F};
  ASSERT_TRUE(patterns_->Put(pattern).ok());
  pattern.quality = 0.5F;
  ASSERT_TRUE(patterns_->Put(pattern, storage::Durability::kProcessCrash).ok());
  grpc::ClientContext context;
  const Stream stream = Watch(&context, 0);
  EXPECT_TRUE(Next(stream).has_started());
  const auto first = Next(stream).change();
  EXPECT_EQ(first.sequence(), 1u);
  EXPECT_FALSE(first.has_pattern());
  ASSERT_TRUE(patterns_->Sync().ok());
  const auto second = Next(stream).change();
  EXPECT_EQ(second.sequence(), 2u);
  EXPECT_EQ(second.pattern().quality(), 0.5F);
  context.TryCancel();
}

}  // namespace
}  // namespace ruvd::api
