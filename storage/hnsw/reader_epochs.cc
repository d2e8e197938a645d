// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/reader_epochs.h"

#include <algorithm>

namespace ruvd::storage::hnsw {

ReaderEpochs::~ReaderEpochs() {
  for (Seat* seat = seats_.load(); seat != nullptr;) {
    Seat* next = seat->next;
    delete seat;
    seat = next;
  }
}

// All these operations are sequentially consistent and so have a single order. If a writer advanced
// and then found this seat idle, it did so before the seat was taken. The loop then reads the
// advanced epoch and, with it, everything the writer unlinked before. So a seat never names an
// epoch that is already over.
void ReaderEpochs::Settle(Seat* seat) const {
  uint64_t named = seat->epoch.load(std::memory_order_relaxed);
  for (uint64_t now = current_.load(std::memory_order_seq_cst); now != named;
       now = current_.load(std::memory_order_seq_cst)) {
    named = now;
    seat->epoch.store(now, std::memory_order_seq_cst);
  }
}

ReaderEpochs::Seat* ReaderEpochs::Claim() {
  const uint64_t now = current_.load(std::memory_order_seq_cst);
  for (Seat* seat = seats_.load(std::memory_order_acquire); seat != nullptr; seat = seat->next) {
    uint64_t idle = kIdle;
    if (seat->epoch.load(std::memory_order_relaxed) == kIdle &&
        seat->epoch.compare_exchange_strong(idle, now, std::memory_order_seq_cst)) {
      Settle(seat);
      return seat;
    }
  }
  auto* seat = new Seat;
  seat->epoch.store(now, std::memory_order_seq_cst);
  seat->next = seats_.load(std::memory_order_relaxed);
  while (!seats_.compare_exchange_weak(seat->next, seat, std::memory_order_seq_cst)) {
  }
  Settle(seat);
  return seat;
}

uint64_t ReaderEpochs::OldestReader() const {
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (const Seat* seat = seats_.load(std::memory_order_seq_cst); seat != nullptr;
       seat = seat->next) {
    if (const uint64_t epoch = seat->epoch.load(std::memory_order_seq_cst); epoch != kIdle) {
      oldest = std::min(oldest, epoch);
    }
  }
  return oldest;
}

}  // namespace ruvd::storage::hnsw
