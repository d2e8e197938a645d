// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "storage/hnsw/search_scratch.h"

namespace ruvd::storage::hnsw {

// Epoch-based reclamation (Fraser, "Practical lock-freedom", 2004): a node that the writer has
// unlinked may be reused once every reader that could have seen it has left. A reader claims a
// seat, which records the epoch it entered in and lends it working memory. Readers take no lock and
// never wait. Thread-safe, except that only the writer may call Advance and OldestReader.
class ReaderEpochs {
 public:
  ReaderEpochs() = default;
  ~ReaderEpochs();
  ReaderEpochs(const ReaderEpochs&) = delete;
  ReaderEpochs& operator=(const ReaderEpochs&) = delete;

 private:
  static constexpr uint64_t kIdle = 0;
  struct alignas(64) Seat {
    std::atomic<uint64_t> epoch{kIdle};
    Seat* next = nullptr;
    SearchScratch scratch;
  };

 public:
  // The stay of one reader. No node that it finds in the index is reused while the pin exists.
  class Pin {
   public:
    explicit Pin(ReaderEpochs& epochs) : seat_(epochs.Claim()) {}
    ~Pin() { seat_->epoch.store(kIdle, std::memory_order_release); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    // The working memory belongs to this reader while it stays.
    SearchScratch& scratch() const { return seat_->scratch; }

   private:
    Seat* const seat_;
  };

  // Closes the current epoch and returns it. What was unlinked before may be reused when
  // OldestReader() is larger than the returned epoch.
  uint64_t Advance() { return current_.fetch_add(1, std::memory_order_seq_cst); }

  // Returns the oldest epoch that a reader is in, or the largest number when there are no readers.
  uint64_t OldestReader() const;

 private:
  Seat* Claim();
  // Records the current epoch in a claimed seat.
  void Settle(Seat* seat) const;

  std::atomic<uint64_t> current_{1};
  std::atomic<Seat*> seats_{
      nullptr};  // seats are only added; there are as many as readers were ever there at once
};

}  // namespace ruvd::storage::hnsw
