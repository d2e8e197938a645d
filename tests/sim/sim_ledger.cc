// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::test {

SimLedger::SimLedger(SimDisk& disk, const privacy::UnitBudget& budget, bool syncs)
    : disk_(&disk), budget_(budget), lessons_(budget), syncs_(syncs) {
  for (const privacy::LedgerEntry& entry : disk_->Read().ledger) {
    whole_ = whole_ && entry.sequence == next_sequence_;
    next_sequence_ = entry.sequence + 1;
    reservations_[entry.reservation] = entry.kind;
    if (entry.charge) {
      ++charges_;
      RUVD_CHECK(Count(*entry.charge).ok());  // it was counted before
    }
  }
}

absl::Status SimLedger::Count(const privacy::LedgerCharge& charge) {
  RETURN_IF_ERROR(lessons_.Add(charge.round, charge.oldest_joined, charge.curve));
  spent_ = privacy::dp::SaturatingAdd(spent_, charge.curve.q32.back());
  if (!subjects_.insert(charge.subject).second) {
    charged_twice_ = charge.subject;
  }
  return absl::OkStatus();
}

void SimLedger::Append(privacy::LedgerEntry entry) {
  entry.sequence = next_sequence_++;
  if (entry.kind == privacy::LedgerKind::kReserve) {
    entry.reservation = entry.sequence;
  }
  reservations_[entry.reservation] = entry.kind;
  if (defers_) {
    deferred_.push_back(std::move(entry));
  } else {
    Write(entry);
  }
}

void SimLedger::Write(const privacy::LedgerEntry& entry) {
  disk_->AppendLedger(entry);
  if (syncs_) {
    disk_->Sync();
  }
}

void SimLedger::Flush() {
  defers_ = false;
  for (const privacy::LedgerEntry& entry : std::exchange(deferred_, {})) {
    Write(entry);
  }
}

absl::StatusOr<uint64_t> SimLedger::Reserve(const privacy::LedgerCharge& charge) {
  RETURN_IF_ERROR(Check(charge));
  RETURN_IF_ERROR(Count(charge));
  const uint64_t reservation = next_sequence_;
  Append({.kind = privacy::LedgerKind::kReserve, .charge = charge});
  return reservation;
}

absl::Status SimLedger::Note(privacy::LedgerKind kind, uint64_t reservation,
                             privacy::LedgerKind before) {
  const auto found = reservations_.find(reservation);
  if (found == reservations_.end()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the ledger has no reservation {}; reserve first", reservation);
  }
  if (found->second != before) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "reservation {} is in another state; every step is taken once", reservation);
  }
  Append({.kind = kind, .reservation = reservation});
  return absl::OkStatus();
}

absl::Status SimLedger::Spend(uint64_t reservation) {
  return Note(privacy::LedgerKind::kSpend, reservation, privacy::LedgerKind::kReserve);
}

absl::Status SimLedger::Release(uint64_t reservation) {
  return Note(privacy::LedgerKind::kRelease, reservation, privacy::LedgerKind::kSpend);
}

std::string SubjectOf(std::string_view payload) {
  return std::string(AsText(Sha256(payload)));
}

std::string SubjectOfRound(uint64_t round) {
  return fmt::format("round {}", round);
}

bool IsCharged(const SimDisk& disk, std::string_view subject) {
  const auto& ledger = disk.durable().ledger;
  const auto charge = std::find_if(ledger.rbegin(), ledger.rend(), [&](const auto& entry) {
    return entry.charge && entry.charge->subject == subject;
  });
  return charge != ledger.rend() &&
         std::any_of(ledger.rbegin(), charge, [&](const privacy::LedgerEntry& entry) {
           return entry.kind == privacy::LedgerKind::kSpend &&
                  entry.reservation == charge->reservation;
         });
}

}  // namespace ruvd::test
