// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Honest nodes may pass on copies and items that other nodes signed; no node is blamed for that.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "federation/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::IsEmpty;

class Blame : public testing::Test {
 protected:
  // Returns a second manifest of the first peer under the number of `first`, with another payload.
  privacy::Envelope Second(TestPeer& signer, const privacy::Envelope& first,
                           const std::string& payload) {
    federation::Sealer again(signer.local(),
                             EntropyOf(5));  // numbers from 1 again in the same boot
    const auto header = *privacy::ParseHeader(AsBytes(first.header));
    return *again.Seal(header.purpose, header.body_type, header.round,
                       signer.Manifest(federation::ItemKind::kPattern, payload).body,
                       header.created_ms, header.expires_ms);
  }
  Answers Tick() {
    Answers answers;
    answers.Add(target_.core().OnTick(target_.now()));
    return answers;
  }

  CoreUnderTest target_;
  TestPeer first_{target_, 1, 7};
  TestPeer second_{target_, 2, 8};
  const std::string payload_ = federation::EncodeSharedPattern(PatternOf(1));
};

// Found by: world --nodes 20 --seeds 1..1 --byzantine none --loss 0 --faults asymmetric-partition
TEST_F(Blame, AManifestWhoseTransferWasGivenUpIsTakenFromAnotherNode) {
  ASSERT_EQ(first_.Dial().closed, "");
  ASSERT_EQ(second_.Dial().closed, "");
  const privacy::Envelope envelope = first_.Manifest(federation::ItemKind::kPattern, payload_);
  ASSERT_NE(first_.Push(envelope).Find(WireFrame::kChunkRequest), nullptr);
  target_.core().OnLinkClosed(first_.link(), target_.now());
  Tick();
  const Answers again = second_.Push(envelope);
  EXPECT_THAT(again.refused, IsEmpty());
  EXPECT_EQ(second_.Serve(again, payload_).accepted.size(), 1U);
}

TEST_F(Blame, AManifestForWhichThereWasNoRoomIsTakenLater) {
  ASSERT_EQ(first_.Dial().closed, "");
  ASSERT_EQ(second_.Dial().closed, "");
  for (size_t i = 0; i < limits::kMaxTransfers; ++i) {
    first_.Push(first_.Manifest(federation::ItemKind::kPattern,
                                federation::EncodeSharedPattern(PatternOf(100 + i))));
  }
  const privacy::Envelope envelope = first_.Manifest(federation::ItemKind::kPattern, payload_);
  EXPECT_THAT(first_.Push(envelope).refused, IsEmpty());
  target_.core().OnLinkClosed(first_.link(), target_.now());
  Tick();
  const Answers again = second_.Push(envelope);
  EXPECT_THAT(again.refused, IsEmpty());
  EXPECT_EQ(second_.Serve(again, payload_).accepted.size(), 1U);
}

// Found by: world --nodes 30 --seeds 1..3 --byzantine equivocator:0.45 --loss 0.05
TEST_F(Blame, TheSecondItemUnderOneNumberIsNotBlamedOnWhoPassesItOn) {
  const privacy::Envelope one = first_.Manifest(federation::ItemKind::kPattern, payload_);
  const privacy::Envelope two = Second(first_, one, federation::EncodeSharedPattern(PatternOf(2)));
  ASSERT_EQ(second_.Dial().closed, "");
  second_.Serve(second_.Push(one), payload_);
  for (int i = 0; i < 64; ++i) {
    const Answers answers = second_.Push(two);
    EXPECT_EQ(answers.closed, "");
    EXPECT_THAT(answers.accepted, IsEmpty());
  }
  EXPECT_EQ(target_.Refused(reasons::kReplayed), 0U);
  EXPECT_GT(target_.Refused(reasons::kEquivocation), 0U);
}

// A node that comes back after a long time asks one peer for as many manifests as it may: the
// answers do not count as a flood of that peer.
TEST_F(Blame, TheAnswersToItsOwnRequestsAreNoFlood) {
  ASSERT_EQ(first_.Dial().closed, "");
  std::map<std::string, privacy::Envelope> held;
  std::vector<std::string> asked;
  const auto note = [&](const Answers& answers) {
    for (const WireFrame& frame : answers.frames) {
      asked.insert(asked.end(), frame.i_want().ids().begin(), frame.i_want().ids().end());
    }
  };
  for (size_t i = 0; i < 5; ++i) {
    WireFrame have;
    for (size_t j = 0; j < limits::kMaxIdsPerFrame; ++j) {
      const privacy::Envelope envelope = first_.Manifest(federation::ItemKind::kPattern, payload_);
      held[std::string(AsText(privacy::MessageId(envelope)))] = envelope;
      have.mutable_i_have()->add_ids(std::string(AsText(privacy::MessageId(envelope))));
    }
    note(first_.Send(have));
  }
  size_t answered = 0;
  for (int tick = 0; tick < 40; ++tick) {
    EXPECT_LE(asked.size(), limits::kMaxTransfers / 2);
    for (const std::string& id : std::exchange(asked, {})) {
      const Answers answers = first_.Push(held.at(id));
      ASSERT_EQ(answers.closed, "");
      note(answers);
      ++answered;
    }
    target_.Advance(std::chrono::milliseconds(250));
    note(Tick());
  }
  EXPECT_EQ(answered, limits::kMaxTransfers / 2);  // no node sends payloads, so no room is freed
  EXPECT_EQ(target_.Refused(reasons::kLimitExceeded), 0U);
}

// Found by: world --nodes 20 --seeds 1..60 --byzantine none --loss 0 --faults duplication
TEST_F(Blame, ARepeatedFrameOfTheOpeningIsNoOffence) {
  federation::Handshake handshake(first_.local(), /*dialed=*/true, federation::Handshake::Nonce{1});
  federation::CertificateStore certificates(Authority().public_key());
  const auto deliver = [&](const WireFrame& frame) {
    Answers answers = first_.Send(frame);
    const Answers copy = first_.Send(frame);
    EXPECT_EQ(copy.closed, "");
    EXPECT_THAT(copy.refused, IsEmpty());
    EXPECT_THAT(copy.frames, IsEmpty());
    return answers;
  };
  target_.core().OnLinkOpened(first_.link(), "", target_.now());
  const Answers answers = deliver(handshake.Hello());
  ASSERT_NE(answers.Find(WireFrame::kHelloAck), nullptr);
  deliver(**handshake.OnFrame(*answers.Find(WireFrame::kHelloAck), certificates,
                              target_.now().wall_ms));
  EXPECT_EQ(target_.core().active_links(), 1U);
  EXPECT_THAT(first_.Send(handshake.Hello()).refused, IsEmpty());
}

TEST_F(Blame, ARepeatedAnswerToTheOpeningIsNoOffence) {
  Answers answers;
  answers.Add(target_.core().OnLinkOpened(first_.link(), "peer:1", target_.now()));
  federation::Handshake listener(first_.local(), /*dialed=*/false, federation::Handshake::Nonce{1});
  federation::CertificateStore certificates(Authority().public_key());
  ASSERT_NE(answers.Find(WireFrame::kHello), nullptr);
  const auto ack =
      listener.OnFrame(*answers.Find(WireFrame::kHello), certificates, target_.now().wall_ms);
  ASSERT_TRUE(ack.ok());
  first_.Send(**ack);
  EXPECT_EQ(target_.core().active_links(), 1U);
  EXPECT_THAT(first_.Send(**ack).refused, IsEmpty());
}

}  // namespace
}  // namespace ruvd::test
