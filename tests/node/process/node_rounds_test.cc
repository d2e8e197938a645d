// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs real nodes that learn one adapter in rounds, each from texts of its own.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/contribution.h"
#include "node/client/client.h"
#include "privacy/reasons.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/node/process/federated_node_fixture.h"

namespace ruvd::node {
namespace {

using testing::HasSubstr;

class NodeRoundsTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    // These nodes want to keep what they know of documents like those that they are given.
    config_.learning.general_text = folder_ / "general.txt";
    std::ofstream(folder_ / "general.txt")
        << Document("cluster.md", 0, 5000) << Document("glossary.md", 0, 5000);
  }
  void TearDown() override {
    others_.clear();
    FederatedNodeTest::TearDown();
  }
  void StartOther(const std::function<void(config::NodeConfig&)>& change = nullptr) {
    others_.push_back(StartMember("node-" + std::to_string(others_.size() + 1), change));
    ASSERT_NE(others_.back(), nullptr);
  }
  std::string AddressOf(size_t number) const {
    return number == 0 ? node_->api_address() : others_[number - 1]->api_address();
  }
  client::NodeClient ClientOf(size_t number) const { return client::NodeClient(AddressOf(number)); }
  void AddText(size_t number, const std::string& name, size_t bytes,
               privacy::v1::SharingTier tier) const {
    FederatedNodeTest::AddText(AddressOf(number), name, bytes, tier);
  }
  void GrantOn(size_t number, privacy::v1::SharingTier tier) {
    privacy::v1::SetConsentRequest request;
    request.set_tier(tier);
    const auto answer = ClientOf(number).Call<privacy::v1::SetConsentResponse>(request);
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  node::v1::GetStatusResponse StatusOf(size_t number) const {
    const auto status =
        ClientOf(number).Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(node::v1::GetStatusResponse());
  }
  cluster::v1::RoundsStatus RoundsOf(size_t number) const { return StatusOf(number).rounds(); }
  // The loss of a part of a document that no node was given, as it is served, in nats per token.
  double LossOf(size_t number, const std::string& name, size_t begin) const {
    double loss = 0;
    constexpr size_t kParts = 8;
    for (size_t part = 0; part < kParts; ++part) {
      inference::v1::ScoreRequest request;
      request.set_prompt(Document(name, begin, begin + 40));
      request.set_completion(Document(name, begin + 40, begin + 500));
      request.set_mode(inference::v1::DECODING_MODE_DIFFUSION);
      request.set_samples(4);
      request.set_seed(1);
      const auto score = ClientOf(number).Call<inference::v1::ScoreResponse>(request);
      EXPECT_TRUE(score.ok()) << score.status();
      loss += score.ok() ? score->nats_per_token() / kParts : 0;
      begin += 1000;
    }
    return loss;
  }
  // What a node says of the state of its only neighbour.
  cluster::v1::StateAgreement RoundsNamedByMembers(size_t number) const {
    const auto members =
        ClientOf(number).Call<cluster::v1::ListMembersResponse>(cluster::v1::ListMembersRequest());
    EXPECT_TRUE(members.ok()) << members.status();
    if (members.ok()) {
      for (const cluster::v1::Member& member : members->members()) {
        if (member.linked()) {
          return member.rounds();
        }
      }
    }
    return cluster::v1::STATE_AGREEMENT_UNSPECIFIED;
  }
  // Whether both nodes serve an adapter and hold equal states of equal rounds.
  bool StatesAreEqual() const {
    const cluster::v1::RoundsStatus a = RoundsOf(0);
    const cluster::v1::RoundsStatus b = RoundsOf(1);
    return a.state_round() == b.state_round() && a.state_digest() == b.state_digest() &&
           a.served_version() > 0 && b.served_version() > 0;
  }

  std::vector<std::unique_ptr<Node>> others_;
};

TEST_F(NodeRoundsTest, TwoNodesLearnOneAdapterFromTextsThatNeverLeave) {
  Start();
  StartOther();
  AddText(0, "wire-format.md", 26'000, privacy::v1::SHARING_TIER_PUBLIC);
  AddText(1, kDocument, kGiven, privacy::v1::SHARING_TIER_PUBLIC);
  const double before = LossOf(0, kDocument, kGiven + 100);
  EXPECT_EQ(RoundsOf(0).contributions(), 0U) << "nothing leaves before consent";
  GrantOn(0, privacy::v1::SHARING_TIER_PUBLIC);
  GrantOn(1, privacy::v1::SHARING_TIER_PUBLIC);
  double after = before;
  // How many rounds this takes depends on how many of them a busy machine leaves out.
  ASSERT_TRUE(WaitUntil([&] {
    after = StatesAreEqual() ? LossOf(0, kDocument, kGiven + 100) : after;
    return after < before - 0.01;
  })) << "the other node's text gets no easier here: "
      << before << " to " << after << "\n"
      << RoundsOf(0).DebugString() << RoundsOf(1).DebugString();
  EXPECT_GT(RoundsOf(0).last_round(), 0U) << "it gave something itself";
  EXPECT_EQ(RoundsOf(0).plan_id(), RoundsOf(1).plan_id());
  EXPECT_TRUE(RoundsOf(0).refusal().empty()) << RoundsOf(0).refusal();
}

// Neighbours compare states whether or not they contribute.
TEST_F(NodeRoundsTest, TheStatusSaysHowManyNeighboursHoldTheSameState) {
  Start();
  EXPECT_EQ(RoundsOf(0).peers_agreeing(), 0U);
  StartOther();
  EXPECT_TRUE(WaitUntil([&] {
    return RoundsOf(0).peers_agreeing() == 1 && RoundsOf(1).peers_agreeing() == 1;
  })) << RoundsOf(0).DebugString()
      << RoundsOf(1).DebugString();
  EXPECT_EQ(RoundsOf(0).peers_differing(), 0U);
  EXPECT_TRUE(
      WaitUntil([&] { return RoundsNamedByMembers(0) == cluster::v1::STATE_AGREEMENT_EQUAL; }));
}

// Experiments with members that lie do this; the lie takes part as every contribution does.
TEST_F(NodeRoundsTest, WhatAnEditMakesOfAContributionIsGiven) {
  tuning_.edit_contribution = [](const federation::Contribution& own,
                                 const federation::ClusterRounds&) {
    federation::Contribution edited = own;
    std::ranges::fill(edited.floats, 0.0F);
    edited.floats.front() = 0.25F;
    return edited;
  };
  Start();
  AddText(0, kDocument, kGiven, privacy::v1::SHARING_TIER_PUBLIC);
  GrantOn(0, privacy::v1::SHARING_TIER_PUBLIC);
  cluster::v1::RoundsStatus rounds;
  ASSERT_TRUE(WaitUntil([&] {
    rounds = RoundsOf(0);
    return rounds.parts_size() == 1;
  })) << rounds.DebugString();
  EXPECT_EQ(rounds.parts(0).origin(), StatusOf(0).node().id());
  EXPECT_FLOAT_EQ(rounds.parts(0).norm(), 0.25F);
}

// The noise would hide what two nodes with few lessons learn, so nothing is charged and nothing
// leaves.
TEST_F(NodeRoundsTest, UnderDpTooFewLessonsAreRefusedWithTheFigures) {
  config_.federation.contributions = "gradient";
  Start();
  AddText(0, kDocument, kGiven, privacy::v1::SHARING_TIER_DP);
  GrantOn(0, privacy::v1::SHARING_TIER_DP);
  // New lessons wait for the next round.
  EXPECT_TRUE(WaitUntil([&] { return RoundsOf(0).refusal_reason() == reasons::kSignalTooWeak; }))
      << RoundsOf(0).refusal();
  EXPECT_EQ(RoundsOf(0).contributions(), 0U);
}

TEST_F(NodeRoundsTest, ATierThatThePlanDoesNotServeIsRefusedWithTheRemedy) {
  Start();
  privacy::v1::SetConsentRequest request;
  request.set_tier(privacy::v1::SHARING_TIER_MASKED);
  const auto answer = ClientOf(0).Call<privacy::v1::SetConsentResponse>(request);
  EXPECT_THAT(answer.status().ToString(), HasSubstr("set it to \"gradient\" on all nodes"));
}

// Lines of a file of short lessons: about ships, or letters that say nothing.
std::string ShortLessons(size_t count, bool nonsense) {
  Random random(7);
  std::string lines;
  for (size_t i = 0; i < count; ++i) {
    std::string text =
        fmt::format("The keeper of house {} counted {} ships every evening and wrote their names.",
                    i, random.Below(90));
    for (char& letter : text) {
      if (nonsense && letter != ' ') {
        letter = static_cast<char>('a' + random.Below(26));
      }
    }
    lines += fmt::format("{{\"text\": \"{}\"}}\n", text);
  }
  return lines;
}

// Returns the parts of the newest combined round by node; empty unless all have three judges.
using Parts = std::map<std::string, cluster::v1::RoundPart>;
Parts JudgedParts(const cluster::v1::RoundsStatus& rounds) {
  Parts parts;
  for (const cluster::v1::RoundPart& part : rounds.parts()) {
    if (part.judges() < 3) {
      return {};
    }
    parts[part.origin()] = part;
  }
  return parts;
}

// The default rule finds the node whose contributions point against those of the others, and the
// status of every node names it.
TEST_F(NodeRoundsTest, AMemberThatGivesTheOppositeIsLeftOutAndNamed) {
  tuning_.edit_contribution = [](const federation::Contribution& own,
                                 const federation::ClusterRounds&) {
    federation::Contribution lie = own;
    std::ranges::transform(lie.floats, lie.floats.begin(), [](float value) { return -3 * value; });
    return lie;
  };
  config_.federation.round_seconds = 12;  // five nodes train at a time
  Start();
  tuning_.edit_contribution = nullptr;
  for (int i = 0; i < 4; ++i) {
    StartOther();
  }
  for (size_t node = 0; node < 5; ++node) {
    AddText(node, kDocument, kGiven, privacy::v1::SHARING_TIER_PUBLIC);
    GrantOn(node, privacy::v1::SHARING_TIER_PUBLIC);
  }
  const std::string liar = StatusOf(0).node().id();
  cluster::v1::RoundsStatus rounds;
  EXPECT_TRUE(WaitUntil([&] {
    rounds = RoundsOf(1);
    return rounds.parts_size() == 5 &&
           std::ranges::any_of(rounds.parts(), [&](const cluster::v1::RoundPart& part) {
             return part.origin() == liar && part.left_out();
           });
  })) << rounds.DebugString();
  EXPECT_EQ(std::ranges::count_if(rounds.parts(), &cluster::v1::RoundPart::left_out), 1);
}

// Under the other strategies all nodes would have the weight 1, whatever they learned from.
TEST_F(NodeRoundsTest, UnderQualityANodeThatLearnsFromNonsenseCountsLess) {
  config_.federation.strategy = "quality";
  std::ofstream(config_.learning.general_text) << Document("glossary.md", 0, 5000);
  config_.federation.round_seconds = 12;  // four nodes train and judge at a time
  Start();
  EXPECT_TRUE(RoundsOf(0).counts_verdicts());
  EXPECT_TRUE(WaitUntil([&] {
    return RoundsOf(0).verdict_refusal_reason() == reasons::kConsentMissing;
  })) << "without consent no verdict leaves, and the status says so";
  for (int i = 0; i < 3; ++i) {
    StartOther();
  }
  constexpr size_t kBad = 3;
  for (size_t node = 0; node < 4; ++node) {
    AddTextOf(AddressOf(node), "short.jsonl", ShortLessons(64, node == kBad),
              privacy::v1::SHARING_TIER_PUBLIC);
    GrantOn(node, privacy::v1::SHARING_TIER_PUBLIC);
  }
  Parts parts;
  cluster::v1::RoundsStatus rounds;
  ASSERT_TRUE(WaitUntil([&] {
    rounds = RoundsOf(0);
    parts = JudgedParts(rounds);
    return parts.size() == 4;
  })) << rounds.DebugString()
      << RoundsOf(kBad).DebugString();
  const std::string bad = StatusOf(kBad).node().id();
  ASSERT_TRUE(parts.contains(bad)) << rounds.DebugString();
  for (const auto& [node, part] : parts) {
    if (node != bad) {
      EXPECT_GT(part.weight(), 2 * parts[bad].weight()) << rounds.DebugString();
    }
  }
  EXPECT_EQ(rounds.verdicts(), 4U);
  EXPECT_GE(rounds.last_verdict_round(), rounds.combined_round());
  EXPECT_EQ(rounds.combined_step(), 1) << "all four contributed, so there was a quorum";
  EXPECT_GT(rounds.last_judged(), 0U);
  EXPECT_GE(rounds.last_verdict_lessons(), 5U);
  // All members agree on what the verdicts made of the rounds.
  EXPECT_TRUE(WaitUntil([&] {
    const cluster::v1::RoundsStatus a = RoundsOf(0);
    const cluster::v1::RoundsStatus b = RoundsOf(kBad);
    return a.state_round() == b.state_round() && a.state_digest() == b.state_digest();
  }));
}

// Nodes with other plans stay members of one cluster, and each learns by itself.
TEST_F(NodeRoundsTest, NodesOfOtherBanksLearnApart) {
  Start();
  StartOther([](config::NodeConfig& config) { config.experimental.banks = 2; });
  AddText(1, kDocument, kGiven, privacy::v1::SHARING_TIER_PUBLIC);
  GrantOn(1, privacy::v1::SHARING_TIER_PUBLIC);
  ASSERT_TRUE(WaitUntil([&] { return RoundsOf(1).served_version() > 0; }))
      << RoundsOf(1).DebugString();
  EXPECT_EQ(RoundsOf(0).contributions(), 0U);
  EXPECT_NE(RoundsOf(0).plan_id(), RoundsOf(1).plan_id());
  EXPECT_EQ(RoundsOf(0).peers_agreeing() + RoundsOf(0).peers_differing(), 0U)
      << "states of different plans are not compared";
  EXPECT_EQ(Status().cluster().members_alive(), 2U);
}

}  // namespace
}  // namespace ruvd::node
