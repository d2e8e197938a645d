// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/ledger/ledger_counter.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/status.h"
#include "privacy/ledger/unit_budget.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::storage::ledger {
namespace {

using privacy::PrivacyUnit;
using privacy::dp::RdpCurve;

// Adds the charge for the part of a curve that is missing, if there is such a part.
void AddLostCurve(PrivacyUnit unit, const RdpCurve& missing, uint64_t round,
                  std::vector<privacy::LedgerCharge>* charges) {
  if (missing == RdpCurve()) {
    return;
  }
  // The entry needs a noise multiplier: that of one release which costs as much at the largest
  // order.
  const uint64_t largest = *std::ranges::max_element(missing.q32);
  const double rho = std::ldexp(static_cast<double>(largest), -32) / RdpCurve::kLargestOrder;
  charges->push_back({.unit = unit,
                      .mechanism = privacy::PrivacyMechanism::kLost,
                      .sigma = 1 / std::sqrt(2 * rho),
                      .curve = missing,
                      .round = round,
                      .subject = "entries that were lost"});
}

void AppendCurve(const RdpCurve& curve, std::string* line) {
  for (const uint64_t units : curve.q32) {
    line->append(fmt::format(" {}", units));
  }
}

std::string FormatUnit(PrivacyUnit unit, const UnitCharges& charges) {
  std::string line = fmt::format("{} {}", privacy::UnitName(unit), charges.newest_round);
  if (charges != UnitCharges()) {
    AppendCurve(charges.in_rounds, &line);
    AppendCurve(charges.for_all, &line);
  }
  return line + "\n";
}

// Reads decimal numbers one after the other, each behind one other character.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : text_(text) {}
  void SkipWord() { text_.remove_prefix(std::min(text_.find(' '), text_.size())); }
  // Returns the next number, or 0 if no number follows; then the text does not compare equal.
  uint64_t Next() {
    uint64_t number = 0;
    if (!text_.empty()) {
      const char* const begin = text_.data() + 1;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    }
    return number;
  }
  // Returns whether the line goes on.
  bool More() const { return text_.starts_with(' '); }
  void ReadCurve(RdpCurve* curve) {
    std::ranges::generate(curve->q32, [this] { return Next(); });
  }

 private:
  std::string_view text_;
};

}  // namespace

UnitCharges Counter::* Counter::PlaceOf(PrivacyUnit unit) {
  if (unit == PrivacyUnit::kLesson) {
    return &Counter::lessons;
  }
  return unit == PrivacyUnit::kUser ? &Counter::users : &Counter::node;
}

void Counter::Add(const privacy::LedgerCharge& charge) {
  UnitCharges& charges = Of(charge.unit);
  charges.newest_round = std::max(charges.newest_round, charge.round);
  (charge.round == 0 ? charges.for_all : charges.in_rounds) += charge.curve;
}

void Counter::RaiseTo(const Counter& other) {
  for (const PrivacyUnit unit : privacy::kPrivacyUnits) {
    UnitCharges& own = Of(unit);
    const UnitCharges& more = other.Of(unit);
    own.newest_round = std::max(own.newest_round, more.newest_round);
    own.in_rounds = own.in_rounds.Max(more.in_rounds);
    own.for_all = own.for_all.Max(more.for_all);
  }
}

bool Counter::Saturated() const {
  return std::ranges::any_of(privacy::kPrivacyUnits, [this](PrivacyUnit unit) {
    return Of(unit).in_rounds.Saturated() || Of(unit).for_all.Saturated();
  });
}

std::vector<privacy::LedgerCharge> LostCharges(const Counter& counter, const Counter& charged) {
  std::vector<privacy::LedgerCharge> lost;
  for (const PrivacyUnit unit : privacy::kPrivacyUnits) {
    const UnitCharges& all = counter.Of(unit);
    const UnitCharges& known = charged.Of(unit);
    AddLostCurve(unit, all.for_all.Minus(known.for_all), 0, &lost);
    AddLostCurve(unit, all.in_rounds.Minus(known.in_rounds), all.newest_round, &lost);
  }
  return lost;
}

std::string FormatCounter(const Counter& counter) {
  std::string text;
  for (const PrivacyUnit unit : privacy::kPrivacyUnits) {
    text += FormatUnit(unit, counter.Of(unit));
  }
  return text;
}

absl::StatusOr<Counter> ParseCounter(std::string_view text) {
  Counter counter;
  if (text.size() <= limits::kMaxLedgerCounterBytes) {
    NumberReader reader(text);
    for (const PrivacyUnit unit : privacy::kPrivacyUnits) {
      UnitCharges& charges = counter.Of(unit);
      reader.SkipWord();
      charges.newest_round = reader.Next();
      if (reader.More()) {
        reader.ReadCurve(&charges.in_rounds);
        reader.ReadCurve(&charges.for_all);
      }
    }
  }
  if (FormatCounter(counter) != text) {
    return Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken,
                 "the counter file of the privacy ledger is damaged; restore it from a backup, or "
                 "remove it: one release then counts as spent");
  }
  return counter;
}

}  // namespace ruvd::storage::ledger
