// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/vector_reader.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"

namespace ruvd::storage::patterns {
namespace {

// The values of a block take three megabytes.
constexpr uint32_t kBlockValues = 768 * 1024;
constexpr uint32_t kMaxBlockSlots = 1024;
// More threads gain nothing: the index takes the rows one after the other.
constexpr unsigned kMaxThreads = 3;
// The number of blocks for each thread that may wait to be taken.
constexpr uint32_t kBlocksAhead = 2;

}  // namespace

VectorReader::VectorReader(const Database& database, uint32_t collection, uint32_t dimension)
    : database_(database),
      collection_(collection),
      dimension_(dimension),
      block_slots_(std::clamp(kBlockValues / dimension, 1U, kMaxBlockSlots)) {}

VectorReader::~VectorReader() {
  const MutexLock lock(mutex_);
  stop_ = true;
  changed_.NotifyAll();
}

absl::Status VectorReader::Start() {
  ASSIGN_OR_RETURN(blocks_, CountBlocks());
  const unsigned threads =
      std::clamp(std::thread::hardware_concurrency(), 2U, kMaxThreads + 1U) - 1;
  ahead_ = threads * kBlocksAhead;
  try {
    for (unsigned i = 0; i < std::min(threads, blocks_); ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {  // no more threads: ForEach reads by itself
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> VectorReader::CountBlocks() const {
  uint32_t blocks = 0;
  const std::string prefix = CollectionPrefix(collection_);
  const auto take = [&](std::string_view key) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const uint32_t last, SlotOfKey(key));
    blocks = last / block_slots_ + 1;
    return false;
  };
  RETURN_IF_ERROR(database_.ScanBackward(
      ColumnFamily::kVec, prefix, EndOfPrefix(prefix),
      [&](const RowView& row) { return take(row.key); }, take));
  return blocks;
}

absl::StatusOr<VectorReader::Block> VectorReader::Read(uint32_t block) const {
  Block read;
  // the size is fixed, so the rows' spans stay valid
  read.values.resize(size_t{block_slots_} * dimension_);
  const auto take = [&](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const uint32_t slot, SlotOfKey(row.key));
    const auto place = std::span(read.values).subspan(read.rows.size() * dimension_, dimension_);
    if (DecodeVecRow(row.value, place).ok()) {
      read.rows.push_back({slot, row.generation, place});
    }
    return true;
  };
  const auto pass = [](std::string_view) -> absl::StatusOr<bool> { return true; };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kVec, SlotKey(collection_, block * block_slots_),
                                 SlotKey(collection_, (block + 1) * block_slots_), take, pass));
  return read;
}

bool VectorReader::MayBegin() const {
  return begun_ < blocks_ && begun_ < taken_ + ahead_;
}

bool VectorReader::ReadNext() {
  uint32_t block = 0;
  {
    const MutexLock lock(mutex_);
    if (stop_ || !MayBegin()) {
      return false;
    }
    block = begun_++;
  }
  absl::StatusOr<Block> read = Read(block);
  const MutexLock lock(mutex_);
  read_.emplace(block, std::move(read));
  changed_.NotifyAll();
  return true;
}

void VectorReader::Work() {
  for (;;) {
    while (ReadNext()) {
    }
    const MutexLock lock(mutex_);
    while (!stop_ && begun_ < blocks_ && !MayBegin()) {
      changed_.Wait(mutex_);
    }
    if (stop_ || begun_ >= blocks_) {
      return;
    }
  }
}

// The waiting thread reads too, because a start on two cores has nothing else to do.
absl::StatusOr<VectorReader::Block> VectorReader::Take(uint32_t block) {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (const auto found = read_.find(block); found != read_.end()) {
        absl::StatusOr<Block> taken = std::move(found->second);
        read_.erase(found);
        ++taken_;
        changed_.NotifyAll();
        return taken;
      }
    }
    if (ReadNext()) {
      continue;
    }
    const MutexLock lock(mutex_);
    while (!read_.contains(block)) {
      changed_.Wait(mutex_);
    }
  }
}

absl::Status VectorReader::ForEach(const std::function<absl::Status(const Row& row)>& show) {
  for (uint32_t block = 0; block < blocks_; ++block) {
    ASSIGN_OR_RETURN(const Block taken, Take(block));
    for (const Row& row : taken.rows) {
      RETURN_IF_ERROR(show(row));
    }
  }
  return absl::OkStatus();
}

}  // namespace ruvd::storage::patterns
