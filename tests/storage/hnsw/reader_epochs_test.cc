// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/reader_epochs.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace ruvd::storage::hnsw {
namespace {

TEST(ReaderEpochsTest, AReaderHoldsBackWhatWasRetiredSinceItCame) {
  ReaderEpochs epochs;
  std::optional<ReaderEpochs::Pin> old(epochs);
  const uint64_t retired = epochs.Advance();
  EXPECT_LE(epochs.OldestReader(), retired);
  std::optional<ReaderEpochs::Pin> young(epochs);
  old.reset();
  EXPECT_GT(epochs.OldestReader(), retired);
  EXPECT_LE(epochs.OldestReader(), epochs.Advance());
  young.reset();
  EXPECT_GT(epochs.OldestReader(), uint64_t{1} << 60);
}

TEST(ReaderEpochsTest, SeatsAreReusedAndScratchStays) {
  ReaderEpochs epochs;
  SearchScratch* first = nullptr;
  {
    const ReaderEpochs::Pin pin(epochs);
    first = &pin.scratch();
    const ReaderEpochs::Pin other(epochs);
    EXPECT_NE(&other.scratch(), first);
  }
  const ReaderEpochs::Pin a(epochs);
  const ReaderEpochs::Pin b(epochs);
  EXPECT_TRUE(&a.scratch() == first || &b.scratch() == first);
}

// A cell is overwritten only when no reader can hold it; readers check that it does not change
// while they read. ThreadSanitizer watches the plain accesses.
TEST(ReaderEpochsTest, NothingIsReusedUnderAReader) {
  ReaderEpochs epochs;
  constexpr size_t kCells = 8;
  std::vector<std::array<uint64_t, 2>> cells(kCells);
  std::atomic<size_t> published = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!done) {
        const ReaderEpochs::Pin pin(epochs);
        const std::array<uint64_t, 2>& cell = cells[published.load()];
        const uint64_t before = cell[0];
        EXPECT_EQ(before, cell[1]);
      }
    });
  }
  struct Retired {
    uint64_t epoch;
    size_t cell;
  };
  std::vector<Retired> retired;
  std::vector<size_t> free = {1, 2, 3, 4, 5, 6, 7};
  for (uint64_t value = 1; value < 20000; ++value) {
    while (free.empty()) {
      std::erase_if(retired, [&](const Retired& old) {
        const bool reusable = old.epoch < epochs.OldestReader();
        if (reusable) {
          free.push_back(old.cell);
        }
        return reusable;
      });
    }
    const size_t next = free.back();
    free.pop_back();
    cells[next] = {value, value};
    const size_t old = published.exchange(next);
    retired.push_back({epochs.Advance(), old});
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

}  // namespace
}  // namespace ruvd::storage::hnsw
