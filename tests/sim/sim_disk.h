// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "federation/events/item.h"
#include "federation/membership/kept_scores.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::test {

// The disk of one node. Records are appended, as to a write-ahead log, and are durable once synced.
// A killed process loses no record, since the kernel has them. A power cut drops what was not
// synced, from a random record on, and the record at the cut is torn: recovery reads the log up to
// there. Not thread-safe.
class SimDisk {
 public:
  // The data from which an item is rebuilt.
  struct StoredItem {
    std::shared_ptr<const privacy::Envelope> envelope;
    std::shared_ptr<const std::string> payload;
  };
  // The contents of the log.
  struct State {
    uint64_t boot_counter = 0;
    std::optional<privacy::ConsentRecord> consent;
    std::map<Digest, StoredItem> items;
    std::vector<privacy::LedgerEntry> ledger;
    std::vector<privacy::Withdrawal> withdrawals;  // of this node, in order of time
    privacy::RevocationList revocations;
    std::vector<std::string> evidence;
    federation::KeptScores scores;
    std::string rounds;  // ClusterRounds::TakeSavedState
    std::set<uint64_t> withdrawn_lessons;
  };

  void PutItem(const federation::Item& item);
  void DeleteItem(const Digest& id);
  void PutBootCounter(uint64_t counter);
  void PutConsent(const privacy::ConsentRecord& record);
  void AppendLedger(const privacy::LedgerEntry& entry);
  void AppendWithdrawal(const privacy::Withdrawal& withdrawal);
  void PutRevocations(const privacy::RevocationList& list);
  void PutEvidence(std::vector<std::string> proofs);
  void PutScores(federation::KeptScores scores);
  void PutRounds(std::string saved);
  void WithdrawLesson(uint64_t lesson);

  bool dirty() const { return !unsynced_.empty(); }
  void Sync();
  uint64_t syncs() const { return syncs_; }  // so far
  // Returns what a process that reads now would see.
  const State& Read();
  // Returns what no power cut can take.
  const State& durable() const { return state_; }
  struct Loss {
    size_t dropped = 0;  // records
    bool torn = false;
  };
  Loss CutPower(Random& random);

 private:
  struct PutItemRecord {
    Digest id{};
    StoredItem item;
  };
  struct DeleteItemRecord {
    Digest id{};
  };
  struct BootRecord {
    uint64_t counter = 0;
  };
  struct EvidenceRecord {
    std::vector<std::string> proofs;
  };
  struct RoundsRecord {
    std::string saved;
  };
  struct LessonRecord {
    uint64_t withdrawn = 0;
  };
  using Record = std::variant<PutItemRecord, DeleteItemRecord, BootRecord, privacy::ConsentRecord,
                              privacy::LedgerEntry, privacy::Withdrawal, privacy::RevocationList,
                              EvidenceRecord, federation::KeptScores, RoundsRecord, LessonRecord>;
  // Carries out one record.
  void Write(Record record);
  void Replay(size_t count);

  State state_;  // of the records before `unsynced_`
  std::vector<Record> unsynced_;
  uint64_t syncs_ = 0;
};

}  // namespace ruvd::test
