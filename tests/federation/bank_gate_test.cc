// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/bank_gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "federation/daf/daf_round.h"
#include "federation/daf/reputation.h"
#include "federation/limits.h"

namespace ruvd::test {
namespace {

constexpr size_t kValues = 4;

privacy::NodeId Node(uint8_t number) {
  privacy::NodeId id{};
  id[0] = number;
  return id;
}

std::vector<float> Filled(float value) {
  return std::vector<float>(kValues, value);
}

federation::ShadowEvaluation Scoring(std::vector<std::vector<federation::BankScore>> by_call,
                                     double general = 0) {
  return [=, call = size_t{0}](
             const federation::BankedValues&) mutable -> absl::StatusOr<federation::ShadowScore> {
    return federation::ShadowScore{.banks = by_call.at(call++), .general_loss = general};
  };
}

constexpr federation::BankScore kGood{.gain = 0.02, .standard_error = 0.01, .documents = 10};
constexpr federation::BankScore kUnsure{.gain = 0.02, .standard_error = 0.03, .documents = 10};
constexpr federation::BankScore kBad{.gain = -0.02, .standard_error = 0.01, .documents = 10};

TEST(BankGate, CommitsWhatGainsAndRollsTheRestBack) {
  const federation::BankedValues current = {Filled(0), Filled(0), Filled(0), Filled(0)};
  const federation::BankedValues candidate = {Filled(1), Filled(1), Filled(1), Filled(0)};
  const auto outcome = federation::GateBanks(
      current, candidate, Scoring({{kGood, kUnsure, kBad, {}}, {kGood, {}, {}, {}}}), {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->verdicts,
            (std::vector<federation::BankVerdict>{
                federation::BankVerdict::kCommitted, federation::BankVerdict::kRolledBack,
                federation::BankVerdict::kRolledBack, federation::BankVerdict::kUnchanged}));
  EXPECT_EQ(outcome->values,
            (federation::BankedValues{Filled(1), Filled(0), Filled(0), Filled(0)}));
}

TEST(BankGate, WhatIsLeftMustStillGainAndSpareGeneralText) {
  const federation::BankedValues current = {Filled(0), Filled(0)};
  const federation::BankedValues candidate = {Filled(1), Filled(1)};
  const auto alone =
      federation::GateBanks(current, candidate, Scoring({{kGood, kBad}, {kBad, {}}}), {});
  EXPECT_TRUE(alone->all_rolled_back);
  EXPECT_EQ(alone->values, current);
  const auto general =
      federation::GateBanks(current, candidate, Scoring({{kGood, kGood}}, 0.006), {});
  EXPECT_TRUE(general->all_rolled_back);
  EXPECT_EQ(general->values, current);
  EXPECT_EQ(federation::GateBanks(current, candidate, Scoring({{kGood, kGood}}, 0.004), {})->values,
            candidate);
}

TEST(BankGate, FewDocumentsAndNoNumbersDecideNothing) {
  const federation::BankedValues current = {Filled(0)};
  const federation::BankedValues candidate = {Filled(1)};
  const federation::BankScore few{.gain = 1, .standard_error = 0, .documents = 2};
  EXPECT_EQ(federation::GateBanks(current, candidate, Scoring({{few}}), {})->values, current);
  const federation::BankScore none{.gain = NAN, .standard_error = 0, .documents = 9};
  EXPECT_EQ(federation::GateBanks(current, candidate, Scoring({{none}}), {})->values, current);
  EXPECT_FALSE(federation::GateBanks(current, {Filled(1), Filled(1)}, Scoring({{kGood}}), {}).ok());
  EXPECT_FALSE(federation::GateBanks(current, candidate, Scoring({{kGood, kGood}}), {}).ok());
}

// A node accepts what helps others in the same way: no gain is required, harm is refused, and a
// value that is not a number counts as harm.
TEST(BankGate, WhatDoesNoHarmMayBeCommitted) {
  const federation::GateOptions harmless{.commits_harmless = true};
  const federation::BankedValues current = {Filled(0), Filled(0), Filled(0), Filled(0), Filled(0)};
  const federation::BankedValues candidate(5, Filled(1));
  const federation::BankScore none{.gain = NAN, .standard_error = 0, .documents = 9};
  const federation::BankScore no_error{.gain = -1, .standard_error = NAN, .documents = 9};
  const federation::BankScore unmeasured{};
  const auto outcome = federation::GateBanks(
      current, candidate,
      Scoring({{kUnsure, kBad, none, no_error, unmeasured}, {kUnsure, {}, {}, {}, unmeasured}}),
      harmless);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->values,
            (federation::BankedValues{Filled(1), Filled(0), Filled(0), Filled(0), Filled(1)}));
}

TEST(BankGate, ABankThatWorsensGeneralTextIsRolledBackAlone) {
  const federation::BankedValues current = {Filled(0), Filled(0)};
  const federation::BankedValues candidate = {Filled(1), Filled(1)};
  federation::BankScore worse = kGood;
  worse.general_loss = 0.006;
  for (const bool harmless : {false, true}) {
    const auto outcome = federation::GateBanks(
        current, candidate, Scoring({{kGood, worse}, {kGood, {}}}), {.commits_harmless = harmless});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->values, (federation::BankedValues{Filled(1), Filled(0)}));
    worse.general_loss = NAN;
  }
}

TEST(GlobalAdapter, ARolledBackBankLeavesValuesAndMomentum) {
  const federation::OuterOptions momentum{
      .kind = federation::OuterOptions::Kind::kMomentum, .step = 1, .momentum = 0.5};
  federation::GlobalAdapter adapter = *federation::GlobalAdapter::Create(2, kValues, momentum);
  const federation::BankedValues delta = {Filled(1), Filled(1)};
  const auto first = adapter.Apply(delta, {}, Scoring({{kGood, kBad}, {kGood, {}}}), {});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(adapter.values(), (federation::BankedValues{Filled(1), Filled(0)}));
  EXPECT_EQ(adapter.round(), 1U);
  ASSERT_TRUE(adapter.Apply(delta, {}, nullptr, {}).ok());
  EXPECT_EQ(adapter.values(),
            (federation::BankedValues{Filled(2.5F), Filled(1)}));  // 1 + 1.5, 0 + 1
  EXPECT_FALSE(adapter.Apply({Filled(1)}, {}, nullptr, {}).ok());
}

TEST(GlobalAdapter, BanksThatNobodyContributedToDoNotMove) {
  const federation::OuterOptions momentum{
      .kind = federation::OuterOptions::Kind::kMomentum, .step = 1, .momentum = 0.5};
  federation::GlobalAdapter adapter = *federation::GlobalAdapter::Create(2, kValues, momentum);
  ASSERT_TRUE(adapter.Apply({Filled(1), Filled(1)}, {}, nullptr, {}).ok());
  const std::vector<size_t> contributors = {1, 0};
  const federation::GlobalAdapterState before = adapter.State();
  ASSERT_TRUE(adapter.Apply({Filled(1), Filled(0)}, {}, nullptr, {}, contributors).ok());
  EXPECT_EQ(adapter.values(), (federation::BankedValues{Filled(2.5F), Filled(1)}));
  EXPECT_EQ(adapter.State().optimizers[1], before.optimizers[1]);
  EXPECT_EQ(adapter.round(), 2U);
  EXPECT_FALSE(adapter.Apply({Filled(1), Filled(0)}, {}, nullptr, {}, std::vector<size_t>{1}).ok());
  EXPECT_FALSE(adapter.Apply({Filled(1), Filled(0)}, std::vector<double>{0, -1}, nullptr, {}).ok());
}

TEST(GlobalAdapter, GoesOnFromASavedState) {
  const federation::OuterOptions adam{.kind = federation::OuterOptions::Kind::kAdam, .step = 0.5};
  federation::GlobalAdapter adapter = *federation::GlobalAdapter::Create(2, kValues, adam);
  const federation::BankedValues delta = {Filled(1), Filled(-0.5F)};
  const std::vector<double> noise = {0.1, 0.2};
  ASSERT_TRUE(adapter.Apply(delta, noise, nullptr, {}).ok());
  federation::GlobalAdapter restored = *federation::GlobalAdapter::Restore(adapter.State(), adam);
  ASSERT_TRUE(adapter.Apply(delta, noise, nullptr, {}).ok());
  ASSERT_TRUE(restored.Apply(delta, noise, nullptr, {}).ok());
  EXPECT_EQ(restored.State(), adapter.State());
  EXPECT_EQ(restored.round(), 2U);
  EXPECT_FALSE(federation::GlobalAdapter::Restore(adapter.State(), {}).ok());  // of another kind
  const auto restores = [&](auto change) {
    federation::GlobalAdapterState state = adapter.State();
    change(state);
    return federation::GlobalAdapter::Restore(state, adam).ok();
  };
  EXPECT_TRUE(restores([](federation::GlobalAdapterState&) {}));
  EXPECT_FALSE(restores([](federation::GlobalAdapterState& s) { s.values.pop_back(); }));
  EXPECT_FALSE(restores([](federation::GlobalAdapterState& s) { s.values[1].pop_back(); }));
  EXPECT_FALSE(restores([](federation::GlobalAdapterState& s) { s.values[0][1] = NAN; }));
  EXPECT_FALSE(restores([](federation::GlobalAdapterState& s) { s.optimizers[0].second[2] = -1; }));
  EXPECT_FALSE(
      restores([](federation::GlobalAdapterState& s) { s.optimizers[1].first[0] = INFINITY; }));
}

Digest UpdateNumber(uint64_t number) {
  Digest digest{};
  digest[0] = static_cast<uint8_t>(number);
  return digest;
}

TEST(ReputationTable, BanksShareOneVerdictAndTheLastMeasurementCounts) {
  federation::ReputationTable table;
  table.Record(Node(1), UpdateNumber(1), 3,
               std::vector<federation::BankScore>{kBad, kBad, kGood, kUnsure}, {});
  EXPECT_NEAR(table.Of(Node(1), 3), (1 + 1 / 3.0) / 3, 1e-9);
  table.Record(Node(1), UpdateNumber(1), 3, std::vector<federation::BankScore>{kUnsure}, {});
  EXPECT_EQ(table.Of(Node(1), 3), 0.5);
  table.Record(Node(1), UpdateNumber(2), 3, std::vector<federation::BankScore>{kBad}, {});
  table.Record(Node(1), UpdateNumber(3), 3, std::vector<federation::BankScore>{kBad}, {});
  EXPECT_EQ(table.Of(Node(1), 3), 0.25);
  EXPECT_GT(table.Of(Node(1), 9), 0.3);
}

TEST(ReputationTable, FadesAndIsBounded) {
  federation::ReputationTable table;
  uint64_t round = 0;
  const std::vector<federation::BankScore> bad = {kBad};
  const std::vector<federation::BankScore> good = {kGood};
  table.Record(Node(1), UpdateNumber(0), round, std::vector<federation::BankScore>{kUnsure}, {});
  EXPECT_EQ(table.size(), 0U);
  for (int i = 0; i < 30; ++i) {
    ++round;
    table.Record(Node(1), UpdateNumber(round), round, bad, {});
  }
  EXPECT_LT(table.Of(Node(1), round), 0.1);
  for (int i = 0; i < 30; ++i) {
    ++round;
    table.Record(Node(1), UpdateNumber(round), round, good, {});
  }
  EXPECT_GT(table.Of(Node(1), round), 0.8);
  for (size_t i = 0; i < 2 * limits::kMaxMembers; ++i) {
    privacy::NodeId id{};
    id[1] = static_cast<uint8_t>(i);
    id[2] = static_cast<uint8_t>(i >> 8);
    id[3] = 1;
    table.Record(id, UpdateNumber(1), round, good, {});
  }
  EXPECT_EQ(table.size(), limits::kMaxMembers);
  EXPECT_GT(table.Of(Node(1), round), 0.8);  // a peer about which much is known stays
}

}  // namespace
}  // namespace ruvd::test
