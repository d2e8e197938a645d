// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/ledger/ledger_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "storage/db/row_key.h"
#include "storage/ledger/ledger_rows.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::storage::ledger {
namespace {

constexpr std::string_view kLedgerFileMagic = "RUVDLED1";
// The bytes besides the entries and rotations: magic, node id, key, number of rotations, time,
// number of entries and the last signature.
constexpr size_t kLedgerFrameBytes = 8 + 32 + 32 + 4 + 8 + 8 + 64;

absl::Status FileBroken(std::string_view what) {
  return Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken,
               "the ledger file {}; have its node export it again", what);
}

std::string EndBytes(const LedgerFileSummary& file) {
  constexpr std::string_view kDomain("RUVDLLM-LEDGER-END-v1\0", 22);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(file.node).Write(file.created_ms);
  return writer.Write(file.head.sequence).WriteBytes(file.head.hash).Take();
}

void WriteRow(const LedgerRow& row, ByteWriter& writer) {
  writer.Write(static_cast<uint32_t>(row.entry.size())).WriteText(row.entry);
  writer.WriteBytes(row.hash).WriteBytes(*row.signature);
}

std::optional<LedgerRow> ReadRow(ByteReader& reader) {
  const auto length = reader.Read<uint32_t>();
  const auto entry = reader.ReadBytes(length.value_or(0));
  const auto hash = reader.ReadArray<32>();
  const auto signature = reader.ReadArray<64>();
  if (reader.failed()) {
    return std::nullopt;
  }
  return LedgerRow{.entry = std::string(AsText(*entry)), .hash = *hash, .signature = *signature};
}

// Visits the entries of a file in order and adds them up.
class Walk {
 public:
  Walk(LedgerFileSummary& file, const privacy::NodeKeys& keys, const LedgerFileDemands& demands)
      : file_(file), keys_(keys), demands_(demands) {}

  absl::Status Take(const LedgerRow& row) {
    const uint64_t sequence = file_.head.sequence + 1;
    const absl::StatusOr<privacy::LedgerEntry> entry = DecodeEntry(row.entry);
    if (!entry.ok() || entry->sequence != sequence) {
      return FileBroken(
          fmt::format("has an entry {} that does not decode or is out of order", sequence));
    }
    if (ChainHash(file_.head.hash, row.entry) != row.hash) {
      return FileBroken(fmt::format("was altered at entry {}", sequence));
    }
    const std::optional<uint32_t> signer = keys_.SignerOf(
        AsBytes(SignedBytes(file_.node, sequence, row.hash)), *row.signature, signer_);
    if (!signer) {
      return FileBroken(fmt::format("has an entry {} that its node did not sign", sequence));
    }
    signer_ = *signer;
    if (!Count(*entry)) {
      return FileBroken(fmt::format(
          "has an entry {} that charges an earlier round than the entries before it, or spends or "
          "releases what was not reserved or spent before it",
          sequence));
    }
    file_.head = {sequence, row.hash};
    if (entry->charge && !demands_.budgets.empty()) {
      charges_.emplace_back(sequence, *entry->charge);
    }
    return absl::OkStatus();
  }

  // Checks the demands after all entries were visited.
  absl::Status CheckDemands() const {
    for (const privacy::UnitBudget& budget : demands_.budgets) {
      RETURN_IF_ERROR(CompareUnits(budget));
    }
    return demands_.counter ? CompareWithCounter(*demands_.counter) : absl::OkStatus();
  }

 private:
  absl::Status CompareWithCounter(const Counter& counter) const {
    const std::vector<privacy::LedgerCharge> missing =
        LostCharges(counter, file_.accounts.charged());
    if (missing.empty()) {
      return absl::OkStatus();
    }
    return Error(
        absl::StatusCode::kDataLoss, reasons::kLedgerBroken,
        "the counter says that more {}-level privacy was charged than the {} entries of the "
        "ledger file add up to: entries are missing at the end; have its node export it "
        "again, and count what the counter says as spent",
        privacy::UnitName(missing.front().unit), file_.head.sequence);
  }

  static absl::Status AboveBudget(uint64_t sequence, const privacy::UnitBudget& budget,
                                  double epsilon) {
    return Error(
        absl::StatusCode::kResourceExhausted, reasons::kPrivacyBudgetSpent,
        "entry {} of the ledger file takes the {}-level privacy spent to epsilon {:.3f} at delta "
        "{:.1e}, above the budget of {:.3f}: have its node stop sharing, and do not rely on that "
        "budget for anything that it released",
        sequence, privacy::UnitName(budget.unit), epsilon, budget.delta, budget.epsilon);
  }

  // Compares the largest epsilon of any unit with a budget, and finds the first entry
  // above it by halving, because what is spent never falls.
  absl::Status CompareUnits(const privacy::UnitBudget& budget) const {
    const auto spent_by = [&](size_t entries) {
      LedgerAccounts accounts;
      for (size_t i = 0; i < entries; ++i) {
        RUVD_CHECK(accounts.Add(charges_[i].second).ok());
      }
      return accounts.LargestEpsilon(budget.unit, budget.delta);
    };
    ASSIGN_OR_RETURN(double epsilon, spent_by(charges_.size()));
    size_t within = 0;
    size_t above = charges_.size();
    while (epsilon > budget.epsilon && within + 1 < above) {
      const size_t middle = within + (above - within) / 2;
      ASSIGN_OR_RETURN(const double spent, spent_by(middle));
      (spent > budget.epsilon ? above : within) = middle;
    }
    if (epsilon <= budget.epsilon) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(epsilon, spent_by(above));
    return AboveBudget(charges_[above - 1].first, budget, epsilon);
  }

  bool Count(const privacy::LedgerEntry& entry) {
    if (entry.kind == privacy::LedgerKind::kReserve) {
      reserved_[entry.sequence] = entry.charge->unit;
      return file_.accounts.Add(*entry.charge).ok();
    }
    const auto reserved = reserved_.find(entry.reservation);
    if (reserved == reserved_.end()) {
      return false;
    }
    if (entry.kind == privacy::LedgerKind::kSpend) {
      return spent_.insert(entry.reservation).second;
    }
    file_.accounts.AddRelease(reserved->second);
    reserved_.erase(reserved);
    return spent_.erase(entry.reservation) == 1;
  }

  LedgerFileSummary& file_;
  const privacy::NodeKeys& keys_;
  uint32_t signer_ = 0;  // epoch of the key that signed the entry before
  const LedgerFileDemands& demands_;
  std::map<uint64_t, privacy::PrivacyUnit> reserved_;  // reserved and not released
  std::set<uint64_t> spent_;
  // By sequence number, if there are budgets. They are compared at the end, because the largest
  // epsilon takes long to compute, and an error in the file comes first.
  std::vector<std::pair<uint64_t, privacy::LedgerCharge>> charges_;
};

}  // namespace

absl::StatusOr<std::string> ExportLedger(const Database& database, const privacy::NodeKey& key,
                                         int64_t now_ms) {
  LedgerFileSummary file{.node = key.id(), .key = key.public_key(), .created_ms = now_ms};
  const std::string rotations = key.keys().EncodeRotations();
  ByteWriter rows;
  const auto take = [&](const RowView& view) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const LedgerRow row, DecodeRow(view.value));
    if (!row.signature) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kLedgerBroken,
                   "entry {} of the privacy ledger is not signed; only a ledger that was written "
                   "with the node's key can be exported",
                   file.head.sequence + 1);
    }
    file.head = {file.head.sequence + 1, row.hash};
    WriteRow(row, rows);
    if (rows.str().size() + rotations.size() + kLedgerFrameBytes > limits::kMaxLedgerFileBytes) {
      return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                   "the privacy ledger takes more than {} bytes; verify the store itself with ruvd "
                   "store verify",
                   limits::kMaxLedgerFileBytes);
    }
    return true;
  };
  RETURN_IF_ERROR(
      database.Scan(ColumnFamily::kLedger, kEntryPrefix, EndOfPrefix(kEntryPrefix), take));
  ByteWriter writer;
  writer.WriteText(kLedgerFileMagic)
      .WriteBytes(file.node)
      .WriteBytes(file.key)
      .Write(key.epoch())
      .WriteText(rotations)
      .Write(file.created_ms);
  writer.Write(file.head.sequence).WriteText(rows.str());
  writer.WriteBytes(key.Sign(AsBytes(EndBytes(file))));
  RETURN_IF_ERROR(VerifyLedgerFile(AsBytes(writer.str())).status());
  return writer.Take();
}

absl::StatusOr<LedgerFileSummary> VerifyLedgerFile(std::span<const uint8_t> bytes,
                                                   const LedgerFileDemands& demands) {
  ByteReader reader(bytes);
  LedgerFileSummary file;
  const auto magic = reader.ReadBytes(kLedgerFileMagic.size());
  const auto node = reader.ReadArray<32>();
  const auto key = reader.ReadArray<32>();
  const uint64_t count = reader.Read<uint32_t>().value_or(0);
  if (reader.failed() || AsText(*magic) != kLedgerFileMagic || count > limits::kMaxKeyRotations) {
    return FileBroken("is not a ledger file or is cut off");
  }
  const auto rotations = reader.ReadBytes(count * privacy::KeyRotation::kBytes);
  const auto created = reader.Read<int64_t>();
  const auto entries = reader.Read<uint64_t>();
  if (reader.failed()) {
    return FileBroken("is cut off before its entries");
  }
  file.node = *node;
  file.key = *key;
  file.created_ms = *created;
  RETURN_IF_ERROR(privacy::CheckPublicKey(file.key));
  const absl::StatusOr<privacy::NodeKeys> keys = privacy::NodeKeys::Through(*rotations, file.key);
  if (!keys.ok() || file.node != keys->node()) {
    return FileBroken("names a node that its key does not belong to");
  }
  Walk walk(file, *keys, demands);
  for (uint64_t i = 0; i < *entries; ++i) {
    const std::optional<LedgerRow> row = ReadRow(reader);
    if (!row) {
      return FileBroken(fmt::format("is cut off after entry {}", file.head.sequence));
    }
    RETURN_IF_ERROR(walk.Take(*row));
  }
  const auto signature = reader.ReadArray<64>();
  if (reader.failed() || reader.remaining() != 0 ||
      !privacy::VerifySignature(file.key, AsBytes(EndBytes(file)), *signature)) {
    return FileBroken("does not end where its node signed that it ends");
  }
  RETURN_IF_ERROR(walk.CheckDemands());
  return file;
}

}  // namespace ruvd::storage::ledger
