// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/item_table.h"
#include "federation/gossip/merkle.h"
#include "federation/gossip/reconcile.h"
#include "federation/limits.h"
#include "federation/link/backoff.h"
#include "federation/membership/dial_planner.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

federation::Item ItemOf(uint64_t number, uint8_t origin = 1,
                        federation::ItemKind kind = federation::ItemKind::kPattern,
                        size_t bytes = 10) {
  federation::Item item;
  item.id = Sha256(ByteWriter().Write(number).str());
  item.kind = kind;
  item.origin[0] = origin;
  item.created_ms = static_cast<int64_t>(number);
  item.expires_ms = static_cast<int64_t>(number) + 1000;
  item.payload = std::make_shared<const std::string>(bytes, 'x');
  return item;
}

std::map<Digest, federation::Item> SetOf(const std::set<uint64_t>& numbers) {
  std::map<Digest, federation::Item> items;
  for (uint64_t number : numbers) {
    const federation::Item item = ItemOf(number);
    items[item.id] = item;
  }
  return items;
}

TEST(Merkle, MatchesRfc6962ForTwoLeaves) {
  const std::string payload = std::string(limits::kChunkBytes, 'a') + "b";
  const std::string a = std::string(1, '\0') + std::string(limits::kChunkBytes, 'a');
  const std::string b = std::string(1, '\0') + "b";
  const std::string node = "\x01" + std::string(AsText(Sha256(a))) + std::string(AsText(Sha256(b)));
  EXPECT_EQ(federation::MerkleTree(payload).root(), Sha256(node));
  EXPECT_EQ(federation::MerkleTree("").root(), Sha256(std::string_view("\0", 1)));
}

TEST(Merkle, EveryChunkOfEverySizeVerifiesAndNothingElse) {
  for (uint32_t chunks = 1; chunks <= 20; ++chunks) {
    std::string payload;
    for (uint32_t i = 0; i < chunks; ++i) {
      payload += std::string(i + 1 < chunks ? limits::kChunkBytes : 5, static_cast<char>('a' + i));
    }
    const federation::MerkleTree tree(payload);
    ASSERT_EQ(tree.chunks(), chunks);
    for (uint32_t i = 0; i < chunks; ++i) {
      const auto chunk =
          std::string_view(payload).substr(i * limits::kChunkBytes, limits::kChunkBytes);
      std::vector<Digest> path = tree.Path(i);
      EXPECT_TRUE(federation::VerifyChunk(tree.root(), chunks, i, chunk, path));
      EXPECT_FALSE(federation::VerifyChunk(tree.root(), chunks, chunks, chunk, path));
      EXPECT_FALSE(federation::VerifyChunk(tree.root(), chunks, i, "other", path));
      if (chunks > 1) {
        EXPECT_FALSE(federation::VerifyChunk(tree.root(), chunks, (i + 1) % chunks, chunk, path));
        path.back()[0] ^= 1;
        EXPECT_FALSE(federation::VerifyChunk(tree.root(), chunks, i, chunk, path));
        path.pop_back();
        EXPECT_FALSE(federation::VerifyChunk(tree.root(), chunks, i, chunk, path));
      }
      path = tree.Path(i);
      path.push_back(Digest{});
      EXPECT_FALSE(federation::VerifyChunk(tree.root(), chunks, i, chunk, path));
    }
  }
}

// Runs an exchange to its end and applies what both sides learn.
size_t ReconcileUntilQuiet(std::map<Digest, federation::Item>& a,
                           std::map<Digest, federation::Item>& b) {
  auto message = federation::OpenReconciliation(federation::ItemSource(a));
  const std::map<Digest, federation::Item> all = [&] {
    auto both = a;
    both.insert(b.begin(), b.end());
    return both;
  }();
  size_t messages = 0;
  bool at_b = true;
  std::set<Digest> for_a;
  std::set<Digest> for_b;
  while (message.ranges_size() > 0) {
    ++messages;
    auto answer = federation::AnswerReconciliation(federation::ItemSource(at_b ? b : a), message);
    RC_ASSERT(answer.ok());
    (at_b ? for_b : for_a).insert(answer->missing.begin(), answer->missing.end());
    (at_b ? for_a : for_b).insert(answer->surplus.begin(), answer->surplus.end());
    message = std::move(answer->message);
    at_b = !at_b;
  }
  for (const Digest& id : for_a) {
    a[id] = all.at(id);
  }
  for (const Digest& id : for_b) {
    b[id] = all.at(id);
  }
  return messages;
}

// One exchange finds all that fits into its frames; the next exchange finds the rest.
RC_GTEST_PROP(Reconcile, TwoExchangesFindEveryDifference, ()) {
  std::set<uint64_t> left;
  std::set<uint64_t> right;
  const size_t common = *rc::gen::inRange<size_t>(0, 400);
  for (uint64_t i = 0; i < common; ++i) {
    left.insert(i);
    right.insert(i);
  }
  for (uint64_t i : *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange(1000, 2000))) {
    left.insert(i);
  }
  for (uint64_t i : *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange(2000, 3000))) {
    right.insert(i);
  }
  auto a = SetOf(left);
  auto b = SetOf(right);
  ReconcileUntilQuiet(a, b);
  ReconcileUntilQuiet(b, a);
  RC_ASSERT(a.size() == b.size());
  RC_ASSERT(std::equal(a.begin(), a.end(), b.begin(),
                       [](const auto& x, const auto& y) { return x.first == y.first; }));
}

TEST(Reconcile, EqualSetsNeedOneMessageAndSmallDifferencesFewBytes) {
  std::set<uint64_t> numbers;
  for (uint64_t i = 0; i < 2000; ++i) {
    numbers.insert(i);
  }
  auto a = SetOf(numbers);
  auto b = a;
  EXPECT_EQ(ReconcileUntilQuiet(a, b), 1U);
  b.erase(b.begin());
  EXPECT_LE(ReconcileUntilQuiet(a, b), 5U);
  EXPECT_EQ(a.size(), b.size());
}

TEST(Reconcile, RefusesOverlapsAndNonsense) {
  const auto items = SetOf({1, 2, 3});
  const auto reason_of = [&](auto change) {
    auto message = federation::OpenReconciliation(federation::ItemSource(items));
    change(message);
    return ReasonOf(
        federation::AnswerReconciliation(federation::ItemSource(items), message).status());
  };
  EXPECT_EQ(reason_of([](auto&) {}), "");
  EXPECT_EQ(reason_of([](auto& m) { m.mutable_ranges(0)->set_lower("x"); }),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(reason_of([](auto& m) { m.mutable_ranges(0)->set_upper(std::string(32, '\0')); }),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(reason_of([](auto& m) { *m.add_ranges() = m.ranges(0); }), reasons::kEnvelopeMalformed);
  EXPECT_EQ(reason_of([](auto& m) { m.mutable_ranges(0)->clear_fingerprint(); }),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(reason_of([](auto& m) { m.mutable_ranges(0)->mutable_ids()->add_ids("short"); }),
            reasons::kEnvelopeMalformed);
}

TEST(ItemTable, KeepsTheNewestOfAnOrigin) {
  federation::ItemTable table;
  for (uint64_t i = 1; i <= limits::kMaxPatternsPerOrigin; ++i) {
    EXPECT_TRUE(table.Insert(ItemOf(i)).kept);
  }
  const auto newer = table.Insert(ItemOf(1000));
  EXPECT_TRUE(newer.kept);
  ASSERT_EQ(newer.dropped.size(), 1U);
  EXPECT_EQ(newer.dropped[0].id, ItemOf(1).id);
  EXPECT_TRUE(table.HasTombstone(ItemOf(1).id));
  const auto older = table.Insert(ItemOf(0));
  EXPECT_FALSE(older.kept);
  EXPECT_TRUE(older.dropped.empty());
  EXPECT_TRUE(table.Insert(ItemOf(0, 2)).dropped.empty());
}

TEST(ItemTable, KeepsMaskItemsOfAsManyRoundsAsItIsTold) {
  federation::ItemTable table(9);
  for (uint64_t i = 1; i <= 9; ++i) {
    EXPECT_TRUE(table.Insert(ItemOf(i, 1, federation::ItemKind::kMaskShare)).dropped.empty());
  }
  EXPECT_TRUE(table.Insert(ItemOf(20, 1, federation::ItemKind::kMaskKey)).dropped.empty());
  const auto newer = table.Insert(ItemOf(21, 1, federation::ItemKind::kMaskShare));
  ASSERT_EQ(newer.dropped.size(), 1U);
  EXPECT_EQ(newer.dropped[0].id, ItemOf(1).id);
}

TEST(ItemTable, MemoryIsTakenFromTheGreediest) {
  federation::ItemTable table;
  const size_t big = limits::kMaxPayloadBytes;
  table.Insert(ItemOf(1, 2, federation::ItemKind::kPattern, 1000));
  for (uint64_t i = 10; i < 10 + limits::kMaxPayloadMemory / big; ++i) {
    const auto inserted = table.Insert(ItemOf(i, 1, federation::ItemKind::kPattern, big));
    for (const federation::Item& dropped : inserted.dropped) {
      EXPECT_EQ(dropped.origin[0], 1);
    }
  }
  EXPECT_NE(table.Find(ItemOf(1).id), nullptr);
  EXPECT_EQ(table.Find(ItemOf(10).id), nullptr);
}

// Withdrawals are few, small and older than what replaced the items that they took back. Dropping
// the oldest first would let those items come again.
TEST(ItemTable, WithdrawalsAreTakenFromTheGreediestLast) {
  federation::ItemTable table;
  const size_t big = limits::kMaxPayloadBytes;
  const federation::Item withdrawal = ItemOf(1, 1, federation::ItemKind::kWithdrawal);
  table.Insert(withdrawal);
  size_t dropped = 0;
  for (uint64_t i = 10; i < 12 + limits::kMaxPayloadMemory / big; ++i) {
    dropped += table.Insert(ItemOf(i, 1, federation::ItemKind::kPattern, big)).dropped.size();
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_NE(table.Find(withdrawal.id), nullptr);
}

// Found by review: the patterns and contributions of a node went before its expert, which takes the
// memory of all of them.
TEST(ItemTable, ExpertsAreTakenFromTheGreediestFirst) {
  federation::ItemTable table;
  const size_t big = limits::kMaxPayloadBytes;
  std::vector<federation::Item> dropped;
  for (uint64_t node = 1; node <= 1 + limits::kMaxPayloadMemory / big; ++node) {
    const auto sender = static_cast<uint8_t>(node);
    table.Insert(ItemOf(node, sender, federation::ItemKind::kContribution, 100));
    for (const federation::Item& item :
         table.Insert(ItemOf(100 + node, sender, federation::ItemKind::kExpert, big)).dropped) {
      dropped.push_back(item);
    }
  }
  ASSERT_FALSE(dropped.empty());
  for (const federation::Item& item : dropped) {
    EXPECT_EQ(item.kind, federation::ItemKind::kExpert);
  }
}

TEST(ItemTable, ExpiresItemsAndTombstones) {
  federation::ItemTable table;
  table.Insert(ItemOf(5));
  table.Insert(ItemOf(6));
  table.Drop(ItemOf(6).id);
  EXPECT_TRUE(table.Expire(1004).empty());
  ASSERT_EQ(table.Expire(1005).size(), 1U);
  EXPECT_TRUE(table.HasTombstone(ItemOf(6).id));
  table.Expire(1006);
  EXPECT_FALSE(table.HasTombstone(ItemOf(6).id));
}

TEST(Backoff, GrowsToItsCapAndNeverBeyond) {
  Random random(1);
  Duration longest{};
  for (int attempt = 0; attempt < 100; ++attempt) {
    for (int i = 0; i < 50; ++i) {
      const Duration delay = federation::BackoffDelay(attempt, limits::kBackoffMax, random);
      EXPECT_GE(delay, Duration(0));
      EXPECT_LT(delay, std::min<Duration>(limits::kBackoffMax,
                                          limits::kBackoffBase * (1 << std::min(attempt, 20))));
      longest = std::max(longest, delay);
    }
  }
  EXPECT_GT(longest, limits::kBackoffMax / 2);
}

std::vector<std::string> DueSeeds(const federation::DialPlanner& planner, TimePoint now,
                                  std::set<privacy::NodeId> linked = {},
                                  std::set<privacy::NodeId> alive = {}, bool all = false) {
  return planner.DueSeeds([&](const privacy::NodeId& id) { return linked.contains(id); },
                          [&](const privacy::NodeId& id) { return alive.contains(id); }, all, now);
}

TEST(DialPlanner, SeedsNeverItselfNeverTwice) {
  Random random(1);
  federation::DialPlanner planner({"a:1", "me:1"}, "me:1");
  const TimePoint start{};
  EXPECT_EQ(DueSeeds(planner, start), std::vector<std::string>{"a:1"});
  EXPECT_FALSE(planner.Begin("me:1", federation::DialPurpose::kMesh, start));
  EXPECT_TRUE(planner.Begin("a:1", federation::DialPurpose::kExchange, start));
  EXPECT_FALSE(planner.Begin("a:1", federation::DialPurpose::kMesh, start));  // under way
  EXPECT_TRUE(DueSeeds(planner, start).empty());
  EXPECT_EQ(planner.Dialing(federation::DialPurpose::kExchange), 1U);
  planner.OnOpened("a:1");
  privacy::NodeId a{};
  a[0] = 1;
  EXPECT_EQ(planner.OnIdentified("a:1", a), federation::DialPurpose::kExchange);
  EXPECT_TRUE(DueSeeds(planner, start, {a}).empty());
  EXPECT_TRUE(DueSeeds(planner, start, {}, {a}).empty());  // lives: any member is as good
  EXPECT_EQ(DueSeeds(planner, start, {}, {a}, /*all=*/true).size(), 1U);
  EXPECT_EQ(DueSeeds(planner, start).size(), 1U);  // fell silent: a partition may heal there
  planner.OnFailed("a:1", false, start, random);
  EXPECT_EQ(DueSeeds(planner, start + limits::kSeedBackoffMax).size(), 1U);
}

// Found by a hostile review: an address that once led to the node itself was given up until the
// next start, and a machine on the way could bring that about.
TEST(DialPlanner, AnAddressIsTheOwnOneForAnHour) {
  federation::DialPlanner planner({"a:1"}, "me:1");
  const TimePoint start{};
  planner.OnSelf("a:1", start);
  EXPECT_TRUE(DueSeeds(planner, start).empty());
  EXPECT_TRUE(planner.Unreachable("a:1", start));
  const TimePoint later = start + limits::kSelfMemory;
  EXPECT_EQ(DueSeeds(planner, later), std::vector<std::string>{"a:1"});
  EXPECT_FALSE(planner.Unreachable("a:1", later));
  EXPECT_FALSE(planner.Begin("me:1", federation::DialPurpose::kMesh, later));
}

TEST(DialPlanner, ADialThatNobodyAnswersFails) {
  Random random(1);
  federation::DialPlanner planner({}, "");
  const TimePoint start{};
  ASSERT_TRUE(planner.Begin("a:1", federation::DialPurpose::kMesh, start));
  planner.Expire(start + limits::kDialTimeout, random);
  EXPECT_EQ(planner.Dialing(federation::DialPurpose::kMesh), 1U);
  const TimePoint later = start + limits::kDialTimeout + std::chrono::milliseconds(1);
  planner.Expire(later, random);
  EXPECT_EQ(planner.Dialing(federation::DialPurpose::kMesh), 0U);
  EXPECT_TRUE(planner.Begin("a:1", federation::DialPurpose::kMesh, later + limits::kBackoffMax));
}

TEST(DialPlanner, KeepsNoMoreAddressesThanItsLimit) {
  Random random(1);
  federation::DialPlanner planner({"seed:1"}, "");
  const TimePoint start{};
  for (size_t i = 0; i < 3 * limits::kMaxAddresses; ++i) {
    ASSERT_TRUE(planner.Begin(AddressOf(i), federation::DialPurpose::kMesh, start));
    planner.OnFailed(AddressOf(i), /*hopeless=*/true, start, random);
  }
  EXPECT_EQ(DueSeeds(planner, start), std::vector<std::string>{"seed:1"});  // it was not forgotten
}

}  // namespace
}  // namespace ruvd::test
