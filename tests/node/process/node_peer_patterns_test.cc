// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node does with the patterns of a peer, over a real link and the served path.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "federation/limits.h"
#include "node/reasons.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"
#include "tests/node/shared_core.h"

namespace ruvd::node {
namespace {

constexpr char kKeeper[] = "The lighthouse keeper";

class NodePeerPatternsTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
    config_.learning.enabled = false;  // what serves is the peer's
    Start();
    shared_ = std::make_unique<test::SharedPatterns>(
        inference::LoadModelPackage(config_.model.path).value().model);
    peer_ = std::make_unique<RecordingPeer>(
        ConfigOfPeer(config_, CertificateFor(peer_key_, "peer")), peer_key_);
    const federation::Instant now = RecordingPeer::Now();
    ASSERT_TRUE(peer_->core()
                    .SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic,
                                                             now.wall_ms, peer_key_),
                                now)
                    .ok());
  }
  // Returns a pattern that helps with what the keeper does.
  federation::SharedPattern Good(uint8_t id) {
    return shared_->Learned(id, kKeeper, kLesson, RecordingPeer::Now().wall_ms);
  }
  // Stores corrected completions that judge, without learning them.
  void AddJudges(int count) {
    while (count > 0) {
      const Completion completion = Generate(Request(kKeeper, 8));
      ASSERT_TRUE(completion.status.ok()) << completion.status;
      if (!learning::IsEvaluationLesson(completion.finished.response_id())) {
        continue;
      }
      learning::v1::SubmitFeedbackRequest request;
      request.set_response_id(completion.finished.response_id());
      request.set_edited_text(kLesson);
      learning::v1::SubmitFeedbackResponse response;
      ASSERT_TRUE(Rate(request, &response).ok());
      --count;
    }
  }
  std::optional<pattern::v1::Pattern> Find(uint8_t id) {
    pattern::v1::GetPatternRequest request;
    request.set_id(ToHex(storage::PatternId{id}));
    pattern::v1::GetPatternResponse response;
    grpc::ClientContext context;
    const auto status =
        pattern::v1::PatternService::NewStub(channel_)->GetPattern(&context, request, &response);
    return status.ok() ? std::optional(response.pattern()) : std::nullopt;
  }
  bool HasStanding(uint8_t id, pattern::v1::PatternStanding standing) {
    const auto found = Find(id);
    return found && found->standing() == standing;
  }
  cluster::v1::PeerPatternStatus StatusOfPeer() {
    cluster::v1::ListMembersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(cluster::v1::ClusterService::NewStub(channel_)
                    ->ListMembers(&context, cluster::v1::ListMembersRequest(), &response)
                    .ok());
    for (const cluster::v1::Member& member : response.members()) {
      if (member.node_id() == ToHex(peer_key_.id())) {
        return member.patterns();
      }
    }
    return {};
  }
  // The peer links, offers a pattern and stays until the node has decided as expected.
  bool OfferUntil(const federation::SharedPattern& pattern, const std::function<bool()>& decided) {
    bool offered = false;
    return peer_->TakePartUntil(node_->federation_address(), std::chrono::minutes(2), [&] {
      if (!offered && peer_->core().active_links() == 1) {
        offered = true;
        auto actions = peer_->core().OfferPattern(pattern, RecordingPeer::Now());
        EXPECT_TRUE(actions.ok()) << actions.status();
        if (actions.ok()) {
          peer_->Perform(*std::move(actions));
        }
      }
      return offered && decided();
    });
  }
  bool OfferUntil(const federation::SharedPattern& pattern, pattern::v1::PatternStanding expected) {
    return OfferUntil(pattern, [&] { return HasStanding(pattern.id[0], expected); });
  }
  bool Uses(const Completion& completion, uint8_t id) const {
    return std::ranges::any_of(completion.started.adapters(), [&](const auto& use) {
      return use.pattern_id() == ToHex(storage::PatternId{id});
    });
  }

  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  std::unique_ptr<test::SharedPatterns> shared_;
  std::unique_ptr<RecordingPeer> peer_;
};

// It claims the highest quality and lies near this node's lessons, which it makes worse.
TEST_F(NodePeerPatternsTest, WhatHarmsOwnLessonsNeverServesAndWhatHelpsThemDoes) {
  ASSERT_NO_FATAL_FAILURE(AddJudges(2));
  const double before = Score(kKeeper, kLesson, true);
  const federation::SharedPattern good = Good(1);
  federation::SharedPattern bad = test::SharedPatterns::Times(good, -1);
  bad.id = {2};
  ASSERT_TRUE(OfferUntil(bad, pattern::v1::PATTERN_STANDING_LESSONS_WORSE));
  EXPECT_EQ(Score(kKeeper, kLesson, true), before);
  EXPECT_FALSE(Uses(Generate(Request(kKeeper, 8)), 2));
  EXPECT_EQ(Find(2)->uses(), 0U);
  EXPECT_TRUE(Find(2)->adapter_name().empty());
  ASSERT_TRUE(OfferUntil(good, pattern::v1::PATTERN_STANDING_SERVING));
  EXPECT_LT(Score(kKeeper, kLesson, true), before);
  EXPECT_TRUE(Uses(Generate(Request(kKeeper, 8)), 1));
  const cluster::v1::PeerPatternStatus status = StatusOfPeer();
  EXPECT_EQ(status.offered(), 2U);
  EXPECT_EQ(status.taken(), 1U);
  EXPECT_EQ(status.on_trial() + status.deferred() + status.fetching(), 0U);
  EXPECT_FALSE(status.has_lag());
  ASSERT_EQ(status.refused_size(), 1);
  EXPECT_EQ(status.refused().at(reasons::kPatternLessonsWorse), 1U);
  Restart();
  EXPECT_FALSE(Uses(Generate(Request(kKeeper, 8)), 2));
  EXPECT_LT(Score(kKeeper, kLesson, true), before);
}

// The main use: the node knows nothing of the domain.
TEST_F(NodePeerPatternsTest, WithoutLessonsNearItGeneralTextDecides) {
  const double before = Score(kKeeper, kLesson, true);
  const federation::SharedPattern good = Good(1);
  federation::SharedPattern astray = good;  // it lies where it learned nothing
  astray.id = {2};
  astray.centroid = shared_->EmbeddingOfGeneralText();
  ASSERT_TRUE(OfferUntil(astray, pattern::v1::PATTERN_STANDING_GENERAL_TEXT_WORSE));
  EXPECT_EQ(Score(kKeeper, kLesson, true), before);
  ASSERT_TRUE(OfferUntil(good, pattern::v1::PATTERN_STANDING_SERVING));
  EXPECT_LT(Score(kKeeper, kLesson, true), before);
}

TEST_F(NodePeerPatternsTest, WhatUsersRateBadlyIsDroppedAndNotBackAfterARestart) {
  const double before = Score(kKeeper, kLesson, true);
  federation::SharedPattern pattern = Good(1);
  ASSERT_TRUE(OfferUntil(pattern, pattern::v1::PATTERN_STANDING_SERVING));
  for (int i = 0; i < 6; ++i) {
    const Completion completion = Generate(Request(kKeeper, 8));
    ASSERT_TRUE(Uses(completion, 1));
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(completion.finished.response_id());
    request.set_rating(0);
    learning::v1::SubmitFeedbackResponse response;
    ASSERT_TRUE(Rate(request, &response).ok());
  }
  ASSERT_TRUE(WaitUntil([&] { return HasStanding(1, pattern::v1::PATTERN_STANDING_RATED_BADLY); }));
  EXPECT_EQ(Score(kKeeper, kLesson, true), before);
  Restart();
  EXPECT_EQ(Score(kKeeper, kLesson, true), before);
  ++pattern.created_ms;
  ASSERT_TRUE(OfferUntil(pattern, [&] {
    return Status().cluster().refused_envelopes().contains(reasons::kPatternRatedBadly);
  })) << "a newer version";
  EXPECT_TRUE(HasStanding(1, pattern::v1::PATTERN_STANDING_RATED_BADLY));
  EXPECT_EQ(Score(kKeeper, kLesson, true), before);
}

// Each valid pattern used to cost a write, up to two fsyncs and a tombstone, as often as its member
// liked.
TEST_F(NodePeerPatternsTest, AMemberThatLearnsWithoutAnEndHasABudget) {
  federation::SharedPattern pattern;
  pattern.task = "chat";
  pattern.quality = 1;
  pattern.examples = 100;
  pattern.centroid = shared_->EmbeddingOfGeneralText();
  uint32_t offered = 0;
  const auto refused = [&] {
    return Status().cluster().refused_envelopes().contains("OVER_BUDGET");
  };
  TimePoint next{};
  const auto flood = [&] {
    if (RecordingPeer::Now().now < next || peer_->core().active_links() == 0) {
      return false;
    }
    next = RecordingPeer::Now().now + std::chrono::milliseconds(500);
    for (int i = 0; i < 25; ++i) {  // few enough for the frames of a link
      ++offered;
      std::memcpy(pattern.id.data(), &offered, sizeof(offered));
      pattern.created_ms = RecordingPeer::Now().wall_ms;
      auto actions = peer_->core().OfferPattern(pattern, RecordingPeer::Now());
      EXPECT_TRUE(actions.ok()) << actions.status();
      peer_->Perform(*std::move(actions));
    }
    return refused();
  };
  ASSERT_TRUE(peer_->TakePartUntil(node_->federation_address(), std::chrono::minutes(3), flood));
  const node::v1::GetStatusResponse status = Status();
  EXPECT_EQ(status.patterns().stored(), limits::kMaxPatternsPerOrigin);
  EXPECT_GE(status.cluster().accepted_items().at("pattern"), limits::kMaxPatternsPerOrigin);
  EXPECT_LT(status.cluster().accepted_items().at("pattern"),
            2 * limits::kMaxPatternsPerOrigin + 100);
  EXPECT_EQ(status.node().state(), node::v1::NODE_STATE_SERVING);
  EXPECT_TRUE(Generate(Request(kKeeper, 8)).status.ok());
}

}  // namespace
}  // namespace ruvd::node
