// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests exported ledgers: what they contain, and that nothing in them can be changed.

#include "storage/ledger/ledger_file.h"

#include "privacy/dp/rdp_curve.h"
#include "privacy/reasons.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/reasons.h"
#include "tests/rotated_key.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

class LedgerFileTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    database_ = OpenStore();
    ledger_ = PrivacyLedgerStore::Open(*database_, LedgerOptions(&node_)).value();
  }
  void TearDown() override {
    ledger_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  static PrivacyLedgerOptions LedgerOptions(const privacy::NodeKey* key) {
    return {.budgets = {{.unit = privacy::PrivacyUnit::kLesson, .epsilon = 100, .delta = 1e-6},
                        {.unit = privacy::PrivacyUnit::kUser, .epsilon = 100, .delta = 1e-6}},
            .key = key};
  }
  // Returns a charge of all lessons of so many units at every order.
  static privacy::LedgerCharge Charge(uint64_t units) {
    privacy::LedgerCharge charge{.sigma = 1, .subject = "update"};
    charge.curve.q32.fill(units);
    return charge;
  }
  static privacy::dp::RdpCurve Cost() { return privacy::dp::SampledCurve(0.3, 0.2).value(); }
  static double EpsilonOf(uint64_t rounds) {
    privacy::dp::RdpCurve curve = Cost();
    curve *= rounds;
    return privacy::dp::EpsilonOf(curve, 1e-6).value().value;
  }
  static privacy::LedgerCharge Round(uint64_t round, uint64_t oldest,
                                     privacy::PrivacyUnit unit = privacy::PrivacyUnit::kLesson) {
    return {.unit = unit,
            .sigma = 1,
            .sampling_rate = 0.3,
            .curve = Cost(),
            .round = round,
            .oldest_joined = oldest,
            .subject = "round"};
  }
  std::string Export() const { return ledger::ExportLedger(*database_, node_, 1234).value(); }

  const privacy::NodeKey node_ = privacy::NodeKey::FromSeed(privacy::KeySeed{3});
  std::unique_ptr<Database> database_;
  std::unique_ptr<PrivacyLedgerStore> ledger_;
};

TEST_F(LedgerFileTest, SaysWhatTheLedgerSays) {
  ASSERT_TRUE(ledger_->Reserve(Charge(7)).ok());
  ASSERT_TRUE(ledger_->Spend(1).ok());
  ASSERT_TRUE(ledger_->Reserve(Round(5, 1)).ok());
  ASSERT_TRUE(ledger_->Release(1).ok());
  const std::string bytes = Export();
  const auto file = ledger::VerifyLedgerFile(AsBytes(bytes)).value();
  EXPECT_EQ(file.node, node_.id());
  EXPECT_EQ(file.key, node_.public_key());
  EXPECT_EQ(file.created_ms, 1234);
  EXPECT_EQ(file.head, ledger_->head());
  EXPECT_EQ(file.accounts.charged().lessons.for_all, Charge(7).curve);
  EXPECT_EQ(file.accounts.totals(privacy::PrivacyUnit::kLesson).reservations, 2U);
  EXPECT_EQ(file.accounts.totals(privacy::PrivacyUnit::kLesson).unreleased, 1U);
  EXPECT_EQ(file.accounts.charged(), ledger_->counter());
}

// The largest epsilon of lessons is that of those which took part in most rounds, not that of all
// rounds. What the other unit spent counts, too.
TEST_F(LedgerFileTest, TheLargestEpsilonFollowsFromTheEntriesAlone) {
  for (uint64_t round = 1; round <= 9; ++round) {
    ASSERT_TRUE(ledger_->Reserve(Round(round, round < 4 ? 0 : round - 3)).ok());
  }
  ASSERT_TRUE(ledger_->Reserve(Round(2, 2, privacy::PrivacyUnit::kUser)).ok());
  const auto file = ledger::VerifyLedgerFile(AsBytes(Export())).value();
  privacy::dp::RdpCurve of_lessons = Cost();
  of_lessons *= 4;
  of_lessons += privacy::dp::ReplacementCurve(Cost());
  EXPECT_EQ(file.accounts.LargestEpsilon(privacy::PrivacyUnit::kLesson, 1e-6).value(),
            privacy::dp::EpsilonOf(of_lessons, 1e-6).value().value);
  for (const auto whole : {privacy::PrivacyUnit::kUser, privacy::PrivacyUnit::kNode}) {
    EXPECT_EQ(file.accounts.LargestEpsilon(whole, 1e-6).value(), EpsilonOf(10));
  }
}

TEST_F(LedgerFileTest, GoesOnWhenTheKeyOfTheNodeIsReplaced) {
  ASSERT_TRUE(ledger_->Reserve(Charge(7)).ok());
  const privacy::NodeKey rotated = test::RotatedKey(privacy::KeySeed{3}, privacy::KeySeed{4});
  const auto open_with = [this](const privacy::NodeKey& key) {
    ledger_.reset();
    auto opened = PrivacyLedgerStore::Open(*database_, LedgerOptions(&key));
    const absl::Status status = opened.status();
    ledger_ = opened.ok() ? *std::move(opened) : nullptr;
    return ReasonOf(status);
  };
  ASSERT_EQ(open_with(rotated), "");
  ASSERT_TRUE(ledger_->Spend(1).ok());
  const std::string good = ledger::ExportLedger(*database_, rotated, 1234).value();
  const auto file = ledger::VerifyLedgerFile(AsBytes(good));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->node, node_.id());
  EXPECT_EQ(file->key, rotated.public_key());
  EXPECT_EQ(file->head.sequence, 2U);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(ledger::VerifyLedgerFile(AsBytes(bad)).ok()) << i;
    EXPECT_FALSE(ledger::VerifyLedgerFile(AsBytes(good).first(i)).ok()) << i;
  }
  EXPECT_EQ(open_with(privacy::NodeKey::FromSeed(privacy::KeySeed{4})), reasons::kLedgerBroken)
      << "without its rotations the key is another node's";
  EXPECT_EQ(open_with(node_), reasons::kLedgerBroken)
      << "the former key did not sign the last entry";
  ASSERT_EQ(open_with(rotated), "");
}

TEST_F(LedgerFileTest, AnEmptyLedgerIsAFileToo) {
  EXPECT_EQ(ledger::VerifyLedgerFile(AsBytes(Export())).value().head, privacy::LedgerHead{});
}

TEST_F(LedgerFileTest, EveryFlippedBitAndEveryCutIsNoticed) {
  ASSERT_TRUE(ledger_->Reserve(Charge(7)).ok());
  ASSERT_TRUE(ledger_->Spend(1).ok());
  const std::string good = Export();
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t bit : {1, 0x80}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      EXPECT_FALSE(ledger::VerifyLedgerFile(AsBytes(bad)).ok()) << i;
    }
    EXPECT_FALSE(ledger::VerifyLedgerFile(AsBytes(good).first(i)).ok()) << i;
  }
  EXPECT_FALSE(ledger::VerifyLedgerFile(AsBytes(good + '\0')).ok());
}

// Signed entries may be left out at the end, but not the signature that says where the end is.
TEST_F(LedgerFileTest, TheLastEntriesCannotBeLeftAway) {
  const std::string before = Export();
  ASSERT_TRUE(ledger_->Reserve(Charge(7)).ok());
  std::string cut = Export();
  constexpr size_t kHeader = 8 + 32 + 32 + 8;
  cut = cut.substr(0, kHeader) + std::string(8, '\0') + cut.substr(cut.size() - 64);
  EXPECT_EQ(ReasonOf(ledger::VerifyLedgerFile(AsBytes(cut)).status()), reasons::kLedgerBroken);
  EXPECT_TRUE(ledger::VerifyLedgerFile(AsBytes(before)).ok());
}

TEST_F(LedgerFileTest, TheFirstEntryAboveABudgetIsNamed) {
  for (const uint64_t units : {7, 2, 1}) {
    ASSERT_TRUE(ledger_->Reserve(Charge(units)).ok());
  }
  std::string bytes = Export();
  const auto epsilon_of = [](uint64_t units) {
    return privacy::dp::EpsilonOf(Charge(units).curve, 1e-6).value().value;
  };
  ledger::LedgerFileDemands demands{
      .budgets = {
          {.unit = privacy::PrivacyUnit::kLesson, .epsilon = epsilon_of(10), .delta = 1e-6}}};
  EXPECT_TRUE(ledger::VerifyLedgerFile(AsBytes(bytes), demands).ok());
  demands.budgets[0].epsilon = epsilon_of(8);
  const absl::Status above = ledger::VerifyLedgerFile(AsBytes(bytes), demands).status();
  EXPECT_EQ(ReasonOf(above), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(MessageOf(above), testing::HasSubstr("entry 2 "));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);  // this shows no budgets
  EXPECT_EQ(ReasonOf(ledger::VerifyLedgerFile(AsBytes(bytes), demands).status()),
            reasons::kLedgerBroken);
}

TEST_F(LedgerFileTest, TheFirstRoundAboveABudgetIsNamed) {
  for (uint64_t round = 1; round <= 7; ++round) {
    ASSERT_TRUE(ledger_->Reserve(Round(round, 0)).ok());
    ASSERT_TRUE(ledger_->Spend(ledger_->head().sequence).ok());
  }
  const std::string bytes = Export();
  for (uint64_t rounds = 0; rounds <= 7; ++rounds) {
    const ledger::LedgerFileDemands demands{
        .budgets = {
            {.unit = privacy::PrivacyUnit::kLesson, .epsilon = EpsilonOf(rounds), .delta = 1e-6}}};
    const absl::Status status = ledger::VerifyLedgerFile(AsBytes(bytes), demands).status();
    if (rounds == 7) {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(ReasonOf(status), reasons::kPrivacyBudgetSpent);
    EXPECT_THAT(MessageOf(status), testing::HasSubstr(fmt::format("entry {} ", 2 * rounds + 1)));
  }
}

TEST_F(LedgerFileTest, ACounterThatSaysMoreThanTheEntriesIsNoticed) {
  ASSERT_TRUE(ledger_->Reserve(Charge(7)).ok());
  const std::string bytes = Export();
  const auto verify = [&bytes](const ledger::Counter& counter) {
    return ReasonOf(ledger::VerifyLedgerFile(AsBytes(bytes), {.counter = counter}).status());
  };
  const auto of = [](uint64_t units) {
    ledger::Counter counter;
    counter.Add(Charge(units));
    return counter;
  };
  EXPECT_EQ(verify(of(7)), "");
  EXPECT_EQ(verify(of(6)), "") << "an older counter is no contradiction";
  EXPECT_EQ(verify(of(8)), reasons::kLedgerBroken);
  ledger::Counter more = of(7);
  more.Add(Round(1, 0));
  EXPECT_EQ(verify(more), reasons::kLedgerBroken);
}

TEST_F(LedgerFileTest, ALedgerWithoutSignaturesIsNotExported) {
  ledger_ = PrivacyLedgerStore::Open(*database_, LedgerOptions(nullptr)).value();
  ASSERT_TRUE(ledger_->Reserve(Charge(7)).ok());
  EXPECT_EQ(ReasonOf(ledger::ExportLedger(*database_, node_, 1).status()), reasons::kLedgerBroken);
}

}  // namespace
}  // namespace ruvd::storage
