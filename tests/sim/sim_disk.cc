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

void SimDisk::AppendWithdrawal(const privacy::Withdrawal& withdrawal) {
  unsynced_.emplace_back(withdrawal);
}

void SimDisk::PutRevocations(const privacy::RevocationList& list) {
  unsynced_.emplace_back(list);
}

void SimDisk::PutEvidence(std::vector<std::string> proofs) {
  unsynced_.emplace_back(EvidenceRecord{std::move(proofs)});
}

void SimDisk::PutScores(federation::KeptScores scores) {
  unsynced_.emplace_back(std::move(scores));
}

void SimDisk::PutRounds(std::string saved) {
  unsynced_.emplace_back(RoundsRecord{std::move(saved)});
}

void SimDisk::WithdrawLesson(uint64_t lesson) {
  unsynced_.emplace_back(LessonRecord{lesson});
}

void SimDisk::Write(Record record) {
  if (auto* put = std::get_if<PutItemRecord>(&record)) {
    state_.items[put->id] = std::move(put->item);
  } else if (auto* del = std::get_if<DeleteItemRecord>(&record)) {
    state_.items.erase(del->id);
  } else if (auto* boot = std::get_if<BootRecord>(&record)) {
    state_.boot_counter = boot->counter;
  } else if (auto* consent = std::get_if<privacy::ConsentRecord>(&record)) {
    state_.consent = *consent;
  } else if (auto* entry = std::get_if<privacy::LedgerEntry>(&record)) {
    state_.ledger.push_back(*std::move(entry));
  } else if (auto* withdrawal = std::get_if<privacy::Withdrawal>(&record)) {
    state_.withdrawals.push_back(*std::move(withdrawal));
  } else if (auto* list = std::get_if<privacy::RevocationList>(&record)) {
    state_.revocations = *std::move(list);
  } else if (auto* evidence = std::get_if<EvidenceRecord>(&record)) {
    state_.evidence = std::move(evidence->proofs);
  } else if (auto* scores = std::get_if<federation::KeptScores>(&record)) {
    state_.scores = *std::move(scores);
  } else if (auto* rounds = std::get_if<RoundsRecord>(&record)) {
    state_.rounds = std::move(rounds->saved);
  } else {
    state_.withdrawn_lessons.insert(std::get<LessonRecord>(record).withdrawn);
  }
}

void SimDisk::Replay(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Write(std::move(unsynced_[i]));
  }
  unsynced_.clear();
}

void SimDisk::Sync() {
  ++syncs_;
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
