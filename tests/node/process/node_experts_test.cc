// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the exchange of experts over real links: what one node learned serves the visitors of
// another, as long as those who taught it agree, and a liar's expert never does.

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "federation/patterns/shared_expert.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/talora_file.h"
#include "node/client/client.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/inference/text_model.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

using google::protobuf::util::TimeUtil;

using testing::HasSubstr;

class NodeExpertsTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
    config_.federation.round_seconds = 3600;  // no round gets in the way
  }
  // Sentences that differ from each other and between topics.
  static std::string TextAbout(const std::string& topic) {
    std::string text = "# About " + topic + "\n\n";
    for (int i = 0; i < 60; ++i) {
      text += fmt::format(
          "The {} of house {} is checked on day {} and its keeper writes the result into the "
          "book. ",
          topic, i, i * 7 % 31);
    }
    return text;
  }
  static std::string Question(int house) {
    return fmt::format(
        "The pump of house {} is checked on day {} and its keeper writes the result into", house,
        house % 29);
  }
  // The first node learns a deep adapter of texts that may leave.
  void LearnOnTheFirstNode(const std::string& user = "") {
    std::string text;
    for (const std::string topic : {"boiler", "pump", "valve", "fan"}) {
      text += TextAbout(topic) + "\n\n";
    }
    AddTextOf(node_->api_address(), "rounds.md", text, privacy::v1::SHARING_TIER_PUBLIC, user);
    const auto result =
        client::NodeClient(node_->api_address()).RunDeep(learning::v1::RunDeepRequest());
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->outcome(), learning::v1::DEEP_OUTCOME_PUBLISHED);
  }
  // Users of a node ask such questions, and give no feedback.
  static void Visit(const Node& node, int questions) {
    for (int house = 100; house < 100 + questions; ++house) {
      inference::v1::GenerateResponse last;
      const auto stub = inference::v1::InferenceService::NewStub(
          grpc::CreateChannel(node.api_address(), grpc::InsecureChannelCredentials()));
      grpc::ClientContext context;
      const auto reader = stub->Generate(&context, Request(Question(house), 4));
      while (reader->Read(&last)) {
      }
      ASSERT_TRUE(reader->Finish().ok());
    }
  }
  // Returns what a node knows of the expert of the member with this id.
  static cluster::v1::ExpertStatus ExpertOf(const Node& seen_by, const std::string& member) {
    const auto response =
        client::NodeClient(seen_by.api_address())
            .Call<cluster::v1::ListMembersResponse>(cluster::v1::ListMembersRequest());
    EXPECT_TRUE(response.ok()) << response.status();
    for (const cluster::v1::Member& one : response->members()) {
      if (one.node_id() == member) {
        return one.expert();
      }
    }
    return {};
  }
  // Returns how many experts `ruvd privacy preview --tier public` shows.
  size_t ExpertsOfPreview() {
    privacy::v1::PreviewReleaseRequest request;
    request.set_tier(privacy::v1::SHARING_TIER_PUBLIC);
    const auto preview =
        client::NodeClient(node_->api_address()).Call<privacy::v1::PreviewReleaseResponse>(request);
    EXPECT_TRUE(preview.ok()) << preview.status();
    return static_cast<size_t>(
        std::ranges::count_if(preview->payloads(), [](const std::string& payload) {
          const auto expert = federation::DecodeSharedExpert(AsBytes(payload));
          return expert.ok() && federation::CheckSharedExpert(*expert).ok();
        }));
  }
  // Returns the loss of what the owner's texts say, as a node serves it.
  static double LossAt(const Node& node) {
    inference::v1::ScoreRequest request;
    request.set_prompt(Question(77));
    request.set_completion(" the book.");
    request.set_samples(16);
    request.set_seed(99);
    request.set_without_memory(true);
    const auto response =
        client::NodeClient(node.api_address()).Call<inference::v1::ScoreResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response->nats_per_token();
  }
  // Returns an expert that is noise and claims that its lessons have the words of the questions.
  federation::SharedExpert Poisoned() const {
    const auto model = inference::LoadModelPackage(config_.model.path).value().model;
    const std::string target = "blk.2.ffn_down.weight";
    auto talora = std::make_shared<inference::Talora>(*inference::StaticTalora(
        test::RandomAdapter(*model, {{target, inference::FindMatrix(*model, target)}}, 7)));
    inference::LessonWordCounter words;
    for (int house = 0; house < 400; ++house) {
      words.Add(model->tokenizer().EncodePrompt(Question(house) + " the book."));
    }
    talora->words = words.Finish();
    return {.version = 1,
            .lessons = 400,
            .created_ms = RecordingPeer::Now().wall_ms,
            .file = inference::SerializeTaloraFile(*talora, *model).value()};
  }
};

TEST_F(NodeExpertsTest, AnExpertServesAVisitorAndLeavesWithTheConsent) {
  Start();
  ASSERT_NO_FATAL_FAILURE(LearnOnTheFirstNode());
  const auto other = StartMember("other", [](config::NodeConfig& config) {
    config.learning.enabled = false;  // what serves is the peer's
  });
  ASSERT_NE(other, nullptr);
  ASSERT_NO_FATAL_FAILURE(Visit(*other, 6));
  const std::string first = node_->id();
  ASSERT_TRUE(WaitUntil(
      [&] { return ExpertOf(*node_, first).why().find("consent grant") != std::string::npos; }));
  EXPECT_EQ(ExpertsOfPreview(), 1U);
  const double before = LossAt(*other);
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*other, first).standing() == cluster::v1::EXPERT_STANDING_SERVING;
  })) << ExpertOf(*other, first).ShortDebugString()
      << ExpertOf(*node_, first).ShortDebugString();
  EXPECT_EQ(ExpertOf(*node_, first).standing(), cluster::v1::EXPERT_STANDING_OFFERED);
  EXPECT_LT(LossAt(*other), before - 0.1);
  Grant(privacy::v1::SHARING_TIER_PRIVATE);
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*other, first).standing() == cluster::v1::EXPERT_STANDING_UNSPECIFIED;
  }));
  EXPECT_EQ(LossAt(*other), before);
}

// A visitor's node that starts again has the expert among its items, and judges it again.
TEST_F(NodeExpertsTest, AVisitorsNodeJudgesAgainAfterARestart) {
  Start();
  ASSERT_NO_FATAL_FAILURE(LearnOnTheFirstNode());
  const auto with_no_learning = [](config::NodeConfig& config) { config.learning.enabled = false; };
  auto other = StartMember("other", with_no_learning);
  ASSERT_NE(other, nullptr);
  ASSERT_NO_FATAL_FAILURE(Visit(*other, 6));
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  const std::string first = node_->id();
  const auto serves = [&] {
    return ExpertOf(*other, first).standing() == cluster::v1::EXPERT_STANDING_SERVING;
  };
  ASSERT_TRUE(WaitUntil(serves));
  const double with_it = LossAt(*other);
  ASSERT_TRUE(other->Drain(kDrain).ok());
  other = nullptr;
  other = StartMember("other", with_no_learning);
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(WaitUntil(serves));
  EXPECT_EQ(LossAt(*other), with_it);
  ASSERT_TRUE(other->Drain(kDrain).ok());
  other = nullptr;
  other = StartMember("other", [](config::NodeConfig& config) {
    config.learning.enabled = false;
    config.federation.experts = false;
  });
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(ExpertOf(*other, first).standing(), cluster::v1::EXPERT_STANDING_UNSPECIFIED)
      << "the operator wants none";
  EXPECT_GT(LossAt(*other), with_it + 0.1);
}

TEST_F(NodeExpertsTest, AnExpertStaysHereWhileSomeoneInItDoesNotAgree) {
  Start();
  ASSERT_NO_FATAL_FAILURE(LearnOnTheFirstNode("ada"));
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  const std::string first = node_->id();
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*node_, first).why().find("may not leave") != std::string::npos;
  })) << ExpertOf(*node_, first).ShortDebugString();
  EXPECT_EQ(ExpertOf(*node_, first).standing(), cluster::v1::EXPERT_STANDING_NOT_OFFERED);
  EXPECT_EQ(ExpertsOfPreview(), 0U);
  privacy::v1::SetUserConsentRequest agree;
  agree.set_user_id("ada");
  agree.set_training(true);
  agree.set_sharing(true);
  agree.set_widest(privacy::v1::SHARING_TIER_PUBLIC);
  *agree.mutable_lifetime() = TimeUtil::HoursToDuration(30 * 24);
  ASSERT_TRUE(client::NodeClient(node_->api_address())
                  .Call<privacy::v1::SetUserConsentResponse>(agree)
                  .ok());
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*node_, first).standing() == cluster::v1::EXPERT_STANDING_OFFERED;
  })) << ExpertOf(*node_, first).ShortDebugString();
  Restart();
  EXPECT_EQ(ExpertOf(*node_, first).standing(), cluster::v1::EXPERT_STANDING_OFFERED)
      << "it is stored";
  learning::v1::WithdrawLessonsRequest withdraw;
  withdraw.set_user_id("ada");
  ASSERT_TRUE(client::NodeClient(node_->api_address())
                  .Call<learning::v1::WithdrawLessonsResponse>(withdraw)
                  .ok());
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*node_, first).standing() == cluster::v1::EXPERT_STANDING_NOT_OFFERED;
  })) << "her words are gone";
}

// Found by review: while learning was paused, the operator could not see what would leave.
TEST_F(NodeExpertsTest, APauseOfLearningHidesNotWhatWouldLeave) {
  Start();
  ASSERT_NO_FATAL_FAILURE(LearnOnTheFirstNode());
  ASSERT_TRUE(client::NodeClient(node_->api_address())
                  .Call<learning::v1::PauseLearningResponse>(learning::v1::PauseLearningRequest())
                  .ok());
  Restart();
  const std::string first = node_->id();
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*node_, first).why().find("consent grant") != std::string::npos;
  })) << ExpertOf(*node_, first).ShortDebugString();
}

// The liar's words are those of this node's visitors, so that all of them would get its noise.
TEST_F(NodeExpertsTest, ALiarsExpertCostsNothing) {
  Start();
  ASSERT_NO_FATAL_FAILURE(Visit(*node_, 6));
  const double before = LossAt(*node_);
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  RecordingPeer peer(ConfigOfPeer(config_, CertificateFor(key, "peer")), key);
  const federation::Instant now = RecordingPeer::Now();
  ASSERT_TRUE(
      peer.core()
          .SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, now.wall_ms, key),
                      now)
          .ok());
  const std::string id = ToHex(key.id());
  bool offered = false;
  const bool judged = peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2), [&] {
    if (!offered && peer.core().active_links() == 1) {
      offered = true;
      auto actions = peer.core().OfferExpert(Poisoned(), RecordingPeer::Now());
      EXPECT_TRUE(actions.ok()) << actions.status();
      peer.Perform(*std::move(actions));
    }
    return offered && ExpertOf(*node_, id).standing() == cluster::v1::EXPERT_STANDING_TEXTS_WORSE;
  });
  EXPECT_TRUE(judged) << ExpertOf(*node_, id).ShortDebugString();
  EXPECT_EQ(LossAt(*node_), before);
}

}  // namespace
}  // namespace ruvd::node
