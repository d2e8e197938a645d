// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Everything that a wrong or hostile peer may send is refused, counted under its reason, and has no
// effect.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/reasons.h"
#include "federation/membership/member_record.h"
#include "federation/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string SomePayload(uint64_t seed = 1) {
  return EncodeSharedPattern(PatternOf(seed));
}

class BadPeer : public testing::Test {
 protected:
  // Opens a link that must be refused with `reason`; the peer is told, and the refusal is counted.
  void ExpectRefusedOpening(TestPeer& peer, const std::string& reason) {
    const Answers answers = peer.Dial();
    EXPECT_EQ(answers.closed, reason);
    EXPECT_THAT(answers.refused, ElementsAre(reason));
    const WireFrame* goaway = answers.Find(WireFrame::kGoaway);
    ASSERT_NE(goaway, nullptr);
    EXPECT_EQ(goaway->goaway().reason(), reason);
    EXPECT_FALSE(goaway->goaway().message().empty());
    EXPECT_EQ(target_.Refused(reason), 1U);
    EXPECT_EQ(target_.core().active_links(), 0U);
    EXPECT_EQ(target_.core().Members().size(), 1U);
  }
  // Sends a push that must be refused with `reason` and leave no trace.
  void ExpectRefusedPush(TestPeer& peer, const privacy::Envelope& envelope,
                         const std::string& reason) {
    const uint64_t before = target_.Refused(reason);
    const Answers answers = peer.Push(envelope);
    EXPECT_THAT(answers.refused, ElementsAre(reason));
    EXPECT_THAT(answers.frames, IsEmpty());
    EXPECT_EQ(target_.Refused(reason), before + 1);
    EXPECT_TRUE(target_.core().Items().empty());
    EXPECT_EQ(target_.core().active_links(), 1U);
  }

  CoreUnderTest target_;
};

// Every other version is refused by its name, also that of ruvd 0.1, which stated its versions in
// other fields.
TEST_F(BadPeer, AnotherProtocolVersionIsRefusedByName) {
  struct Case {
    uint32_t min = 0;
    uint32_t max = 0;
    std::string said;
  };
  federation::LinkId link = 20;
  for (const Case& other :
       {Case{.min = 2, .max = 2, .said = "speaks version 2 of"},
        Case{.min = 2, .max = 4, .said = "speaks versions 2 to 4 of"},
        Case{.min = 0, .max = 0, .said = "speaks the version of ruvd 0.1 of"}}) {
    TestPeer peer(target_, 1, ++link);
    WireFrame hello = peer.Hello();
    hello.mutable_hello()->set_version_min(other.min);
    hello.mutable_hello()->set_version_max(other.max);
    federation::Actions actions = target_.core().OnLinkOpened(link, "", target_.now());
    Answers answers;
    answers.Add(std::move(actions));
    answers = peer.Send(hello);
    EXPECT_EQ(answers.closed, reasons::kProtocolVersion);
    const WireFrame* goaway = answers.Find(WireFrame::kGoaway);
    ASSERT_NE(goaway, nullptr);
    EXPECT_EQ(goaway->goaway().reason(), reasons::kProtocolVersion);
    EXPECT_THAT(goaway->goaway().message(), HasSubstr(other.said));
    EXPECT_THAT(goaway->goaway().message(), HasSubstr("speaks version 1 only; update ruvd"));
  }
}

// A later program that still speaks version 1 is welcome.
TEST_F(BadPeer, ARangeOfVersionsThatHasThisOneIsNegotiated) {
  TestPeer peer(target_, 1, 7);
  WireFrame hello = peer.Hello();
  hello.mutable_hello()->set_version_max(limits::kProtocolVersion + 1);
  target_.core().OnLinkOpened(7, "", target_.now());
  const Answers answers = peer.Send(hello);
  ASSERT_NE(answers.Find(WireFrame::kHelloAck), nullptr);
  EXPECT_EQ(answers.Find(WireFrame::kHelloAck)->hello_ack().version(), limits::kProtocolVersion);
}

TEST_F(BadPeer, AnAnswerOfAnotherVersionIsRefusedByName) {
  Answers dialed;
  dialed.Add(target_.core().OnLinkOpened(7, "node-1:7000", target_.now()));
  WireFrame ack;
  ack.mutable_hello_ack()->set_version(limits::kProtocolVersion + 1);
  TestPeer peer(target_, 1, 7);
  const Answers answers = peer.Send(ack);
  EXPECT_EQ(answers.closed, reasons::kProtocolVersion);
  ASSERT_NE(answers.Find(WireFrame::kGoaway), nullptr);
  EXPECT_THAT(answers.Find(WireFrame::kGoaway)->goaway().message(),
              HasSubstr("chose version 2 of"));
}

TEST_F(BadPeer, OtherModel) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) { n.model_hash.fill(9); });
  ExpectRefusedOpening(peer, reasons::kModelMismatch);
}

TEST_F(BadPeer, OtherFrame) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) { n.frame_id.fill(9); });
  ExpectRefusedOpening(peer, reasons::kFrameMismatch);
}

TEST_F(BadPeer, ExpiredCertificate) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) {
    n.certificate = CertificateFor(*n.key, "late", Authority(), privacy::roles::kMember,
                                   kWallStart - 2 * kDayMillis, kWallStart - 1);
  });
  ExpectRefusedOpening(peer, reasons::kCertificateExpired);
}

TEST_F(BadPeer, ForeignCertificate) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) {
    n.certificate = CertificateFor(*n.key, "foreign", Authority(2000));
  });
  ExpectRefusedOpening(peer, reasons::kCertificateForeign);
}

TEST_F(BadPeer, OtherCluster) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) { n.cluster_id.fill(3); });
  ExpectRefusedOpening(peer, reasons::kWrongCluster);
}

TEST_F(BadPeer, StolenCertificateWithoutItsKey) {
  const privacy::NodeKey mallory = privacy::NodeKey::FromSeed(SeedOf(666));
  TestPeer peer(target_, 1, 7, [&](federation::LocalNode& n) { n.key = &mallory; });
  const Answers answers = peer.Dial();
  EXPECT_EQ(answers.closed, reasons::kSignatureInvalid);
  EXPECT_EQ(target_.core().active_links(), 0U);
}

TEST_F(BadPeer, FramesBeforeTheOpening) {
  TestPeer peer(target_, 1, 7);
  target_.core().OnLinkOpened(7, "", target_.now());
  const Answers answers = peer.Push(peer.Manifest(federation::ItemKind::kPattern, SomePayload()));
  EXPECT_EQ(answers.closed, reasons::kEnvelopeMalformed);
}

TEST_F(BadPeer, ForgedEnvelopes) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const privacy::Envelope good = peer.Manifest(federation::ItemKind::kPattern, SomePayload());
  privacy::Envelope bad = good;
  bad.signature[5] ^= 1;
  ExpectRefusedPush(peer, bad, reasons::kSignatureInvalid);
  bad = good;
  bad.body.back() ^= 1;
  ExpectRefusedPush(peer, bad, reasons::kSignatureInvalid);
  bad = good;
  bad.header[120] ^= 1;
  ExpectRefusedPush(peer, bad, reasons::kSignatureInvalid);
  // This message is in the name of the core under test, whose certificate the peer has.
  bad = good;
  bad.body.replace(0, privacy::AdmissionCert::kBytes,
                   ConfigFor(target_.key(), 0).certificate.Encode());
  ExpectRefusedPush(peer, bad, reasons::kUnknownSender);
  // By an outsider with a certificate of its own making.
  TestPeer outsider(target_, 5, 7, [](federation::LocalNode& n) {
    n.certificate = CertificateFor(*n.key, "outsider", Authority(2000));
  });
  ExpectRefusedPush(peer, outsider.Manifest(federation::ItemKind::kPattern, SomePayload()),
                    reasons::kCertificateForeign);
}

TEST_F(BadPeer, TruncatedEnvelopes) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const privacy::Envelope good = peer.Manifest(federation::ItemKind::kPattern, SomePayload());
  for (std::string privacy::Envelope::* part :
       {&privacy::Envelope::header, &privacy::Envelope::body, &privacy::Envelope::signature}) {
    for (size_t length : {size_t{0}, (good.*part).size() / 2, (good.*part).size() - 1}) {
      privacy::Envelope bad = good;
      (bad.*part).resize(length);
      ExpectRefusedPush(peer, bad, reasons::kEnvelopeMalformed);
    }
  }
}

TEST_F(BadPeer, ReplayedItemIsCountedAndKeptOnce) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const std::string payload = SomePayload();
  const privacy::Envelope envelope = peer.Manifest(federation::ItemKind::kPattern, payload);
  EXPECT_EQ(peer.Serve(peer.Push(envelope), payload).accepted.size(), 1U);
  for (uint64_t i = 1; i <= 3; ++i) {
    const Answers again = peer.Push(envelope);
    EXPECT_THAT(again.refused, ElementsAre(reasons::kReplayed));
    EXPECT_THAT(again.accepted, IsEmpty());
    EXPECT_EQ(target_.Refused(reasons::kReplayed), i);
  }
  EXPECT_EQ(target_.core().Items().size(), 1U);
}

TEST_F(BadPeer, SequenceNumberUsedTwiceEndsTheLink) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  peer.Push(peer.Manifest(federation::ItemKind::kPattern, SomePayload(1)));
  federation::Sealer restarted(peer.local(),
                               EntropyOf(5));  // numbers from 1 again in the same boot
  const std::string body = peer.Manifest(federation::ItemKind::kPattern, SomePayload(2)).body;
  const int64_t now = target_.now().wall_ms;
  const Answers answers =
      peer.Push(*restarted.Seal(privacy::EnvelopePurpose::kPattern, federation::kBodyManifest, 1,
                                body, now, now + kDayMillis));
  EXPECT_THAT(answers.refused, ElementsAre(reasons::kEquivocation));
  EXPECT_EQ(answers.closed, reasons::kGraylisted);
  EXPECT_TRUE(target_.core().Items().empty());
}

TEST_F(BadPeer, ReplayOverASecondLinkIsHarmless) {
  TestPeer peer(target_, 1, 7);
  TestPeer other(target_, 2, 8);
  ASSERT_EQ(peer.Dial().closed, "");
  ASSERT_EQ(other.Dial().closed, "");
  const std::string payload = SomePayload();
  const privacy::Envelope envelope = peer.Manifest(federation::ItemKind::kPattern, payload);
  peer.Serve(peer.Push(envelope), payload);
  EXPECT_THAT(other.Push(envelope).refused, IsEmpty());  // a mesh does this all the time
  EXPECT_EQ(target_.core().counters().duplicates, 1U);
  EXPECT_THAT(other.Push(envelope).refused, ElementsAre(reasons::kReplayed));
}

TEST_F(BadPeer, OldAndFutureEnvelopes) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const std::string body = peer.Manifest(federation::ItemKind::kPattern, SomePayload()).body;
  const auto sealed = [&](int64_t created, int64_t expires) {
    return *peer.sealer().Seal(privacy::EnvelopePurpose::kPattern, federation::kBodyManifest, 1,
                               body, created, expires);
  };
  const int64_t now = target_.now().wall_ms;
  ExpectRefusedPush(peer, sealed(now - 11 * 60'000, now + kDayMillis), reasons::kEnvelopeExpired);
  ExpectRefusedPush(peer, sealed(now + 3 * 60'000, now + kDayMillis), reasons::kEnvelopeExpired);
  ExpectRefusedPush(peer, sealed(now - 60'000, now), reasons::kEnvelopeExpired);
  ExpectRefusedPush(peer, sealed(now, now + 25 * kDayMillis), reasons::kEnvelopeMalformed);
}

TEST_F(BadPeer, ManifestsOfTheWrongKind) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const std::string payload = SomePayload();
  ExpectRefusedPush(peer,
                    peer.Manifest(federation::ItemKind::kPattern, payload,
                                  [](federation::Manifest& m) { m.model_hash.fill(9); }),
                    reasons::kModelMismatch);
  ExpectRefusedPush(peer,
                    peer.Manifest(federation::ItemKind::kPattern, payload,
                                  [](federation::Manifest& m) { m.frame_id.fill(9); }),
                    reasons::kFrameMismatch);
  ExpectRefusedPush(
      peer,
      peer.Manifest(federation::ItemKind::kPattern, payload,
                    [](federation::Manifest& m) { m.kind = federation::ItemKind::kContribution; }),
      reasons::kWrongPurpose);
  ExpectRefusedPush(peer,
                    peer.Manifest(federation::ItemKind::kPattern, payload,
                                  [](federation::Manifest& m) { m.payload_bytes = 1ULL << 62; }),
                    reasons::kLimitExceeded);
}

TEST_F(BadPeer, ObserversMayNotContribute) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) {
    n.certificate = CertificateFor(*n.key, "observer", Authority(), privacy::roles::kObserver);
  });
  ASSERT_EQ(peer.Dial().closed, "");
  ExpectRefusedPush(peer, peer.Manifest(federation::ItemKind::kPattern, SomePayload()),
                    reasons::kRoleMissing);
}

TEST_F(BadPeer, ContentThatBreaksTheRules) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const auto with_cores = [](uint64_t seed) {
    federation::SharedPattern pattern = PatternOf(seed);
    pattern.cores = SomeCores(seed);
    return pattern;
  };
  federation::SharedPattern huge = with_cores(1);
  huge.cores[0].values.exponent = 10;
  federation::SharedPattern double_form = with_cores(2);
  double_form.cores[0].values.steps.assign(double_form.cores[0].values.steps.size(), 1);
  federation::SharedPattern shape = with_cores(3);
  shape.cores[0].rank = 2;
  shape.cores[0].values = inference::ToGrid(std::vector<float>(4, 1.0F));
  federation::SharedPattern target = with_cores(4);
  target.cores[0].target = "blk.0.unknown";
  for (const federation::SharedPattern& pattern : {huge, double_form, shape, target}) {
    const std::string payload = EncodeSharedPattern(pattern);
    const Answers last =
        peer.Serve(peer.Push(peer.Manifest(federation::ItemKind::kPattern, payload)), payload);
    EXPECT_THAT(last.refused, ElementsAre(reasons::kUpdateInvalid));
    EXPECT_THAT(last.accepted, IsEmpty());
  }
  const std::string garbage(1000, 'x');
  EXPECT_THAT(peer.Serve(peer.Push(peer.Manifest(federation::ItemKind::kPattern, garbage)), garbage)
                  .refused,
              ElementsAre(reasons::kUpdateInvalid));
  EXPECT_TRUE(target_.core().Items().empty());
}

TEST_F(BadPeer, WrongChunksAreRefusedAndAskedElsewhere) {
  TestPeer liar(target_, 1, 7);
  TestPeer honest(target_, 2, 8);
  ASSERT_EQ(liar.Dial().closed, "");
  ASSERT_EQ(honest.Dial().closed, "");
  const std::string payload = SomePayload();
  const privacy::Envelope envelope = liar.Manifest(federation::ItemKind::kPattern, payload);
  const Answers asked = liar.Push(envelope);
  const WireFrame* request = asked.Find(WireFrame::kChunkRequest);
  ASSERT_NE(request, nullptr);
  honest.Push(envelope);
  WireFrame lie = TestPeer::ChunkOf(request->chunk_request(), payload);
  (*lie.mutable_chunk()->mutable_data())[3] ^= 1;
  const Answers answers = liar.Send(lie);
  EXPECT_THAT(answers.refused, ElementsAre(reasons::kUpdateInvalid));
  EXPECT_EQ(honest.Serve(answers, payload).accepted.size(), 1U);
}

TEST_F(BadPeer, SilentHolderIsReplacedAfterTheTimeout) {
  TestPeer silent(target_, 1, 7);
  TestPeer honest(target_, 2, 8);
  silent.Dial();
  honest.Dial();
  const std::string payload = SomePayload();
  const privacy::Envelope envelope = silent.Manifest(federation::ItemKind::kPattern, payload);
  silent.Push(envelope);
  honest.Push(envelope);
  target_.Advance(limits::kRequestTimeout + std::chrono::milliseconds(1));
  Answers answers;
  answers.Add(target_.core().OnTick(target_.now()));
  EXPECT_EQ(honest.Serve(answers, payload).accepted.size(), 1U);
}

TEST_F(BadPeer, MemberRecordsForgedReplayedAndOfOthers) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  federation::MemberRecord record;
  record.certificate = peer.local().certificate;
  record.incarnation = (1ULL << 32) | 1;
  record.address = "peer:1";
  const int64_t now = target_.now().wall_ms;
  const privacy::Envelope good =
      *peer.sealer().Seal(privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, 0,
                          EncodeMemberRecord(record), now, now + 60'000);
  const auto send = [&](const privacy::Envelope& envelope) {
    WireFrame frame;
    *frame.mutable_member_delta()->add_records() = federation::ToProto(envelope);
    return peer.Send(frame).refused;
  };
  privacy::Envelope forged = good;
  forged.signature[0] ^= 1;
  EXPECT_THAT(send(forged), ElementsAre(reasons::kSignatureInvalid));
  EXPECT_EQ(target_.core().Members().size(), 1U);
  EXPECT_THAT(send(good), IsEmpty());
  EXPECT_EQ(target_.core().Members().size(), 2U);
  EXPECT_THAT(send(good), IsEmpty());  // a mesh does this: counted, without effect
  EXPECT_EQ(target_.core().counters().duplicates, 1U);
  EXPECT_EQ(target_.core().Members().size(), 2U);
  privacy::Envelope truncated = good;
  truncated.body.resize(100);
  EXPECT_THAT(send(truncated), ElementsAre(reasons::kEnvelopeMalformed));
}

TEST_F(BadPeer, TooManyOffencesEndTheLink) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  privacy::Envelope bad = peer.Manifest(federation::ItemKind::kPattern, SomePayload());
  bad.signature[0] ^= 1;
  Answers answers;
  for (int i = 0; i < 11; ++i) {
    ASSERT_EQ(answers.closed, "");
    answers = peer.Push(bad);
  }
  EXPECT_EQ(answers.closed, reasons::kGraylisted);
  EXPECT_EQ(target_.core().active_links(), 0U);
}

TEST_F(BadPeer, FloodEndsTheLink) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  WireFrame ping;
  ping.mutable_ping()->set_seq(1);
  Answers answers;
  for (int i = 0; i < limits::kFrameBurst + 1 && answers.closed.empty(); ++i) {
    answers = peer.Send(ping);
  }
  EXPECT_EQ(answers.closed, reasons::kLimitExceeded);
  EXPECT_EQ(target_.Limit("frames").refused, 1U);
}

// Answers to requests are no flood, except "I do not have it": a peer that announces what it does
// not have would make a node ask again and again.
TEST_F(BadPeer, AFloodOfWhatIsMissingEndsTheLink) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  uint64_t number = 0;
  int sent = 0;
  Answers answers;
  while (answers.closed.empty() && sent <= 2 * limits::kFrameBurst) {
    WireFrame have;
    for (size_t i = 0; i < limits::kMaxIdsPerFrame; ++i) {
      have.mutable_i_have()->add_ids(std::string(AsText(Sha256(std::to_string(++number)))));
    }
    answers = peer.Send(have);
    std::vector<std::string> asked;
    for (const WireFrame& frame : answers.frames) {
      asked.insert(asked.end(), frame.i_want().ids().begin(), frame.i_want().ids().end());
    }
    for (; !asked.empty() && answers.closed.empty(); ++sent) {
      WireFrame missing;
      missing.mutable_chunk()->set_item_id(asked.back());
      missing.mutable_chunk()->set_missing(true);
      asked.pop_back();
      answers = peer.Send(missing);
      for (const WireFrame& frame : answers.frames) {
        asked.insert(asked.end(), frame.i_want().ids().begin(), frame.i_want().ids().end());
      }
    }
  }
  EXPECT_EQ(answers.closed, reasons::kLimitExceeded);
  EXPECT_LE(sent, limits::kFrameBurst);
}

TEST_F(BadPeer, OversizedFramesAndUnknownBytes) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  WireFrame frame;
  frame.mutable_chunk()->set_data(std::string(limits::kMaxFrameBytes, 'x'));
  EXPECT_EQ(peer.Send(frame).closed, reasons::kEnvelopeMalformed);
  TestPeer second(target_, 2, 8);
  ASSERT_EQ(second.Dial().closed, "");
  Answers answers;
  answers.Add(target_.core().OnBadFrame(8, target_.now()));
  EXPECT_EQ(answers.closed, reasons::kEnvelopeMalformed);
  EXPECT_TRUE(target_.core().OnFrame(8, frame, target_.now()).empty());  // link is forgotten
}

TEST_F(BadPeer, ListsBeyondTheirLimits) {
  TestPeer peer(target_, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  WireFrame have;
  WireFrame want;
  WireFrame members;
  WireFrame recon;
  for (size_t i = 0; i <= limits::kMaxIdsPerFrame; ++i) {
    have.mutable_i_have()->add_ids(std::string(32, 'x'));
    want.mutable_i_want()->add_ids(std::string(32, 'x'));
    members.mutable_member_delta()->add_records();
  }
  for (size_t i = 0; i <= limits::kMaxReconRanges; ++i) {
    recon.mutable_recon_open()->add_ranges();
  }
  for (const WireFrame& frame : {have, want, members, recon}) {
    EXPECT_THAT(peer.Send(frame).refused, ElementsAre(reasons::kLimitExceeded));
  }
  WireFrame short_id;
  short_id.mutable_i_have()->add_ids("short");
  EXPECT_THAT(peer.Send(short_id).refused, ElementsAre(reasons::kEnvelopeMalformed));
}

TEST_F(BadPeer, LinkEndsWhenThePeersCertificateDoes) {
  TestPeer peer(target_, 1, 7, [](federation::LocalNode& n) {
    n.certificate = CertificateFor(*n.key, "short", Authority(), privacy::roles::kMember,
                                   kWallStart - kDayMillis, kWallStart + 3000);
  });
  ASSERT_EQ(peer.Dial().closed, "");
  target_.Advance(std::chrono::seconds(4));
  Answers answers;
  answers.Add(target_.core().OnTick(target_.now()));
  EXPECT_EQ(answers.closed, reasons::kCertificateExpired);
}

}  // namespace
}  // namespace ruvd::test
