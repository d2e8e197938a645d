// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/ledger/privacy_ledger_store.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::storage {
namespace {

constexpr uint64_t kMaxHeadFileBytes = 128;  // 20 digits, 64 digits of the hash
constexpr uint32_t kLedgerFileMode = 0600;

absl::Status Broken(std::string_view cause) {
  return Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken,
               "the privacy ledger {}; restore a backup that is as new as the ledger, or give the "
               "node a new identity and an empty data folder; nothing is released until then",
               cause);
}

absl::Status RolledBack(const privacy::LedgerHead& wanted, const privacy::LedgerHead& found) {
  return Error(
      absl::StatusCode::kDataLoss, reasons::kLedgerRolledBack,
      "the privacy ledger ends at entry {} and does not continue the ledger that had reached entry "
      "{}: an older store was put back, or the disk lost the last entries; put the "
      "newest store back or restore a backup that holds entry {}. If no backup holds it, the "
      "record of that spending is lost: give the node a new identity and an empty data folder; "
      "nothing is "
      "released until then",
      found.sequence, wanted.sequence, wanted.sequence);
}

// Checks that the chain contains a head; only the hashes at some places of the chain are known.
absl::Status CheckContains(const std::map<uint64_t, Digest>& hashes_at,
                           const privacy::LedgerHead& wanted, const privacy::LedgerHead& found) {
  const auto at = hashes_at.find(wanted.sequence);
  return at != hashes_at.end() && at->second == wanted.hash ? absl::OkStatus()
                                                            : RolledBack(wanted, found);
}

// Returns the charges of a counter as charges of all units.
ledger::Counter OutsideRounds(ledger::Counter counter) {
  for (const privacy::PrivacyUnit unit : privacy::kPrivacyUnits) {
    ledger::UnitCharges& charges = counter.Of(unit);
    charges.for_all += charges.in_rounds;
    charges.in_rounds = {};
    charges.newest_round = 0;
  }
  return counter;
}

}  // namespace

PrivacyLedgerStore::PrivacyLedgerStore(Database& database, PrivacyLedgerOptions options)
    : database_(database),
      options_(std::move(options)),
      head_file_(database.path() + "/ledger-head"),
      accounts_(options_.budgets) {}

absl::StatusOr<std::unique_ptr<PrivacyLedgerStore>> PrivacyLedgerStore::Open(
    Database& database, const PrivacyLedgerOptions& options) {
  std::unique_ptr<PrivacyLedgerStore> ledger(new PrivacyLedgerStore(database, options));
  ASSIGN_OR_RETURN(const std::optional<privacy::LedgerHead> filed, ledger->ReadHeadFile());
  std::map<uint64_t, Digest> hashes_at = {{0, Digest{}}};
  for (const std::optional<privacy::LedgerHead>& wanted : {filed, options.floor}) {
    if (wanted && wanted->sequence > 0) {
      hashes_at[wanted->sequence] = Digest{};
    }
  }
  RETURN_IF_ERROR(ledger->VerifyChain(&hashes_at));
  RETURN_IF_ERROR(ledger->CheckHeadRow());
  const privacy::LedgerHead head = ledger->head();
  for (const std::optional<privacy::LedgerHead>& wanted : {filed, options.floor}) {
    if (wanted) {
      RETURN_IF_ERROR(CheckContains(hashes_at, *wanted, head));
    }
  }
  if (!filed && !options.floor && head.sequence > 0) {
    return Broken(
        fmt::format("has {} entries but {} is missing", head.sequence, ledger->head_file_));
  }
  const MutexLock lock(ledger->mutex_);
  RETURN_IF_ERROR(ledger->ReadCounterFile());
  if (!options.read_only) {
    if (!filed || filed != head) {
      RETURN_IF_ERROR(ledger->WriteHeadFile());
    }
    if (ledger->counter_ != ledger::Counter{}) {
      RETURN_IF_ERROR(ledger->RaiseCounter(ledger->counter_));
    }
    RETURN_IF_ERROR(ledger->ChargeLost());
    return ledger;
  }
  for (const privacy::LedgerCharge& charge :
       ledger::LostCharges(ledger->counter_, ledger->accounts_.charged())) {
    RETURN_IF_ERROR(ledger->accounts_.AddLost(charge));
  }
  return ledger;
}

// Replaces the hash of each sequence in `hashes_at` with that of the chain, and drops the sequences
// that the chain does not reach.
absl::Status PrivacyLedgerStore::VerifyChain(std::map<uint64_t, Digest>* hashes_at) {
  const MutexLock lock(mutex_);
  uint32_t signer = 0;
  const auto verify = [&](const RowView& view)
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const ledger::LedgerRow row, ledger::DecodeRow(view.value));
    ASSIGN_OR_RETURN(const privacy::LedgerEntry entry, ledger::DecodeEntry(row.entry));
    if (entry.sequence != head_.sequence + 1 || view.key != ledger::EntryKey(entry.sequence)) {
      return Broken(fmt::format("has a gap after entry {}", head_.sequence));
    }
    if (ledger::ChainHash(head_.hash, row.entry) != row.hash) {
      return Broken(fmt::format("was altered at entry {}", entry.sequence));
    }
    RETURN_IF_ERROR(CheckSignature(row, entry.sequence, &signer));
    if (!Apply(entry).ok()) {
      return Broken(fmt::format("has an entry {} out of order", entry.sequence));
    }
    head_ = {entry.sequence, row.hash};
    if (const auto wanted = hashes_at->find(entry.sequence); wanted != hashes_at->end()) {
      wanted->second = row.hash;
    }
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kLedger, ledger::kEntryPrefix,
                                 EndOfPrefix(ledger::kEntryPrefix), verify));
  hashes_at->erase(hashes_at->upper_bound(head_.sequence), hashes_at->end());
  return absl::OkStatus();
}

absl::Status PrivacyLedgerStore::CheckSignature(const ledger::LedgerRow& row, uint64_t sequence,
                                                uint32_t* signer) const {
  if (options_.key == nullptr) {
    return absl::OkStatus();
  }
  const std::string signed_bytes = ledger::SignedBytes(options_.key->id(), sequence, row.hash);
  const std::optional<uint32_t> found =
      row.signature ? options_.key->keys().SignerOf(AsBytes(signed_bytes), *row.signature, *signer)
                    : std::nullopt;
  if (!found) {
    return Broken(fmt::format("has an entry {} that this node's key did not sign", sequence));
  }
  *signer = *found;
  return absl::OkStatus();
}

absl::Status PrivacyLedgerStore::CheckHeadRow() const {
  privacy::LedgerHead stored;
  const absl::StatusOr<std::string> row = database_.Get(ColumnFamily::kLedger, ledger::kHeadKey);
  if (row.ok()) {
    ASSIGN_OR_RETURN(stored, ledger::ParseHead(*row));
  } else if (!absl::IsNotFound(row.status())) {
    return row.status();
  }
  return stored == head() ? absl::OkStatus()
                          : Broken("does not end at its head: entries are missing");
}

absl::StatusOr<std::optional<privacy::LedgerHead>> PrivacyLedgerStore::ReadHeadFile() const {
  const absl::StatusOr<std::string> text = ReadFile(head_file_, kMaxHeadFileBytes);
  if (absl::IsNotFound(text.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(const privacy::LedgerHead head, ledger::ParseHead(*text));
  return head;
}

absl::Status PrivacyLedgerStore::WriteHeadFile() const {
  const std::string head = ledger::FormatHead(head_);
  return options_.write_file ? options_.write_file(head_file_, head)
                             : WriteFileAtomically(head_file_, head, kLedgerFileMode);
}

// Without a counter file one release of each unit may be missing in the chain, and in any round.
absl::Status PrivacyLedgerStore::ReadCounterFile() {
  counter_ = accounts_.charged();
  if (options_.counter_file.empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text =
      ReadFile(options_.counter_file, limits::kMaxLedgerCounterBytes);
  if (absl::IsNotFound(text.status())) {
    for (const privacy::LedgerCharge& charge : ledger::LostCharges(dearest_, {})) {
      counter_.Add(charge);
    }
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(const ledger::Counter filed, ledger::ParseCounter(*text));
  counter_.RaiseTo(filed);
  return absl::OkStatus();
}

// After an error the file may hold the old or the new value, so the larger one counts until it is
// known.
absl::Status PrivacyLedgerStore::RaiseCounter(const ledger::Counter& counter) {
  if (options_.counter_file.empty()) {
    return absl::OkStatus();
  }
  const std::string text = ledger::FormatCounter(counter);
  const absl::Status written =
      options_.write_file ? options_.write_file(options_.counter_file, text)
                          : WriteFileAtomically(options_.counter_file, text, kLedgerFileMode);
  if (!written.ok()) {
    const absl::Status read = ReadCounterFile();
    counter_ = read.ok() ? counter_ : counter;
    return written;
  }
  counter_ = counter;
  return absl::OkStatus();
}

// Charges what the counter file has and the chain does not: the process ended between the two
// writes, or an older store was put back.
absl::Status PrivacyLedgerStore::ChargeLost() {
  const std::vector<privacy::LedgerCharge> lost =
      ledger::LostCharges(counter_, accounts_.charged());
  if (lost.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(RaiseCounter(counter_));
  for (const privacy::LedgerCharge& charge : lost) {
    RETURN_IF_ERROR(Append({.kind = privacy::LedgerKind::kReserve, .charge = charge}));
  }
  return absl::OkStatus();
}

absl::Status PrivacyLedgerStore::CheckStage(uint64_t reservation, privacy::LedgerKind next) const {
  const auto stage = unreleased_.find(reservation);
  if (stage == unreleased_.end()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the privacy ledger has no open reservation {}; reserve first", reservation);
  }
  const privacy::LedgerKind wanted = next == privacy::LedgerKind::kSpend
                                         ? privacy::LedgerKind::kReserve
                                         : privacy::LedgerKind::kSpend;
  if (stage->second.reached != wanted) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "reservation {} of the privacy ledger is {}; reserve, spend and release in this "
                 "order, once each",
                 reservation,
                 wanted == privacy::LedgerKind::kReserve ? "already spent" : "not spent yet");
  }
  return absl::OkStatus();
}

absl::Status PrivacyLedgerStore::Apply(const privacy::LedgerEntry& entry) {
  if (entry.kind == privacy::LedgerKind::kReserve) {
    RETURN_IF_ERROR(accounts_.Add(*entry.charge));
    ledger::Counter cost;
    cost.Add(*entry.charge);
    dearest_.RaiseTo(OutsideRounds(cost));
    unreleased_[entry.sequence] = {privacy::LedgerKind::kReserve, entry.charge->unit};
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckStage(entry.reservation, entry.kind));
  const auto stage = unreleased_.find(entry.reservation);
  if (entry.kind == privacy::LedgerKind::kSpend) {
    stage->second.reached = privacy::LedgerKind::kSpend;
  } else {
    accounts_.AddRelease(stage->second.unit);
    unreleased_.erase(stage);
  }
  return absl::OkStatus();
}

absl::Status PrivacyLedgerStore::Append(privacy::LedgerEntry entry) {
  if (options_.read_only) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "the privacy ledger was opened only to verify it; open it to write");
  }
  entry.sequence = head_.sequence + 1;
  entry.wall_ms = database_.clock().WallMillis();
  if (entry.kind == privacy::LedgerKind::kReserve) {
    entry.reservation = entry.sequence;
  }
  ledger::LedgerRow row{.entry = ledger::EncodeEntry(entry)};
  // An entry that cannot be read again would make the ledger unusable for ever.
  const absl::StatusOr<privacy::LedgerEntry> again = ledger::DecodeEntry(row.entry);
  if (!again.ok() || *again != entry) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "an entry of the privacy ledger could not be read again as it was written; "
                 "correct the charge");
  }
  row.hash = ledger::ChainHash(head_.hash, row.entry);
  if (options_.key != nullptr) {
    row.signature = options_.key->Sign(
        AsBytes(ledger::SignedBytes(options_.key->id(), entry.sequence, row.hash)));
  }
  const privacy::LedgerHead next{entry.sequence, row.hash};
  Batch batch;
  batch.Put(ColumnFamily::kLedger, ledger::EntryKey(entry.sequence), ledger::EncodeRow(row));
  batch.Put(ColumnFamily::kLedger, ledger::kHeadKey, ledger::FormatHead(next));
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kPowerLoss));
  head_ = next;
  RETURN_IF_ERROR(Apply(entry));
  return WriteHeadFile();
}

// The counter is written first: a charge that is in the counter but not in the chain is found when
// the ledger is opened or charged again.
absl::StatusOr<uint64_t> PrivacyLedgerStore::Reserve(const privacy::LedgerCharge& charge) {
  RETURN_IF_ERROR(ledger::CheckCharge(charge));
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(ChargeLost());
  RETURN_IF_ERROR(accounts_.Check(charge));
  ledger::Counter counter = accounts_.charged();
  counter.Add(charge);
  if (counter.Saturated()) {
    return Error(
        absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
        "the privacy ledger cannot count this charge any more, because all charges "
        "together exceed 2^32 nats; give the node a new identity and an empty data folder");
  }
  RETURN_IF_ERROR(RaiseCounter(counter));
  RETURN_IF_ERROR(Append({.kind = privacy::LedgerKind::kReserve, .charge = charge}));
  return head_.sequence;
}

absl::Status PrivacyLedgerStore::Spend(uint64_t reservation) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckStage(reservation, privacy::LedgerKind::kSpend));
  return Append({.kind = privacy::LedgerKind::kSpend, .reservation = reservation});
}

absl::Status PrivacyLedgerStore::Release(uint64_t reservation) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckStage(reservation, privacy::LedgerKind::kRelease));
  return Append({.kind = privacy::LedgerKind::kRelease, .reservation = reservation});
}

privacy::LedgerHead PrivacyLedgerStore::head() const {
  const MutexLock lock(mutex_);
  return head_;
}

absl::Status PrivacyLedgerStore::Check(const privacy::LedgerCharge& charge) const {
  RETURN_IF_ERROR(ledger::CheckCharge(charge));
  const MutexLock lock(mutex_);
  return accounts_.Check(charge);
}

absl::Status PrivacyLedgerStore::CheckNode(const privacy::dp::RdpCurve& cost) const {
  const MutexLock lock(mutex_);
  return accounts_.CheckNode(cost);
}

uint64_t PrivacyLedgerStore::OldestEligible(privacy::PrivacyUnit unit, uint64_t round,
                                            const privacy::dp::RdpCurve& cost) const {
  const MutexLock lock(mutex_);
  return accounts_.OldestEligible(unit, round, cost);
}

LedgerTotals PrivacyLedgerStore::totals(privacy::PrivacyUnit unit) const {
  const MutexLock lock(mutex_);
  return accounts_.totals(unit);
}

absl::StatusOr<double> PrivacyLedgerStore::LargestEpsilon(privacy::PrivacyUnit unit,
                                                          double delta) const {
  const MutexLock lock(mutex_);
  return accounts_.LargestEpsilon(unit, delta);
}

ledger::Counter PrivacyLedgerStore::counter() const {
  const MutexLock lock(mutex_);
  ledger::Counter all = accounts_.charged();
  all.RaiseTo(counter_);
  return all;
}

absl::Status PrivacyLedgerStore::ForEach(
    const std::function<bool(const privacy::LedgerEntry&)>& callback) const {
  return database_.Scan(
      ColumnFamily::kLedger, ledger::kEntryPrefix, EndOfPrefix(ledger::kEntryPrefix),
      [&callback](const RowView& view) -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const ledger::LedgerRow row, ledger::DecodeRow(view.value));
        ASSIGN_OR_RETURN(const privacy::LedgerEntry entry, ledger::DecodeEntry(row.entry));
        return callback(entry);
      });
}

}  // namespace ruvd::storage
