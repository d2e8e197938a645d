// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "storage/hnsw/search_scratch.h"

namespace ruvd::storage::hnsw {

// Epoch-based reclamation (Fraser, "Practical lock-freedom", 2004): what a writer has unlinked may
// be reused once every reader that could have seen it has left. Readers claim a seat, which names
// the epoch they entered in and lends them working memory; they take no lock and wait for nobody.
// Thread-safe, except that Advance and OldestReader are the writer's.
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
  // A reader's stay. What it finds in the index is not reused before the pin is gone.
  class Pin {
   public:
    explicit Pin(ReaderEpochs& epochs) : seat_(epochs.Claim()) {}
    ~Pin() { seat_->epoch.store(kIdle, std::memory_order_release); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    // The reader's own while it stays.
    SearchScratch& scratch() const { return seat_->scratch; }

   private:
    Seat* const seat_;
  };

  // Closes the current epoch and returns it: what was unlinked before may be reused when
  // OldestReader() is above it.
  uint64_t Advance() { return current_.fetch_add(1, std::memory_order_seq_cst); }

  // The oldest epoch that a reader stays in; the greatest number where there are none.
  uint64_t OldestReader() const;

 private:
  Seat* Claim();
  // Names the current epoch in a claimed seat.
  void Settle(Seat* seat) const;

  std::atomic<uint64_t> current_{1};
  std::atomic<Seat*> seats_{
      nullptr};  // only ever pushed to; as many as readers ever stayed at once
};

}  // namespace ruvd::storage::hnsw
