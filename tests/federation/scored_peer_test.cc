// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a core does about the conduct of one peer: scores as others see them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "base/reasons.h"
#include "federation/membership/peer_scores.h"
#include "federation/membership/score_limits.h"
#include "federation/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// A peer of a core: it answers pings; the test decides everything else.
class ScoredPeer : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(peer_.Dial().closed, "");
    Graft();
  }
  Answers Graft() {
    WireFrame frame;
    frame.mutable_graft();
    return peer_.Send(frame);
  }
  // Lets a second pass and returns what the core did in it.
  Answers Second() {
    target_.Advance(seconds(1));
    Answers answers;
    answers.Add(target_.core().OnTick(target_.now()));
    for (size_t i = 0; i < answers.frames.size(); ++i) {
      if (answers.frames[i].has_ping()) {
        WireFrame ack;
        ack.mutable_ack()->set_seq(answers.frames[i].ping().seq());
        answers.Add(target_.core().OnFrame(peer_.link(), ack, target_.now()));
      }
    }
    return answers;
  }
  void Announce() {
    WireFrame frame;
    frame.mutable_i_have()->add_ids(std::string(AsText(Sha256(std::to_string(++announced_)))));
    peer_.Send(frame);
  }
  Answers Flood() {
    WireFrame frame;
    frame.mutable_nack();
    Answers answers;
    while (answers.closed.empty()) {
      answers = peer_.Send(frame);
    }
    return answers;
  }
  double Score() { return target_.core().ScoreOf(peer_.key().id()); }

  CoreUnderTest target_;
  TestPeer peer_{target_, 1, 7};
  int announced_ = 0;
};

TEST_F(ScoredPeer, WhoAnnouncesAndNeverDeliversIsPrunedThenKeptOut) {
  ASSERT_THAT(target_.core().MeshPeers(), ElementsAre(peer_.key().id()));
  bool pruned = false;
  Answers last;
  for (int second = 0; second < 60 && last.closed.empty(); ++second) {
    Announce();
    last = Second();
    pruned = pruned || last.Find(WireFrame::kPrune) != nullptr;
  }
  EXPECT_TRUE(pruned);
  EXPECT_EQ(last.closed, reasons::kGraylisted);
  EXPECT_THAT(target_.core().Graylisted(), ElementsAre(peer_.key().id()));
  EXPECT_EQ(peer_.Dial().closed, reasons::kGraylisted);
  target_.Advance(limits::kGraylistTime);
  target_.core().OnTick(target_.now());
  EXPECT_EQ(peer_.Dial().closed, "");
}

// Regression test: any chunk of an item kept the promise of all of them.
TEST_F(ScoredPeer, AChunkThatNobodyAskedForKeepsNoPromise) {
  for (uint64_t i = 0; i < 3; ++i) {
    const std::string payload = federation::EncodeSharedPattern(PatternOf(i));
    const Answers asked = peer_.Push(peer_.Manifest(federation::ItemKind::kPattern, payload));
    ASSERT_NE(asked.Find(WireFrame::kChunkRequest), nullptr);
    WireFrame other =
        TestPeer::ChunkOf(asked.Find(WireFrame::kChunkRequest)->chunk_request(), payload);
    other.mutable_chunk()->set_index(5);
    peer_.Send(other);
    Second();
  }
  EXPECT_LT(Score(), 0);
}

// Regression test: a chunk that came after another peer had been faster was not checked.
TEST_F(ScoredPeer, ALateChunkIsCheckedToo) {
  TestPeer second(target_, 2, 8);
  ASSERT_EQ(second.Dial().closed, "");
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const privacy::Envelope envelope = peer_.Manifest(federation::ItemKind::kPattern, payload);
  const Answers asked = peer_.Push(envelope);
  ASSERT_NE(asked.Find(WireFrame::kChunkRequest), nullptr);
  second.Push(envelope);
  const WireFrame chunk =
      TestPeer::ChunkOf(asked.Find(WireFrame::kChunkRequest)->chunk_request(), payload);
  ASSERT_EQ(second.Send(chunk).accepted.size(), 1U);
  EXPECT_THAT(peer_.Send(chunk).refused, IsEmpty());
  EXPECT_EQ(Score(), 0);
  WireFrame wrong = chunk;
  wrong.mutable_chunk()->mutable_data()->back() ^= 1;
  EXPECT_THAT(peer_.Send(wrong).refused, ElementsAre(reasons::kUpdateInvalid));
  EXPECT_LT(Score(), 0);
}

// Regression test: the peer kept its link, and with it everything that it had promised.
TEST_F(ScoredPeer, WhoSpeaksAndAnswersNoPingLosesItsLink) {
  std::string closed;
  for (int second = 0; second < 30 && closed.empty(); ++second) {
    Announce();
    target_.Advance(seconds(1));
    Answers answers;
    answers.Add(target_.core().OnTick(target_.now()));
    closed = answers.closed;
  }
  EXPECT_EQ(closed, reasons::kDeadlineExceeded);
  EXPECT_EQ(Score(), 0);
}

// Regression test: such a request was not answered at all, so the node that asked waited and
// counted a broken promise.
TEST_F(ScoredPeer, WhoAsksForWhatWasDroppedIsTold) {
  std::vector<std::string> ids;
  for (uint64_t i = 0; i <= limits::kMaxPatternsPerOrigin; ++i) {
    const std::string payload = federation::EncodeSharedPattern(PatternOf(i));
    const privacy::Envelope envelope = peer_.Manifest(federation::ItemKind::kPattern, payload);
    peer_.Serve(peer_.Push(envelope), payload);
    ids.emplace_back(AsText(privacy::MessageId(envelope)));
    target_.Advance(milliseconds(1));
  }
  WireFrame want;
  want.mutable_i_want()->add_ids(ids.front());
  const Answers answers = peer_.Send(want);
  ASSERT_NE(answers.Find(WireFrame::kChunk), nullptr);
  EXPECT_TRUE(answers.Find(WireFrame::kChunk)->chunk().missing());
  EXPECT_EQ(answers.Find(WireFrame::kChunk)->chunk().item_id(), ids.front());
  want.mutable_i_want()->set_ids(0, std::string(AsText(Sha256("never here"))));
  EXPECT_THAT(peer_.Send(want).frames, IsEmpty());
}

// Found by world --nodes 20 --seeds 7..16: a flood of requests got seven times as many answers.
TEST_F(ScoredPeer, WhoAsksForWhatIsGoneAgainAndAgainGetsFewAnswers) {
  std::vector<privacy::Envelope> envelopes;
  for (uint64_t i = 0; i <= limits::kMaxPatternsPerOrigin; ++i) {
    const std::string payload = federation::EncodeSharedPattern(PatternOf(i));
    envelopes.push_back(peer_.Manifest(federation::ItemKind::kPattern, payload));
    peer_.Serve(peer_.Push(envelopes.back()), payload);
    target_.Advance(milliseconds(1));
  }
  WireFrame want;
  for (size_t i = 0; i < limits::kMaxIdsPerFrame; ++i) {
    want.mutable_i_want()->add_ids(std::string(AsText(privacy::MessageId(envelopes.front()))));
  }
  size_t answered = 0;
  for (int i = 0; i < 20; ++i) {
    answered += peer_.Send(want).frames.size();
  }
  EXPECT_EQ(answered, limits::kDenialBurst);
}

// A hundred items were withdrawn while this node asked for them.
TEST_F(ScoredPeer, WhatIsMissingTakesWhatWasEarnedAndNoMore) {
  for (uint64_t i = 0; i < 10; ++i) {
    const std::string payload = federation::EncodeSharedPattern(PatternOf(i));
    peer_.Serve(peer_.Push(peer_.Manifest(federation::ItemKind::kPattern, payload)), payload);
  }
  const double earned = Score();
  EXPECT_GT(earned, 0);
  for (int i = 0; i < 100; ++i) {
    WireFrame have;
    const std::string id(AsText(Sha256(std::to_string(++announced_))));
    have.mutable_i_have()->add_ids(id);
    const Answers asked = peer_.Send(have);
    ASSERT_NE(asked.Find(WireFrame::kIWant), nullptr);
    WireFrame missing;
    missing.mutable_chunk()->set_item_id(id);
    missing.mutable_chunk()->set_missing(true);
    EXPECT_THAT(peer_.Send(missing).refused, IsEmpty());
    peer_.Send(missing);  // the core has not asked again
    if (i % 10 == 0) {
      EXPECT_EQ(Second().closed, "");
    }
  }
  EXPECT_EQ(target_.core().counters().missing, 100U);
  EXPECT_LT(Score(), earned);
  EXPECT_GE(Score(), 0);
  EXPECT_THAT(target_.core().MeshPeers(), ElementsAre(peer_.key().id()));
}

TEST_F(ScoredPeer, WhoDeliversKeepsItsPlace) {
  for (uint64_t i = 0; i < 30; ++i) {
    const std::string payload = federation::EncodeSharedPattern(PatternOf(i));
    peer_.Serve(peer_.Push(peer_.Manifest(federation::ItemKind::kPattern, payload)), payload);
    EXPECT_EQ(Second().closed, "");
    EXPECT_GE(Score(), 0);
  }
  EXPECT_GT(Score(), 5);
  EXPECT_THAT(target_.core().MeshPeers(), ElementsAre(peer_.key().id()));
}

// A path that is slow, or lossy, or cut breaks no promise: nothing that was sent later is answered
// either.
TEST_F(ScoredPeer, WhoIsSlowIsNotBlamed) {
  for (int second = 0; second < 14; ++second) {
    Announce();
    target_.Advance(seconds(1));
    target_.core().OnTick(target_.now());
    EXPECT_GE(Score(), 0);
  }
  EXPECT_THAT(target_.core().MeshPeers(), ElementsAre(peer_.key().id()));
}

TEST_F(ScoredPeer, WhoFloodsTwiceIsKeptOut) {
  EXPECT_EQ(Flood().closed, reasons::kLimitExceeded);
  EXPECT_LT(Score(), 0);
  ASSERT_EQ(peer_.Dial().closed, "");
  EXPECT_NE(Graft().Find(WireFrame::kPrune), nullptr);
  Flood();
  EXPECT_EQ(peer_.Dial().closed, reasons::kGraylisted);
}

// The served path up to the owner's store: a core says when to store, and the next one takes it.
TEST_F(ScoredPeer, WhoIsKeptOutStaysOutAfterARestart) {
  size_t stored = 0;
  Flood();
  ASSERT_EQ(peer_.Dial().closed, "");
  Flood();
  federation::KeptScores kept;
  for (int second = 0; second < 60; ++second) {
    target_.Advance(seconds(1));
    for (const federation::Action& action : target_.core().OnTick(target_.now())) {
      if (std::holds_alternative<federation::ScoresChanged>(action)) {
        kept = target_.core().Scores(target_.now());
        ++stored;
      }
    }
  }
  EXPECT_GE(stored, 1U);
  EXPECT_LE(stored, 2U) << "stored by minutes, and once more for a peer that is newly kept out";
  CoreUnderTest again(3);
  again.core().RestoreScores(kept, again.now());
  TestPeer same(again, 1, 9);
  EXPECT_EQ(same.Dial().closed, reasons::kGraylisted);
  TestPeer other(again, 2, 10);
  EXPECT_EQ(other.Dial().closed, "");
}

// Regression test: the last record with a row stayed in the store, so after all rows had ended a
// restart of a machine that begins in 1970 kept the peer out once more.
TEST_F(ScoredPeer, WhoWasForgottenIsForgottenInTheStoreToo) {
  Flood();
  ASSERT_EQ(peer_.Dial().closed, "");
  Flood();
  federation::KeptScores kept;
  const auto pass = [&](Duration step) {
    target_.Advance(step);
    for (const federation::Action& action : target_.core().OnTick(target_.now())) {
      if (std::holds_alternative<federation::ScoresChanged>(action)) {
        kept = target_.core().Scores(target_.now());
      }
    }
  };
  pass(seconds(60));
  ASSERT_EQ(kept.graylistings.size(), 1U);
  for (int second = 0; second < 2 * 3600; ++second) {
    pass(seconds(1));
  }
  pass(limits::kGraylistMemory);
  pass(limits::kScoresStorePeriod);
  EXPECT_TRUE(kept.peers.empty());
  EXPECT_TRUE(kept.graylistings.empty());
}

TEST_F(ScoredPeer, AScoreSurvivesAReconnect) {
  privacy::Envelope bad =
      peer_.Manifest(federation::ItemKind::kPattern, federation::EncodeSharedPattern(PatternOf(1)));
  bad.signature[0] ^= 1;
  peer_.Push(bad);
  peer_.Push(bad);
  const double score = Score();
  EXPECT_LT(score, 0);
  target_.core().OnLinkClosed(peer_.link(), target_.now());
  ASSERT_EQ(peer_.Dial().closed, "");
  EXPECT_EQ(Score(), score);
  EXPECT_NE(Graft().Find(WireFrame::kPrune), nullptr);
  EXPECT_THAT(target_.core().MeshPeers(), IsEmpty());
}

TEST_F(ScoredPeer, GraftsDuringTheBackoffCountWhenThePruneMustHaveArrived) {
  WireFrame prune;
  prune.mutable_prune()->set_backoff_ms(60'000);
  peer_.Send(prune);
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(Graft().Find(WireFrame::kPrune), nullptr);  // the frames may have crossed
  }
  EXPECT_EQ(Score(), 0);
  for (int second = 0; second < 20; ++second) {
    Second();
  }
  for (int i = 0; i < 6; ++i) {
    Graft();
  }
  EXPECT_LT(Score(), 0);
}

}  // namespace
}  // namespace ruvd::test
