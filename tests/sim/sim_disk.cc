// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_disk.h"

#include <algorithm>
#include <utility>

namespace ruvd::test {

void SimDisk::PutItem(const federation::Item& item) {
  unsynced_.emplace_back(
      PutItemRecord{.id = item.id, .item = {.envelope = item.envelope, .payload = item.payload}});
}

void SimDisk::DeleteItem(const Digest& id) {
  unsynced_.emplace_back(DeleteItemRecord{id});
}

void SimDisk::PutBootCounter(uint64_t counter) {
  unsynced_.emplace_back(BootRecord{counter});
}

void SimDisk::PutConsent(const privacy::ConsentRecord& record) {
  unsynced_.emplace_back(record);
}

void SimDisk::AppendLedger(const privacy::LedgerEntry& entry) {
  unsynced_.emplace_back(entry);
}

void SimDisk::Replay(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Record& record = unsynced_[i];
    if (auto* put = std::get_if<PutItemRecord>(&record)) {
      state_.items[put->id] = std::move(put->item);
    } else if (auto* del = std::get_if<DeleteItemRecord>(&record)) {
      state_.items.erase(del->id);
    } else if (auto* boot = std::get_if<BootRecord>(&record)) {
      state_.boot_counter = boot->counter;
    } else if (auto* consent = std::get_if<privacy::ConsentRecord>(&record)) {
      state_.consent = *consent;
    } else {
      state_.ledger.push_back(std::get<privacy::LedgerEntry>(std::move(record)));
    }
  }
  unsynced_.clear();
}

void SimDisk::Sync() {
  Replay(unsynced_.size());
}

const SimDisk::State& SimDisk::Read() {
  // The page cache has these writes. A later power cut could still drop them; this is left out,
  // because recovery ends with a sync.
  Replay(unsynced_.size());
  return state_;
}

SimDisk::Loss SimDisk::CutPower(Random& random) {
  const size_t written = unsynced_.size();
  const size_t kept = written == 0 ? 0 : random.Below(written + 1);
  Loss loss{.dropped = written - kept, .torn = kept < written && random.Bernoulli(0.9)};
  Replay(kept);
  return loss;
}

}  // namespace ruvd::test
