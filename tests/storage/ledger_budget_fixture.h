// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"
#include "privacy/dp/rdp_curve.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/limits.h"
#include "tests/storage/store_fixture.h"

// A privacy ledger with a budget, a counter file and charges for it.
namespace ruvd::storage {

inline constexpr double kDelta = 1e-6;
inline constexpr privacy::PrivacyUnit kLesson = privacy::PrivacyUnit::kLesson;

// A curve of so many units at every order.
inline privacy::dp::RdpCurve Units(uint64_t units) {
  privacy::dp::RdpCurve curve;
  curve.q32.fill(units);
  return curve;
}

// A charge of all lessons, outside rounds.
inline privacy::LedgerCharge ChargeOf(uint64_t units) {
  return {.unit = kLesson,
          .mechanism = privacy::PrivacyMechanism::kDiscreteGaussian,
          .sigma = 1,
          .curve = Units(units),
          .subject = "update"};
}

// The counter file after such charges.
inline std::string CounterOf(uint64_t units) {
  ledger::Counter counter;
  counter.Add(ChargeOf(units));
  return FormatCounter(counter);
}

inline privacy::dp::RdpCurve Cost(double rho = 0.1) {
  return privacy::dp::SampledCurve(0.3, rho).value();
}
inline double EpsilonOf(const privacy::dp::RdpCurve& curve) {
  return privacy::dp::EpsilonOf(curve, kDelta).value().value;
}

// A charge of lessons; round 0 is outside rounds.
inline privacy::LedgerCharge RoundOf(uint64_t round, uint64_t oldest = 0,
                                     const privacy::dp::RdpCurve& cost = Cost()) {
  return {.unit = kLesson,
          .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
          .sigma = 1,
          .sampling_rate = 0.3,
          .curve = cost,
          .round = round,
          .oldest_joined = oldest,
          .subject = "round"};
}

class LedgerBudgetTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_ = {.budgets = {{.unit = kLesson, .epsilon = 4, .delta = kDelta}},
                .key = &node_,
                .counter_file = (folder_ / "privacy-counter").string()};
    ASSERT_EQ(Reopen(), "");
  }
  void TearDown() override {
    Close();
    StoreTest::TearDown();
  }
  void Close() {
    ledger_.reset();
    database_.reset();
  }
  std::string Reopen() {
    Close();
    database_ = OpenStore();
    auto ledger = PrivacyLedgerStore::Open(*database_, options_);
    if (ledger.ok()) {
      ledger_ = std::move(*ledger);
    }
    return ReasonOf(ledger.status());
  }
  // Opens the ledger with a budget for so many units.
  std::string ReopenWithin(uint64_t units) {
    options_.budgets[0].epsilon = EpsilonOf(Units(units));
    return Reopen();
  }
  uint64_t Spent() const { return ledger_->counter().lessons.for_all.q32[0]; }
  double SpentByLessons() const { return ledger_->LargestEpsilon(kLesson, kDelta).value(); }
  std::string Counter() const {
    return ReadFile(options_.counter_file, limits::kMaxLedgerCounterBytes).value_or("");
  }

  privacy::NodeKey node_ = privacy::NodeKey::FromSeed(privacy::KeySeed{3});
  PrivacyLedgerOptions options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PrivacyLedgerStore> ledger_;
};

}  // namespace ruvd::storage
