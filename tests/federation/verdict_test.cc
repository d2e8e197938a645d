// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Verdicts: their bytes, what gossip accepts, and what members make of them.

#include "federation/learner/verdict.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/learner_items.h"
#include "federation/learner/round_history.h"
#include "federation/learner/round_step.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/rounds_cluster.h"
#include "tests/federation/swarm.h"
#include "tests/paths.h"

namespace ruvd::test {
namespace {

using federation::Item;
using federation::ItemKind;
using federation::LearnerPlan;
using federation::RoundVerdict;
using federation::Strategy;
using federation::Verdict;

constexpr uint64_t kAnyRound = std::numeric_limits<uint64_t>::max();
constexpr int64_t kWallMillis = 1'800'000'000'000;

LearnerPlan QualityPlan() {
  LearnerPlan plan = ShortPlan();
  plan.rule = "mean";
  plan.strategy.strategy = Strategy::kQualityWeighted;
  return plan;
}

// ---- Bytes

// The worked example of docs/wire-format.md; the bytes come from Python's struct.
TEST(Verdict, IsTheWorkedExample) {
  LearnerPlan plan;
  plan.frame_id.fill(0x22);
  plan.rank = 2;
  plan.boundaries = {0.5F};
  plan.values_per_bank = 4;
  Verdict verdict{.round = 9, .gains = {}};
  Digest first;
  first.fill(0x44);
  Digest second;
  second.fill(0x55);
  verdict.gains[first] = {0.25F, -0.5F};
  verdict.gains[second] = {0, 1};
  const std::string hex =
      "0100b09923a0b3af90388c741d4836e5b0eb709930450c95f810778be019b266"
      "7743090000000000000002004444444444444444444444444444444444444444"
      "4444444444444444444444440000803e000000bf555555555555555555555555"
      "5555555555555555555555555555555555555555000000000000803f";
  EXPECT_EQ(ToHex(AsBytes(EncodeVerdict(verdict, plan))), hex);
  auto document = ReadFile(SourceDir() + "/docs/wire-format.md", 1 << 20);
  ASSERT_TRUE(document.ok()) << document.status();
  std::erase_if(*document, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_NE(document->find(hex), std::string::npos);
}

Verdict ArbitraryVerdict(const LearnerPlan& plan) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  Verdict verdict{.round = 1 + random.Below(1000), .gains = {}};
  for (size_t i = *rc::gen::inRange<size_t>(1, 6); i > 0; --i) {
    std::vector<float>& gains = verdict.gains[Sha256(std::to_string(random.Next()))];
    for (size_t bank = 0; bank < plan.banks(); ++bank) {
      gains.push_back((static_cast<float>(random.Below(4001)) - 2000) / 1024);
    }
  }
  return verdict;
}

RC_GTEST_PROP(Verdict, SurvivesEncoding, ()) {
  const LearnerPlan plan = QualityPlan();
  const Verdict verdict = ArbitraryVerdict(plan);
  RC_ASSERT(CheckVerdict(verdict, plan, kAnyRound).ok());
  const auto decoded = DecodeVerdict(AsBytes(EncodeVerdict(verdict, plan)), plan);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == verdict);
}

RC_GTEST_PROP(Verdict, RefusesEveryTruncationAndExtension, ()) {
  const LearnerPlan plan = QualityPlan();
  std::string bytes = EncodeVerdict(ArbitraryVerdict(plan), plan);
  for (size_t length = 0; length < bytes.size(); ++length) {
    RC_ASSERT(!DecodeVerdict(AsBytes(bytes).first(length), plan).ok());
  }
  bytes += '\0';
  RC_ASSERT(!DecodeVerdict(AsBytes(bytes), plan).ok());
}

// A flipped bit is refused, or it gives another verdict that encodes to just these bytes.
RC_GTEST_PROP(Verdict, AFlippedBitIsRefusedOrHarmless, ()) {
  const LearnerPlan plan = QualityPlan();
  const std::string bytes = EncodeVerdict(ArbitraryVerdict(plan), plan);
  const size_t refused_until = 2 + sizeof(Digest);  // version and plan
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = DecodeVerdict(AsBytes(flipped), plan);
    if (decoded.ok()) {
      RC_ASSERT(EncodeVerdict(*decoded, plan) == flipped);
      RC_ASSERT(CheckVerdict(*decoded, plan, kAnyRound).ok());
      RC_ASSERT(bit / 8 >= refused_until);
    }
  }
}

TEST(Verdict, OfAnotherFormIsRefused) {
  const LearnerPlan plan = QualityPlan();
  const auto reason = [&](const Verdict& verdict) {
    EXPECT_FALSE(DecodeVerdict(AsBytes(EncodeVerdict(verdict, plan)), plan).ok());
    return ReasonOf(CheckVerdict(verdict, plan, 7));
  };
  const Verdict good{.round = 7, .gains = {{Digest{1}, {1, 2}}}};
  EXPECT_TRUE(CheckVerdict(good, plan, 7).ok());
  EXPECT_EQ(ReasonOf(CheckVerdict(good, plan, 6)), reasons::kUpdateInvalid) << "not yet running";
  Verdict bad = good;
  bad.round = 0;
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  bad = good;
  bad.gains.clear();
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  for (const float gain : {INFINITY, -INFINITY, NAN}) {
    bad = good;
    bad.gains[Digest{1}][1] = gain;
    EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  }
  bad = good;
  bad.gains[Digest{1}].push_back(1);
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  bad = good;
  while (bad.gains.size() <= limits::kMaxContributions) {
    bad.gains[Sha256(std::to_string(bad.gains.size()))] = {1, 2};
  }
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  LearnerPlan other = plan;
  other.max_norm = 1;
  EXPECT_EQ(ReasonOf(DecodeVerdict(AsBytes(EncodeVerdict(good, other)), plan).status()),
            reasons::kPlanMismatch);
}

// ---- Items

absl::Status CheckItem(const Verdict& verdict, uint64_t round, const LearnerPlan& plan) {
  return federation::CheckLearnerItem(ItemKind::kVerdict, EncodeVerdict(verdict, plan), round,
                                      &plan, kWallMillis);
}

TEST(VerdictItem, NamesItsRoundAndNeedsAPlanThatCountsIt) {
  LearnerPlan plan = QualityPlan();
  const uint64_t now = RoundAt(plan, kWallMillis);
  const Verdict verdict{.round = now, .gains = {{Digest{1}, {1, 2}}}};
  EXPECT_TRUE(CheckItem(verdict, now, plan).ok());
  EXPECT_EQ(ReasonOf(CheckItem(verdict, now - 1, plan)), reasons::kUpdateInvalid);
  plan.strategy = {.strategy = Strategy::kHybrid, .quality_weight = 0};
  EXPECT_EQ(ReasonOf(CheckItem(verdict, now, plan)), reasons::kUpdateInvalid);
  plan.strategy.quality_weight = 1;
  EXPECT_TRUE(CheckItem(verdict, now, plan).ok());
  const Verdict ahead{.round = now + 4, .gains = {{Digest{1}, {1, 2}}}};
  EXPECT_EQ(ReasonOf(CheckItem(ahead, now + 4, plan)), reasons::kUpdateInvalid);
}

TEST(VerdictItem, ThereIsRoomForTheLargest) {
  LearnerPlan plan = QualityPlan();
  plan.boundaries.clear();
  for (uint32_t bank = 1; bank < limits::kMaxUpdateBanks; ++bank) {
    plan.boundaries.push_back(static_cast<float>(bank) / limits::kMaxUpdateBanks);
  }
  Verdict verdict{.round = 1, .gains = {}};
  while (verdict.gains.size() < limits::kMaxContributions) {
    verdict.gains[Sha256(std::to_string(verdict.gains.size()))].resize(plan.banks());
  }
  ASSERT_TRUE(CheckVerdict(verdict, plan, 1).ok());
  EXPECT_LE(EncodeVerdict(verdict, plan).size(), MaxLearnerPayloadBytes(ItemKind::kVerdict, &plan));
}

size_t VerdictsOf(Swarm& swarm, size_t node) {
  size_t count = 0;
  for (const Item& item : swarm.core(node).Items()) {
    count += item.kind == ItemKind::kVerdict ? 1 : 0;
  }
  return count;
}

TEST(VerdictItem, ReachesAllMembersUnderPublicOnlyAndIsTakenBack) {
  LearnerPlan plan = QualityPlan();
  plan.round_ms = 10'000;
  const auto shared = std::make_shared<const LearnerPlan>(plan);
  Swarm swarm({.nodes = 3, .configure = [&](size_t, federation::GossipConfig& config) {
                 config.plan = shared;
               }});
  swarm.Run(std::chrono::seconds(3));
  const uint64_t round = RoundAt(plan, swarm.now().wall_ms);
  const std::string payload =
      EncodeVerdict({.round = round, .gains = {{Digest{1}, {0.5F, 0.25F}}}}, plan);
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(0));
  const auto grant = [&](privacy::ConsentTier tier) {
    auto set = swarm.core(0).SetConsent(
        privacy::ConsentRecord::Sign(tier, swarm.now().wall_ms, key), swarm.now());
    ASSERT_TRUE(set.ok()) << set.status();
    swarm.Apply(0, *std::move(set));
  };
  for (const auto tier :
       {privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked, privacy::ConsentTier::kDp}) {
    grant(tier);
    EXPECT_EQ(ReasonOf(swarm.core(0).OfferVerdict(round, payload, swarm.now()).status()),
              "CONSENT_MISSING");
  }
  grant(privacy::ConsentTier::kPublic);
  auto offered = swarm.core(0).OfferVerdict(round, payload, swarm.now());
  ASSERT_TRUE(offered.ok()) << offered.status();
  swarm.Apply(0, *std::move(offered));
  ASSERT_TRUE(swarm.RunUntil([&] { return VerdictsOf(swarm, 1) == 1 && VerdictsOf(swarm, 2) == 1; },
                             std::chrono::seconds(10)));
  EXPECT_EQ(swarm.core(1).counters().accepted_items.at("verdict"), 1U);
  grant(privacy::ConsentTier::kDp);
  EXPECT_EQ(VerdictsOf(swarm, 0), 0U);
}

// ---- Rounds

// The verdicts of five judges on the contributions to a round of three nodes.
std::vector<Item> VerdictsOn(const LearnerPlan& plan, uint64_t round,
                             const std::vector<federation::RoundContribution>& all,
                             Random& random) {
  std::vector<Item> items;
  for (size_t judge = 10; judge < 15; ++judge) {
    RoundVerdict verdict = SomeVerdict(plan, all[0], judge, 0);
    for (const federation::RoundContribution& one : all) {
      Add(plan, one, static_cast<float>(random.Below(9)) - 2, &verdict);
    }
    verdict.verdict.round = round;
    items.push_back(VerdictItem(plan, verdict));
  }
  return items;
}

struct Judged {
  std::vector<Item> items;     // contributions of four rounds and verdicts
  std::vector<Item> verdicts;  // alone
};
Judged SomeRounds(const LearnerPlan& plan, Random& random) {
  Judged judged;
  for (uint64_t round = kFirstRound; round < kFirstRound + 4; ++round) {
    std::vector<federation::RoundContribution> all;
    for (size_t node = 0; node < 3; ++node) {
      all.push_back(SomeContribution(plan, round, node, "item", random));
      judged.items.push_back(ContributionItem(plan, all.back()));
    }
    for (Item& verdict : VerdictsOn(plan, round, all, random)) {
      judged.verdicts.push_back(verdict);
      judged.items.push_back(std::move(verdict));
    }
  }
  return judged;
}

federation::ClusterRounds RoundsOf(const LearnerPlan& plan) {
  absl::Status unused;
  auto rounds = federation::ClusterRounds::Create({.plan = plan, .self = LearnerNode(10)}, "",
                                                  BeginOf(plan, kFirstRound), &unused);
  RUVD_CHECK(rounds.ok() && unused.ok());
  return *std::move(rounds);
}

Digest StateOf(federation::ClusterRounds& rounds) {
  return rounds.StateBefore(kFirstRound + 4).DigestOf(rounds.plan());
}

// Verdicts come late, before what they judge, or in between, and rounds pass meanwhile.
RC_GTEST_PROP(RoundsWithVerdicts, DoNotDependOnTheOrderOfArrival, ()) {
  const LearnerPlan plan = QualityPlan();
  Random random(*rc::gen::arbitrary<uint64_t>());
  Judged judged = SomeRounds(plan, random);
  std::optional<Digest> first;
  for (int order = 0; order < 3; ++order) {
    federation::ClusterRounds rounds = RoundsOf(plan);
    uint64_t now = kFirstRound;
    for (const Item& item : judged.items) {
      RC_ASSERT(rounds.OnItem(item).ok());
      if (random.Bernoulli(0.2) && now < kFirstRound + plan.window) {
        rounds.OnTime(BeginOf(plan, ++now));
        rounds.StateBefore(now);
      }
    }
    RC_ASSERT(first.value_or(StateOf(rounds)) == StateOf(rounds));
    first = StateOf(rounds);
    random.Shuffle(std::span<Item>(judged.items));
  }
  federation::ClusterRounds without = RoundsOf(plan);
  for (const Item& item : judged.items) {
    // RC_ASSERT would evaluate both sides of an "or".
    if (item.kind != ItemKind::kVerdict) {
      RC_ASSERT(without.OnItem(item).ok());
    }
  }
  RC_ASSERT(StateOf(without) != *first);
}

TEST(RoundsWithVerdicts, AWithdrawnOneAndThatOfAnExpelledJudgeDoNotCount) {
  const LearnerPlan plan = QualityPlan();
  Random random(4);
  const Judged judged = SomeRounds(plan, random);
  federation::ClusterRounds rounds = RoundsOf(plan);
  federation::ClusterRounds without = RoundsOf(plan);
  const Item& taken_back = judged.verdicts[1];
  for (const Item& item : judged.items) {
    ASSERT_TRUE(rounds.OnItem(item).ok());
    if (item.id != taken_back.id && item.origin != LearnerNode(13)) {
      ASSERT_TRUE(without.OnItem(item).ok());
    }
  }
  EXPECT_TRUE(rounds.HasOwnVerdict(kFirstRound));
  EXPECT_FALSE(rounds.HasOwn(kFirstRound)) << "a verdict is no contribution";
  EXPECT_EQ(rounds.contributions(), 12U);
  EXPECT_EQ(rounds.own_contributions(), 0U);
  const Digest before = StateOf(rounds);
  rounds.OnWithdrawn(taken_back.id);
  rounds.OnExpelled(LearnerNode(13));
  EXPECT_NE(StateOf(rounds), before);
  EXPECT_EQ(StateOf(rounds), StateOf(without));
  EXPECT_TRUE(rounds.OnItem(judged.verdicts[3]).ok()) << "the judge goes on sending";
  EXPECT_EQ(StateOf(rounds), StateOf(without));
}

// Found by review: a few judges who named all contributions outvoted those who had no time for
// more.
TEST(RoundsWithVerdicts, OfAJudgeOnlyTheContributionsThatAreDrawnCount) {
  const LearnerPlan plan = QualityPlan();
  Random random(6);
  Contributions contributions;
  for (size_t node = 0; node < 40; ++node) {
    contributions.push_back(SomeContribution(plan, 1, node, "many", random));
  }
  RoundVerdict all = SomeVerdict(plan, contributions[0], 50, 1);
  for (const federation::RoundContribution& one : contributions) {
    Add(plan, one, 1, &all);
  }
  federation::RoundSet set = SetOf(contributions);
  set.verdicts.push_back(&all);
  federation::GlobalState state = federation::EmptyState(plan, 1);
  federation::RoundReport report;
  federation::ApplyRound(plan, set, 1, &state, &report);
  size_t counted = 0;
  for (const federation::RoundReport::Part& part : report.parts) {
    counted += part.judges;
  }
  EXPECT_EQ(counted, limits::kMaxJudgedContributions);
}

// Found by review: one member could fill the history with verdicts on one round.
TEST(RoundsWithVerdicts, OfAJudgeAFewOnARoundAreKept) {
  const LearnerPlan plan = QualityPlan();
  Random random(7);
  federation::RoundHistory history =
      federation::RoundHistory::Create(plan, federation::EmptyState(plan, kFirstRound)).value();
  const federation::RoundContribution one = SomeContribution(plan, kFirstRound, 0, "one", random);
  ASSERT_TRUE(history.Add(one).ok());
  for (int i = 0; i < 100; ++i) {
    RoundVerdict verdict = SomeVerdict(plan, one, 10, 1);
    verdict.id = Sha256(std::to_string(i));
    ASSERT_TRUE(history.AddVerdict(verdict).ok());
  }
  EXPECT_LE(history.size(), 1 + limits::kMaxVerdictsOfJudge);
}

TEST(RoundsWithVerdicts, ASettledRoundRefusesThem) {
  const LearnerPlan plan = QualityPlan();
  Random random(5);
  const Judged judged = SomeRounds(plan, random);
  federation::ClusterRounds rounds = RoundsOf(plan);
  for (const Item& item : judged.items) {
    ASSERT_TRUE(item.kind == ItemKind::kVerdict || rounds.OnItem(item).ok());
  }
  for (uint64_t round = kFirstRound; round <= kFirstRound + plan.window + 1; ++round) {
    rounds.OnTime(BeginOf(plan, round));
  }
  const Digest before = StateOf(rounds);
  EXPECT_EQ(ReasonOf(rounds.OnItem(judged.verdicts.front())), reasons::kRoundSealed);
  EXPECT_EQ(StateOf(rounds), before);
  (void)rounds.TakeChanged();
  for (const Item& verdict : judged.verdicts) {  // those of later rounds find their place
    EXPECT_EQ(rounds.OnItem(verdict).ok(), verdict.round > kFirstRound);
  }
  EXPECT_TRUE(rounds.TakeChanged());
  EXPECT_NE(StateOf(rounds), before);
}

TEST(RoundsWithVerdicts, TheReportSaysWhatCounted) {
  const LearnerPlan plan = QualityPlan();
  Random random(6);
  const Judged judged = SomeRounds(plan, random);
  federation::ClusterRounds rounds = RoundsOf(plan);
  for (const Item& item : judged.items) {
    ASSERT_TRUE(rounds.OnItem(item).ok());
  }
  EXPECT_EQ(rounds.NewestReport(), nullptr) << "the round is running";
  rounds.OnTime(BeginOf(plan, kFirstRound + 2));
  const federation::RoundReport* const report = rounds.NewestReport();
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->round, kFirstRound + 1);
  EXPECT_EQ(report->verdicts, 5U);
  EXPECT_EQ(rounds.ContributionsOf(kFirstRound + 1).size(), 3U);
  EXPECT_TRUE(rounds.ContributionsOf(kFirstRound + 9).empty());
}

}  // namespace
}  // namespace ruvd::test
