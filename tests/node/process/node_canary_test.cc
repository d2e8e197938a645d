// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// No text of a user, no embedding of a text and nothing of the token memory is in any byte that a
// node sends, under the tiers private, dp and public.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "node/process/node_files.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/tokens/observed_store.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

constexpr char kCanaryPrompt[] = "The lighthouse keeper Zorvanthulex";
constexpr char kCanaryLesson[] = " buried the quixotrine ledger under the seventh stair.";

class NodeCanaryTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    // The peer reads what the node sends before TLS encrypts it.
    config_.federation.tls = "off";
    Start();
  }
  federation::GossipConfig PeerConfig() const {
    return ConfigOfPeer(config_, CertificateFor(peer_key_, "peer"));
  }
  void TeachCanary() {
    auto generate = Request(kCanaryPrompt, 8);
    generate.set_session_id("canary-session-5107");
    const Completion completion = GenerateLesson(generate);
    ASSERT_TRUE(completion.status.ok()) << completion.status;
    completion_ = completion.text;
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(completion.finished.response_id());
    request.set_edited_text(kCanaryLesson);
    learning::v1::SubmitFeedbackResponse response;
    ASSERT_TRUE(Rate(request, &response).ok());
    ASSERT_TRUE(response.learned()) << response.explanation();
  }
  std::vector<float> EmbeddingOf(const std::string& text) {
    const auto response = Embed({text});
    EXPECT_TRUE(response.ok()) << response.status();
    const auto& values = response->embeddings(0).values();
    return {values.begin(), values.end()};
  }
  // The bytes contain no piece of 8 bytes of a text, and no 4 consecutive values of the embedding.
  void ExpectNoCanary(std::string_view bytes) {
    for (const std::string_view text :
         {std::string_view(kCanaryPrompt), {kCanaryLesson}, {completion_}, {"canary-session"}}) {
      for (size_t at = 0; at + kTextPiece <= text.size(); ++at) {
        EXPECT_EQ(bytes.find(text.substr(at, kTextPiece)), std::string_view::npos)
            << "'" << text.substr(at, kTextPiece) << "' left the node";
      }
    }
    const std::vector<float> embedding = EmbeddingOf(kCanaryPrompt);
    ASSERT_GT(embedding.size(), kValues);
    size_t found = 0;
    for (size_t at = 0; at + kValues <= embedding.size(); ++at) {
      const std::string_view values(reinterpret_cast<const char*>(&embedding[at]),
                                    kValues * sizeof(float));
      found += bytes.find(values) != std::string_view::npos ? 1 : 0;
    }
    EXPECT_EQ(found, 0u) << "pieces of the prompt's embedding left the node";
  }

  // Stops the node, and looks for pieces of what its memory of tokens holds.
  void ExpectNoMemory(std::string_view bytes) {
    node_.reset();
    const auto files = OpenNodeFiles(config_, SystemClock());
    ASSERT_TRUE(files.ok()) << files.status();
    const auto database = OpenNodeStore(config_, *files->seal_source, SystemClock());
    ASSERT_TRUE(database.ok()) << database.status();
    std::vector<std::string> runs;
    size_t damaged = 0;
    ASSERT_TRUE(storage::ObservedStore(**database)
                    .ForEach(
                        [&](const storage::ObservedLesson& lesson) {
                          runs.push_back(lesson.masked);
                          runs.push_back(lesson.causal);
                          return true;
                        },
                        &damaged)
                    .ok());
    std::unordered_set<std::string_view> pieces;
    for (const std::string& run : runs) {
      for (size_t at = 0; at + kMemoryPiece <= run.size(); at += kMemoryPiece) {
        const std::string_view piece = std::string_view(run).substr(at, kMemoryPiece);
        if (std::set<char>(piece.begin(), piece.end()).size() > kMemoryPiece / 2) {
          pieces.insert(piece);
        }
      }
    }
    ASSERT_GT(pieces.size(), 100U) << "the lesson was remembered";
    const auto found = [&pieces](std::string_view in) {
      size_t count = 0;
      for (size_t at = 0; at + kMemoryPiece <= in.size(); ++at) {
        count += pieces.contains(in.substr(at, kMemoryPiece)) ? 1 : 0;
      }
      return count;
    };
    ASSERT_GT(found("frame" + runs.front()), 0U) << "what left would be found";
    EXPECT_EQ(found(bytes), 0U) << "pieces of the memory left the node";
  }
  bool Remembers() {
    return WaitUntil(
        [this] { return Status().memory().lessons() > 0 && Status().memory().waiting() == 0; });
  }

  static constexpr size_t kMemoryPiece = 16;
  static constexpr size_t kTextPiece = 8;
  static constexpr size_t kValues = 4;
  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  std::string completion_;
};

TEST_F(NodeCanaryTest, UnderTheTierPrivateNothingOfALessonLeaves) {
  TeachCanary();
  ASSERT_TRUE(Remembers());
  RecordingPeer peer(PeerConfig(), peer_key_);
  // This is long enough for a reconciliation, which would ask for items.
  peer.TakePartUntil(node_->federation_address(), std::chrono::seconds(4), [] { return false; });
  EXPECT_FALSE(peer.received().empty());
  EXPECT_TRUE(peer.accepted().empty());
  ExpectNoCanary(peer.received());
  ExpectNoMemory(peer.received());
}

TEST_F(NodeCanaryTest, UnderTheTierDpANoisedContributionLeavesAndNoWordOfIt) {
  AllowReleases();
  Restart();
  TeachCanary();
  AddManyTexts(privacy::v1::SHARING_TIER_DP);
  ASSERT_TRUE(Remembers());
  Grant(privacy::v1::SHARING_TIER_DP);
  RecordingPeer peer(PeerConfig(), peer_key_);
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2),
                                 [&peer] { return !peer.accepted().empty(); }));
  EXPECT_EQ(peer.accepted()[0].kind, federation::ItemKind::kContribution);
  EXPECT_NE(peer.received().find(*peer.accepted()[0].payload), std::string::npos)
      << "what was recorded is what was sent";
  ExpectNoCanary(peer.received());
  EXPECT_EQ(Release().releases(), 1U);
  ExpectNoMemory(peer.received());
}

TEST_F(NodeCanaryTest, APatternOfTooFewLessonsStaysAndNoWordOfThemLeaves) {
  config_.privacy.public_examples = 10;
  Restart();
  TeachCanary();
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  RecordingPeer peer(PeerConfig(), peer_key_);
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2),
                                 [&peer] { return !peer.accepted().empty(); }));
  for (const federation::Item& item : peer.accepted()) {
    EXPECT_EQ(item.kind, federation::ItemKind::kContribution)
        << "a pattern of one lesson is its prompt";
  }
  ExpectNoCanary(peer.received());
}

// Under the tier public patterns and contributions leave, but the memory does not.
TEST_F(NodeCanaryTest, TheMemoryOfTokensLeavesUnderNoTier) {
  TeachCanary();
  ASSERT_TRUE(Remembers());
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  RecordingPeer peer(PeerConfig(), peer_key_);
  const auto accepted = [&peer](federation::ItemKind kind) {
    return std::ranges::count(peer.accepted(), kind, &federation::Item::kind) > 0;
  };
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2), [&] {
    return accepted(federation::ItemKind::kPattern) &&
           accepted(federation::ItemKind::kContribution);
  }));
  ExpectNoMemory(peer.received());
}

// The search can find what it looks for: as consent to the tier public covers, the embedding of the
// prompt leaves with the first lesson.
TEST_F(NodeCanaryTest, ThePatternOfOneLessonIsItsPromptsEmbedding) {
  TeachCanary();
  Grant(privacy::v1::SHARING_TIER_PUBLIC);
  RecordingPeer peer(PeerConfig(), peer_key_);
  const auto pattern_of = [&peer]() -> std::optional<federation::SharedPattern> {
    for (const federation::Item& item : peer.accepted()) {
      if (item.kind == federation::ItemKind::kPattern) {
        return federation::DecodeSharedPattern(AsBytes(*item.payload)).value();
      }
    }
    return std::nullopt;
  };
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2),
                                 [&] { return pattern_of().has_value(); }));
  const std::vector<float> centroid = pattern_of()->centroid;
  const std::vector<float> embedding = EmbeddingOf(kCanaryPrompt);
  ASSERT_EQ(centroid.size(), embedding.size());
  for (size_t i = 0; i < centroid.size(); ++i) {
    EXPECT_NEAR(centroid[i], embedding[i], 1e-5);
  }
  EXPECT_NE(peer.received().find(std::string_view(reinterpret_cast<const char*>(centroid.data()),
                                                  centroid.size() * sizeof(float))),
            std::string::npos);
}

}  // namespace
}  // namespace ruvd::node
