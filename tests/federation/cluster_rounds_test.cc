// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/cluster_rounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/reasons.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using federation::ClusterRounds;
using federation::GlobalState;
using federation::Item;
using federation::ItemKind;
using federation::LearnerPlan;

constexpr uint64_t kFirstRound = 1000;

LearnerPlan ShortPlan() {
  LearnerPlan plan = DeltaPlan();
  plan.values_per_bank = 5;
  plan.window = 4;
  return plan;
}

int64_t BeginOf(const LearnerPlan& plan, uint64_t round) {
  return static_cast<int64_t>(round) * plan.round_ms;
}

Item ContributionItem(const LearnerPlan& plan, uint64_t round, size_t node, Random& random) {
  const auto one = SomeContribution(plan, round, node, "item", random);
  Item item;
  item.id = one.id;
  item.kind = ItemKind::kContribution;
  item.origin = one.origin;
  item.round = round;
  item.payload = std::make_shared<const std::string>(EncodeContribution(one.contribution, plan));
  return item;
}

Item CheckpointItem(size_t node, const ClusterRounds::Checkpoint& checkpoint) {
  Item item;
  item.id = Sha256(fmt::format("checkpoint {} of {}", checkpoint.round, node));
  item.kind = ItemKind::kCheckpoint;
  item.origin = LearnerNode(node);
  item.round = checkpoint.round;
  item.payload = std::make_shared<const std::string>(checkpoint.bytes);
  return item;
}

// A member with the items that it would hold in its gossip.
struct Member {
  size_t number = 0;
  std::optional<ClusterRounds> rounds;
};

// Members that pass items to each other at once, except those that are cut off.
class Cluster {
 public:
  Cluster(LearnerPlan plan, size_t members, uint64_t seed) : plan_(std::move(plan)), random_(seed) {
    for (size_t i = 0; i < members; ++i) {
      Join(i);
    }
  }

  Member& Join(size_t number, const std::string& saved = "") {
    Member& member = members_.emplace_back();
    member.number = number;
    Start(member, saved);
    return member;
  }
  // Starts a member again from what it saved and from its items.
  void Restart(size_t index, const std::string& saved) { Start(members_[index], saved); }

  void Cut(size_t index) { cut_.insert(index); }
  void Heal() {
    cut_.clear();
    for (Member& member : members_) {
      GiveAll(member);
    }
  }

  // Lets one round pass in which the members contribute.
  void Pass() {
    ++round_;
    for (size_t i = 0; i < members_.size(); ++i) {
      members_[i].rounds->OnTime(BeginOf(plan_, round_));
      Send(i, ContributionItem(plan_, round_, members_[i].number, random_));
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      if (const auto checkpoint = members_[i].rounds->TakeCheckpoint()) {
        Send(i, CheckpointItem(members_[i].number, *checkpoint));
      }
    }
  }

  Digest StateOf(size_t index) {
    return members_[index].rounds->StateBefore(round_ + 1).DigestOf(plan_);
  }
  bool Agree() {
    for (size_t i = 1; i < members_.size(); ++i) {
      if (StateOf(i) != StateOf(0)) {
        return false;
      }
    }
    return true;
  }
  // The checkpoints of a round that members sent.
  std::vector<Item> VotesOf(uint64_t round) const {
    std::vector<Item> votes;
    for (const Sent& sent : items_) {
      if (sent.item.kind == ItemKind::kCheckpoint && sent.item.round == round) {
        votes.push_back(sent.item);
      }
    }
    return votes;
  }
  Member& at(size_t index) { return members_[index]; }
  uint64_t round() const { return round_; }
  const LearnerPlan& plan() const { return plan_; }
  Random& random() { return random_; }
  void Send(size_t from, const Item& item) {
    items_.push_back({item, cut_.contains(from) ? std::optional(from) : std::nullopt});
    for (size_t i = 0; i < members_.size(); ++i) {
      if (i == from || (!cut_.contains(i) && !cut_.contains(from))) {
        Give(members_[i], item);
      }
    }
  }

 private:
  struct Sent {
    Item item;
    std::optional<size_t> only;  // a member that was cut off when it sent the item
  };
  void Start(Member& member, const std::string& saved) {
    absl::Status unused;
    auto rounds = ClusterRounds::Create({.plan = plan_, .self = LearnerNode(member.number)}, saved,
                                        BeginOf(plan_, round_), &unused);
    RUVD_CHECK(rounds.ok() && unused.ok());
    member.rounds.emplace(*std::move(rounds));
    GiveAll(member);
  }
  bool Lives(const Item& item) const {
    return BeginOf(plan_, item.round) + LearnerLifeMillis(plan_) > BeginOf(plan_, round_) ||
           item.kind == ItemKind::kCheckpoint;
  }
  void Give(Member& member, const Item& item) {
    (void)member.rounds->OnItem(item);  // of settled rounds it is refused
  }
  void GiveAll(Member& member) {
    for (const Sent& sent : items_) {
      if (Lives(sent.item)) {
        Give(member, sent.item);
      }
    }
  }

  LearnerPlan plan_;
  Random random_;
  uint64_t round_ = kFirstRound;
  std::vector<Member> members_;
  std::vector<Sent> items_;
  std::set<size_t> cut_;
};

void Pass(Cluster& cluster, uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) {
    cluster.Pass();
  }
}

TEST(ClusterRounds, FoundersAgreeAndTheirStateIsThatOfAllContributions) {
  Cluster cluster(ShortPlan(), 4, 1);
  EXPECT_TRUE(cluster.at(0).rounds->is_new());
  Pass(cluster, 3);
  EXPECT_TRUE(cluster.Agree());
  EXPECT_EQ(cluster.at(0).rounds->contributions(), 12U);
  EXPECT_EQ(cluster.at(0).rounds->own_contributions(), 3U);
  Pass(cluster, 20);
  EXPECT_TRUE(cluster.Agree());
  EXPECT_FALSE(cluster.at(0).rounds->is_new());
  // Only the window is kept.
  EXPECT_LE(cluster.at(0).rounds->contributions(), 4U * (ShortPlan().window + 2));
}

TEST(ClusterRounds, APartitionShorterThanTheWindowLeavesNoTrace) {
  Cluster cluster(ShortPlan(), 4, 2);
  Pass(cluster, 12);
  cluster.Cut(0);
  Pass(cluster, 3);
  EXPECT_NE(cluster.StateOf(0), cluster.StateOf(1));
  cluster.Heal();
  EXPECT_TRUE(cluster.Agree());
  Pass(cluster, 10);
  EXPECT_TRUE(cluster.Agree());
}

TEST(ClusterRounds, AMemberThatWasAwayLongerTakesTheStateOfTheMost) {
  Cluster cluster(ShortPlan(), 4, 3);
  Pass(cluster, 12);
  cluster.Cut(0);
  Pass(cluster, 2 * ShortPlan().window + 1);
  const Digest of_the_most = cluster.StateOf(1);
  EXPECT_NE(cluster.StateOf(0), of_the_most);
  cluster.Heal();
  Pass(cluster, ShortPlan().window + 1);  // up to the next checkpoint
  EXPECT_TRUE(cluster.Agree());
}

TEST(ClusterRounds, ANewcomerToAnOldClusterTakesItsStateAtOnce) {
  Cluster cluster(ShortPlan(), 3, 4);
  Pass(cluster, 23);
  cluster.Join(3);
  EXPECT_FALSE(cluster.at(3).rounds->is_new());
  EXPECT_TRUE(cluster.Agree());
  Pass(cluster, 9);
  EXPECT_TRUE(cluster.Agree());
}

TEST(ClusterRounds, ARestartGoesOnFromWhatWasSaved) {
  Cluster cluster(ShortPlan(), 3, 5);
  Pass(cluster, 23);
  const std::optional<std::string> saved = cluster.at(2).rounds->TakeSavedState();
  ASSERT_TRUE(saved.has_value());
  EXPECT_FALSE(cluster.at(2).rounds->TakeSavedState().has_value());
  cluster.Restart(2, *saved);
  EXPECT_TRUE(cluster.Agree());
  EXPECT_TRUE(cluster.at(2).rounds->HasOwn(cluster.round()));
  EXPECT_FALSE(cluster.at(2).rounds->HasOwn(cluster.round() + 1));
  Pass(cluster, 9);
  EXPECT_TRUE(cluster.Agree());
}

TEST(ClusterRounds, ASavedStateOfAnotherPlanIsNamedAndNotUsed) {
  Cluster cluster(ShortPlan(), 2, 6);
  Pass(cluster, 23);
  const std::optional<std::string> saved = cluster.at(0).rounds->TakeSavedState();
  ASSERT_TRUE(saved.has_value());
  LearnerPlan other = ShortPlan();
  other.max_norm = 3;
  absl::Status unused;
  const auto rounds = ClusterRounds::Create({.plan = other, .self = LearnerNode(0)}, *saved,
                                            BeginOf(other, cluster.round()), &unused);
  ASSERT_TRUE(rounds.ok());
  EXPECT_TRUE(rounds->is_new());
  EXPECT_EQ(ReasonOf(unused), "PLAN_MISMATCH");
}

TEST(ClusterRounds, AWithdrawnContributionIsInNoState) {
  Cluster cluster(ShortPlan(), 2, 7);
  Pass(cluster, 3);
  const Digest without = cluster.StateOf(0);
  Random random(9);
  const Item late = ContributionItem(cluster.plan(), cluster.round() - 1, 77, random);
  cluster.Send(0, late);
  EXPECT_NE(cluster.StateOf(0), without);
  EXPECT_TRUE(cluster.Agree());
  EXPECT_TRUE(cluster.at(0).rounds->TakeChanged());
  cluster.at(0).rounds->OnWithdrawn(late.id);
  EXPECT_EQ(cluster.StateOf(0), without);
  EXPECT_TRUE(cluster.at(0).rounds->TakeChanged());
}

TEST(ClusterRounds, ARevokedMemberHasNoPartInAnyState) {
  Cluster cluster(ShortPlan(), 4, 8);
  Pass(cluster, 23);
  const auto has_part = [&](size_t index) {
    const GlobalState& state = cluster.at(index).rounds->StateBefore(cluster.round() + 1);
    return state.last_part.contains(LearnerNode(3));
  };
  EXPECT_TRUE(has_part(0));
  for (size_t i = 0; i < 3; ++i) {
    cluster.at(i).rounds->OnExpelled(LearnerNode(3));
    EXPECT_FALSE(has_part(i));
    EXPECT_EQ(cluster.StateOf(i), cluster.StateOf(0));
  }
  Pass(cluster, 15);  // it goes on sending
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(has_part(i));
    EXPECT_EQ(cluster.StateOf(i), cluster.StateOf(0));
  }
}

TEST(ClusterRounds, ALiarsCheckpointConvincesNobodyAgainstTheMost) {
  Cluster cluster(ShortPlan(), 4, 9);
  Pass(cluster, 22);
  GlobalState lie = cluster.at(0).rounds->StateBefore(cluster.round() + 1);
  lie.round = CheckpointRound(cluster.plan(), cluster.round());
  std::erase_if(lie.last_part, [&](const auto& part) { return part.second > lie.round; });
  lie.values[0][0] = 1000;
  Item item = CheckpointItem(3, {.round = lie.round, .bytes = EncodeState(lie, cluster.plan())});
  item.id = Sha256("lie");
  cluster.Send(3, item);
  cluster.Join(4);
  for (const size_t i : {0, 1, 2, 4}) {
    EXPECT_NE(cluster.at(i).rounds->StateBefore(cluster.round() + 1).values[0][0], 1000);
    EXPECT_EQ(cluster.StateOf(i), cluster.StateOf(0));
  }
}

// Found by review: a node that took another state forgot its own vote, so that one liar of three
// won if its checkpoint came first.
TEST(ClusterRounds, ALiarWhoseCheckpointComesFirstLosesOnceTheOthersHaveVoted) {
  Cluster cluster(ShortPlan(), 3, 12);
  Pass(cluster, 22);
  const uint64_t boundary = CheckpointRound(cluster.plan(), cluster.round());
  GlobalState honest = cluster.at(0).rounds->StateBefore(cluster.round() + 1);
  const Digest expected = cluster.StateOf(0);
  // A node that computed the state by itself, and has no vote of others yet
  ClusterRounds one = *cluster.at(0).rounds;
  for (const Item& item : cluster.VotesOf(boundary)) {
    one.OnDropped(item.id);
  }
  GlobalState lie = honest;
  lie.round = boundary;
  std::erase_if(lie.last_part, [&](const auto& part) { return part.second > lie.round; });
  for (int try_number = 0; try_number < 64; ++try_number) {  // for a digest below the honest one
    lie.values[0][0] = 1000 + static_cast<float>(try_number);
    Item item = CheckpointItem(50, {.round = boundary, .bytes = EncodeState(lie, cluster.plan())});
    item.id = Sha256(fmt::format("lie {}", try_number));
    ASSERT_TRUE(one.OnItem(item).ok());
    if (one.StateBefore(cluster.round() + 1).DigestOf(cluster.plan()) != expected) {
      break;
    }
    one.OnDropped(item.id);
  }
  ASSERT_NE(one.StateBefore(cluster.round() + 1).DigestOf(cluster.plan()), expected)
      << "one against one, the smaller digest counts";
  for (const Item& item : cluster.VotesOf(boundary)) {
    ASSERT_TRUE(one.OnItem(item).ok());
  }
  EXPECT_EQ(one.StateBefore(cluster.round() + 1).DigestOf(cluster.plan()), expected);
}

// Found by review: such a checkpoint passed the check, and the second round after it ended the
// process.
TEST(ClusterRounds, ACheckpointWithMoreStepsThanRoundsIsRefused) {
  LearnerPlan plan = GradientPlan();
  GlobalState state = federation::EmptyState(plan, 101);
  EXPECT_TRUE(CheckState(state, plan).ok());
  state.optimizers[0].steps = ~uint64_t{0};
  state.optimizers[0].beta1_power = 0.5;
  state.optimizers[0].beta2_power = 0.5;
  EXPECT_FALSE(CheckState(state, plan).ok());
}

// Memory and time take items from a node, and must not take them from its adapter.
TEST(ClusterRounds, AContributionThatExpiredStaysInItsRound) {
  Cluster cluster(ShortPlan(), 2, 13);
  Pass(cluster, 3);
  Random random(9);
  const Item late = ContributionItem(cluster.plan(), cluster.round() - 1, 77, random);
  cluster.Send(0, late);
  const Digest with = cluster.StateOf(0);
  cluster.at(0).rounds->OnDropped(late.id);
  EXPECT_EQ(cluster.StateOf(0), with);
}

TEST(ClusterRounds, TimeThatGoesBackHasNoEffect) {
  Cluster cluster(ShortPlan(), 1, 10);
  Pass(cluster, 9);
  const Digest state = cluster.StateOf(0);
  cluster.at(0).rounds->OnTime(BeginOf(cluster.plan(), kFirstRound));
  EXPECT_EQ(cluster.at(0).rounds->now_round(), cluster.round());
  EXPECT_EQ(cluster.StateOf(0), state);
}

// ---- Masked sums

LearnerPlan ShortGradientPlan() {
  LearnerPlan plan = GradientPlan();
  plan.values_per_bank = 5;
  plan.window = 4;
  return plan;
}

// A member of a cluster whose contributions are masked sums.
struct Follower {
  explicit Follower(const LearnerPlan& of, size_t number = 0) : plan(of) {
    absl::Status unused;
    rounds.emplace(*ClusterRounds::Create({.plan = plan, .self = LearnerNode(number)}, "",
                                          BeginOf(plan, kFirstRound), &unused));
  }
  void Pass(uint64_t round) { rounds->OnTime(BeginOf(plan, round)); }
  const GlobalState& State(uint64_t round) { return rounds->StateBefore(round); }

  LearnerPlan plan;
  std::optional<ClusterRounds> rounds;
};

TEST(ClusterRoundsSums, CountInAnyOrderAsApplyRoundsCountsThem) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(1);
  const Contributions sums = {SomeSum(plan, kFirstRound, 0, 4, 0, random),
                              SomeSum(plan, kFirstRound, 3, 7, 1, random),
                              SomeSum(plan, kFirstRound + 1, 0, 3, 0, random)};
  Follower one(plan);
  Follower other(plan);
  for (const auto& sum : sums) {
    ASSERT_TRUE(one.rounds->AddSum(sum).ok());
  }
  other.Pass(kFirstRound + 2);
  (void)other.rounds->TakeChanged();
  for (size_t i = sums.size(); i > 0; --i) {
    ASSERT_TRUE(other.rounds->AddSum(sums[i - 1]).ok());
    ASSERT_TRUE(other.rounds->AddSum(sums[i - 1]).ok()) << "twice is as good as once";
  }
  EXPECT_TRUE(other.rounds->TakeChanged());
  one.Pass(kFirstRound + 2);
  EXPECT_EQ(one.State(kFirstRound + 2), other.State(kFirstRound + 2));
  EXPECT_EQ(one.rounds->contributions(), 3U);
  EXPECT_EQ(one.rounds->own_contributions(), 2U);
  EXPECT_TRUE(one.rounds->HasOwn(kFirstRound));
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound + 2));
  // The sum with the lower attempt counts where two share a member.
  Follower first_only(plan);
  ASSERT_TRUE(first_only.rounds->AddSum(sums[0]).ok());
  ASSERT_TRUE(first_only.rounds->AddSum(sums[2]).ok());
  first_only.Pass(kFirstRound + 2);
  EXPECT_EQ(first_only.State(kFirstRound + 2).values, one.State(kFirstRound + 2).values);
}

TEST(ClusterRoundsSums, AreTakenOutAgain) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(2);
  Follower one(plan);
  const auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  one.Pass(kFirstRound + 1);
  const GlobalState before = one.State(kFirstRound + 1);
  ASSERT_TRUE(one.rounds->AddSum(sum).ok());
  EXPECT_NE(one.State(kFirstRound + 1), before);
  (void)one.rounds->TakeChanged();
  one.rounds->OnWithdrawn(sum.id);
  EXPECT_TRUE(one.rounds->TakeChanged());
  EXPECT_EQ(one.State(kFirstRound + 1), before);
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound));
}

TEST(ClusterRoundsSums, OfAnExpelledMemberHaveNoPart) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(3);
  Follower one(plan);
  Follower without(plan);
  const auto with_liar = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  const auto clean = SomeSum(plan, kFirstRound, 5, 9, 0, random);
  ASSERT_TRUE(one.rounds->AddSum(with_liar).ok());
  ASSERT_TRUE(one.rounds->AddSum(clean).ok());
  ASSERT_TRUE(without.rounds->AddSum(clean).ok());
  one.rounds->OnExpelled(LearnerNode(2));
  EXPECT_TRUE(one.rounds->AddSum(with_liar).ok()) << "it has no effect";
  one.Pass(kFirstRound + 1);
  without.Pass(kFirstRound + 1);
  EXPECT_EQ(one.State(kFirstRound + 1), without.State(kFirstRound + 1));
  EXPECT_EQ(one.rounds->contributions(), 1U);
}

// A member that takes the state of the others counts the later sums, whether it had them before or
// gets them afterwards.
TEST(ClusterRoundsSums, CountOnTopOfAStateOfOthers) {
  const LearnerPlan plan = ShortGradientPlan();
  constexpr uint64_t kLast = kFirstRound + 22;
  Random random(4);
  std::vector<Follower> old;
  for (size_t i = 0; i < 3; ++i) {
    old.emplace_back(plan, i);
  }
  Contributions alive;
  std::vector<Item> votes;
  for (uint64_t round = kFirstRound; round <= kLast; ++round) {
    const auto sum = SomeSum(plan, round, 0, 4, 0, random);
    for (size_t i = 0; i < old.size(); ++i) {
      old[i].Pass(round);
      ASSERT_TRUE(old[i].rounds->AddSum(sum).ok());
      if (const auto checkpoint = old[i].rounds->TakeCheckpoint()) {
        votes.push_back(CheckpointItem(i, *checkpoint));
      }
    }
    if (round >= old[0].rounds->FirstLiveRound()) {
      alive.push_back(sum);
    }
  }
  EXPECT_LE(old[0].rounds->contributions(), plan.window + 2U) << "only the window is kept";
  ASSERT_FALSE(votes.empty());
  for (const bool sums_first : {true, false}) {
    Follower late(plan, 9);
    late.Pass(kLast);
    const auto vote = [&] {
      for (const Item& item : votes) {
        ASSERT_TRUE(late.rounds->OnItem(item).ok());
      }
    };
    if (!sums_first) {
      vote();
    }
    for (const auto& sum : alive) {
      const absl::Status added = late.rounds->AddSum(sum);
      EXPECT_TRUE(added.ok() || ReasonOf(added) == reasons::kRoundSealed) << added;
    }
    if (sums_first) {
      EXPECT_NE(late.State(kLast + 1), old[0].State(kLast + 1));
      vote();
    }
    EXPECT_EQ(late.State(kLast + 1), old[0].State(kLast + 1));
  }
}

TEST(ClusterRoundsSums, OfALongTimeAgoAreForgotten) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(5);
  Follower one(plan);
  const auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  ASSERT_TRUE(one.rounds->AddSum(sum).ok());
  const uint64_t alive = kFirstRound + 2 * plan.window + 2;
  one.Pass(alive);
  EXPECT_TRUE(one.rounds->HasOwn(kFirstRound));
  one.Pass(alive + 1);
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound));
  EXPECT_TRUE(one.rounds->AddSum(sum).ok());
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound)) << "it does not come back";
}

TEST(ClusterRoundsSums, ContributionsOfOneNodeAreNone) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(6);
  Follower one(plan);
  EXPECT_EQ(ReasonOf(one.rounds->AddSum(SomeContribution(plan, kFirstRound, 1, "", random))),
            reasons::kUpdateInvalid);
  auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  sum.origin = LearnerNode(3);
  EXPECT_EQ(ReasonOf(one.rounds->AddSum(sum)), reasons::kUpdateInvalid);
  sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  std::ranges::reverse(sum.members);
  EXPECT_EQ(ReasonOf(one.rounds->AddSum(sum)), reasons::kUpdateInvalid);
  EXPECT_EQ(one.rounds->contributions(), 0U);
}

// Whatever short partitions a cluster goes through, its members agree once they have met.
RC_GTEST_PROP(ClusterRoundsProperty, MembersAgreeAfterShortPartitions, ()) {
  Cluster cluster(ShortPlan(), 3, *rc::gen::inRange<uint64_t>(0, 1000));
  const int phases = *rc::gen::inRange(1, 8);
  for (int phase = 0; phase < phases; ++phase) {
    if (*rc::gen::arbitrary<bool>()) {
      cluster.Cut(*rc::gen::inRange<size_t>(0, 3));
    }
    Pass(cluster, *rc::gen::inRange<uint64_t>(1, ShortPlan().window));
    cluster.Heal();
    RC_ASSERT(cluster.Agree());
  }
}

}  // namespace
}  // namespace ruvd::test
