// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/ledger/ledger_rows.h"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/sodium.h"
#include "ruvd/storage/v1/ledger.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::storage::ledger {
namespace {

absl::Status Broken(std::string_view what) {
  return Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken,
               "{} of the privacy ledger does not decode; restore a backup that is as new as the "
               "ledger; nothing is released until then",
               what);
}

bool HasUnit(const privacy::LedgerCharge& charge) {
  return std::ranges::find(privacy::kPrivacyUnits, charge.unit) != std::end(privacy::kPrivacyUnits);
}

bool InRange(const privacy::LedgerCharge& charge) {
  const bool mechanism = charge.mechanism >= privacy::PrivacyMechanism::kGaussian &&
                         charge.mechanism <= privacy::PrivacyMechanism::kLost;
  const bool noise = charge.sigma > 0 && std::isfinite(charge.sigma) && charge.sampling_rate > 0 &&
                     charge.sampling_rate <= 1 && charge.steps > 0;
  const bool cost =
      charge.epsilon >= 0 && std::isfinite(charge.epsilon) && charge.delta >= 0 && charge.delta < 1;
  return mechanism && noise && cost;
}

bool HasRound(const privacy::LedgerCharge& charge) {
  return charge.oldest_joined <= charge.round && charge.round < limits::kMaxRound;
}

void WriteCharge(const privacy::LedgerCharge& charge, v1::LedgerCharge* row) {
  row->set_unit(static_cast<uint32_t>(charge.unit));
  row->set_mechanism(static_cast<uint32_t>(charge.mechanism));
  row->set_sigma(charge.sigma);
  row->set_sampling_rate(charge.sampling_rate);
  row->set_steps(charge.steps);
  row->set_epsilon(charge.epsilon);
  row->set_delta(charge.delta);
  if (charge.curve != privacy::dp::RdpCurve()) {
    row->mutable_rdp_q32()->Assign(charge.curve.q32.begin(), charge.curve.q32.end());
  }
  row->set_subject(charge.subject);
  row->set_round(charge.round);
  row->set_oldest_joined(charge.oldest_joined);
}

// Returns the number of an enumeration if it fits into a byte, otherwise 0, which no enumeration
// has.
uint8_t Narrow(uint32_t value) {
  return value > 0xFF ? uint8_t{0} : static_cast<uint8_t>(value);
}

// Returns nothing for a curve with another number of orders.
std::optional<privacy::LedgerCharge> ReadCharge(const v1::LedgerCharge& row) {
  privacy::LedgerCharge charge{
      .unit = static_cast<privacy::PrivacyUnit>(Narrow(row.unit())),
      .mechanism = static_cast<privacy::PrivacyMechanism>(Narrow(row.mechanism())),
      .sigma = row.sigma(),
      .sampling_rate = row.sampling_rate(),
      .steps = row.steps(),
      .epsilon = row.epsilon(),
      .delta = row.delta(),
      .round = row.round(),
      .oldest_joined = row.oldest_joined(),
      .subject = row.subject()};
  if (row.rdp_q32_size() != 0) {
    if (static_cast<size_t>(row.rdp_q32_size()) != charge.curve.q32.size()) {
      return std::nullopt;
    }
    std::ranges::copy(row.rdp_q32(), charge.curve.q32.begin());
  }
  return charge;
}

// A reserve entry has a charge and names itself; the other kinds name an earlier entry.
bool WellFormed(const privacy::LedgerEntry& entry) {
  if (entry.sequence == 0 || entry.wall_ms < 0) {
    return false;
  }
  if (entry.kind == privacy::LedgerKind::kReserve) {
    return entry.charge && entry.reservation == entry.sequence && CheckCharge(*entry.charge).ok();
  }
  return (entry.kind == privacy::LedgerKind::kSpend ||
          entry.kind == privacy::LedgerKind::kRelease) &&
         !entry.charge && entry.reservation > 0 && entry.reservation < entry.sequence;
}

}  // namespace

std::string EntryKey(uint64_t sequence) {
  return RowKey().Text(kEntryPrefix).U64(sequence).Take();
}

absl::Status CheckCharge(const privacy::LedgerCharge& charge) {
  if (charge.subject.size() > limits::kMaxLedgerSubjectBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a charge has a subject of {} bytes; the limit is {}", charge.subject.size(),
                 limits::kMaxLedgerSubjectBytes);
  }
  if (!HasUnit(charge)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a charge protects the unit {}, which is not known; charge lessons (2), users "
                 "(3) or the node (4)",
                 static_cast<int>(charge.unit));
  }
  if (!InRange(charge)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a charge of sigma {}, sampling rate {}, {} steps, epsilon {} and delta {} is "
                 "invalid; noise must be above 0, the rate in (0, 1], delta in [0, 1)",
                 charge.sigma, charge.sampling_rate, charge.steps, charge.epsilon, charge.delta);
  }
  if (!HasRound(charge)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a charge of round {} and joining round {} is invalid; charge units "
                 "from a round on that is not after theirs",
                 charge.round, charge.oldest_joined);
  }
  return absl::OkStatus();
}

std::string EncodeEntry(const privacy::LedgerEntry& entry) {
  v1::LedgerEntry row;
  row.set_sequence(entry.sequence);
  row.set_kind(static_cast<uint32_t>(entry.kind));
  row.set_reservation(entry.reservation);
  row.set_wall_ms(entry.wall_ms);
  if (entry.charge) {
    WriteCharge(*entry.charge, row.mutable_charge());
  }
  return row.SerializeAsString();
}

absl::StatusOr<privacy::LedgerEntry> DecodeEntry(std::string_view bytes) {
  v1::LedgerEntry row;
  if (!row.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Broken("an entry");
  }
  privacy::LedgerEntry entry{.sequence = row.sequence(),
                             .kind = static_cast<privacy::LedgerKind>(Narrow(row.kind())),
                             .reservation = row.reservation(),
                             .wall_ms = row.wall_ms()};
  if (row.has_charge()) {
    entry.charge = ReadCharge(row.charge());
    if (!entry.charge) {
      return Broken("an entry");
    }
    if (!HasUnit(*entry.charge)) {
      return Broken(fmt::format("an entry for the unknown unit {}", row.charge().unit()));
    }
  }
  return WellFormed(entry) ? absl::StatusOr<privacy::LedgerEntry>(std::move(entry))
                           : Broken("an entry");
}

Digest ChainHash(const Digest& previous, std::string_view entry) {
  privacy::InitSodium();
  const std::string input = std::string(AsText(previous)).append(entry);
  Digest hash;
  RUVD_CHECK(crypto_generichash(hash.data(), hash.size(), AsBytes(input).data(), input.size(),
                                nullptr, 0) == 0);
  return hash;
}

std::string EncodeRow(const LedgerRow& row) {
  v1::LedgerRow out;
  out.set_entry(row.entry);
  out.set_hash(std::string(AsText(row.hash)));
  if (row.signature) {
    out.set_signature(std::string(AsText(*row.signature)));
  }
  return out.SerializeAsString();
}

absl::StatusOr<LedgerRow> DecodeRow(std::string_view bytes) {
  v1::LedgerRow in;
  LedgerRow row;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      in.hash().size() != row.hash.size() ||
      (!in.signature().empty() && in.signature().size() != sizeof(privacy::Signature))) {
    return Broken("a row");
  }
  row.entry = in.entry();
  std::memcpy(row.hash.data(), in.hash().data(), row.hash.size());
  if (!in.signature().empty()) {
    std::memcpy(row.signature.emplace().data(), in.signature().data(), sizeof(privacy::Signature));
  }
  return row;
}

std::string SignedBytes(const privacy::NodeId& node, uint64_t sequence, const Digest& hash) {
  constexpr std::string_view kDomain("RUVDLLM-LEDGER-v1\0", 18);
  return ByteWriter().WriteText(kDomain).WriteBytes(node).Write(sequence).WriteBytes(hash).Take();
}

bool Chain::Contains(const privacy::LedgerHead& wanted) const {
  if (wanted.sequence == 0) {
    return wanted.hash == Digest{};
  }
  const auto at = hashes.find(wanted.sequence);
  return at != hashes.end() && at->second == wanted.hash;
}

Chain ReadChain(const Database& database) {
  Chain chain;
  const auto take = [&chain](const RowView& view) -> absl::StatusOr<bool> {
    const absl::StatusOr<LedgerRow> row = DecodeRow(view.value);
    const std::optional<uint64_t> sequence =
        ReadKeyU64(view.key, std::string_view(kEntryPrefix).size());
    if (!row.ok() || !sequence || view.key != EntryKey(*sequence)) {
      chain.intact = false;
      return true;
    }
    chain.hashes[*sequence] = row->hash;
    chain.intact = chain.intact && *sequence == chain.head.sequence + 1 &&
                   ChainHash(chain.head.hash, row->entry) == row->hash;
    if (chain.intact) {
      chain.head = {*sequence, row->hash};
    }
    return true;
  };
  const absl::Status read =
      database.Scan(ColumnFamily::kLedger, kEntryPrefix, EndOfPrefix(kEntryPrefix), take);
  const absl::StatusOr<std::string> stored = database.Get(ColumnFamily::kLedger, kHeadKey);
  if (stored.ok()) {
    const absl::StatusOr<privacy::LedgerHead> head = ParseHead(*stored);
    chain.head_row = head.ok() ? std::optional(*head) : std::nullopt;
  } else if (absl::IsNotFound(stored.status())) {
    chain.head_row = privacy::LedgerHead{};
  }
  chain.intact = chain.intact && read.ok() && chain.head_row == chain.head;
  return chain;
}

std::string FormatHead(const privacy::LedgerHead& head) {
  return fmt::format("{} {}\n", head.sequence, ToHex(head.hash));
}

absl::StatusOr<privacy::LedgerHead> ParseHead(std::string_view text) {
  privacy::LedgerHead head;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), head.sequence);
  std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  if (error != std::errc() || !rest.starts_with(' ') || !rest.ends_with('\n')) {
    return Broken("the head");
  }
  rest.remove_prefix(1);
  rest.remove_suffix(1);
  const std::optional<std::string> hash = FromHex(rest);
  if (!hash || hash->size() != head.hash.size()) {
    return Broken("the head");
  }
  std::memcpy(head.hash.data(), hash->data(), head.hash.size());
  return head;
}

}  // namespace ruvd::storage::ledger
