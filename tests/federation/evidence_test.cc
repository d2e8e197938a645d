// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Every node keeps out a member that signs two messages under one number, and no other member.

#include "federation/membership/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "federation/membership/member_record.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Two manifests of one node under one number.
struct Pair {
  privacy::Envelope one;
  privacy::Envelope two;
};

Pair PairOf(TestPeer& signer, uint64_t seed,
            federation::ItemKind kind = federation::ItemKind::kPattern) {
  const privacy::Envelope one =
      signer.Manifest(kind, federation::EncodeSharedPattern(PatternOf(seed)));
  privacy::EnvelopeHeader header = *privacy::ParseHeader(AsBytes(one.header));
  const std::string body =
      signer.Manifest(kind, federation::EncodeSharedPattern(PatternOf(seed + 1))).body;
  return {.one = one, .two = *SealEnvelope(header, body, signer.key())};
}

WireFrame EvidenceFrame(const privacy::AdmissionCert& certificate,
                        const std::string& equivocation) {
  WireFrame frame;
  auto* proof = frame.mutable_evidence()->add_proofs();
  proof->set_certificate(certificate.Encode());
  proof->set_equivocation(equivocation);
  return frame;
}

class EvidenceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(liar_.Dial().closed, "");
    ASSERT_EQ(witness_.Dial().closed, "");
  }
  WireFrame Genuine() {
    const Pair pair = PairOf(liar_, 1);
    return EvidenceFrame(liar_.local().certificate,
                         federation::EquivocationOf(pair.one, pair.two)->Encode());
  }

  CoreUnderTest target_;
  TestPeer liar_{target_, 1, 7};
  TestPeer witness_{target_, 2, 8};
};

TEST_F(EvidenceTest, ProvenEquivocatorsLoseTheirLinkAndTheirItems) {
  const std::string payload = federation::EncodeSharedPattern(PatternOf(50));
  liar_.Serve(liar_.Push(liar_.Manifest(federation::ItemKind::kPattern, payload)), payload);
  ASSERT_EQ(target_.core().Items().size(), 1U);
  const Answers answers = witness_.Send(Genuine());
  EXPECT_THAT(answers.refused, IsEmpty());
  EXPECT_EQ(answers.closed, reasons::kGraylisted);
  EXPECT_EQ(answers.dropped.size(), 1U);
  EXPECT_EQ(answers.withdrawn, answers.dropped) << "what was made of it is made anew";
  EXPECT_TRUE(target_.core().Items().empty());
  EXPECT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  EXPECT_EQ(target_.core().StandingOf(liar_.key().id()), federation::MemberStanding::kEquivocated);
  // The liar gets no new link, and no item of it comes through others, who are not blamed.
  EXPECT_EQ(liar_.Dial().closed, reasons::kGraylisted);
  const Answers passed_on = witness_.Push(liar_.Manifest(federation::ItemKind::kPattern, payload));
  EXPECT_EQ(passed_on.Find(WireFrame::kChunkRequest), nullptr);
  EXPECT_TRUE(target_.core().Items().empty());
  EXPECT_EQ(witness_.Send(Genuine()).closed, "");
}

// Regression test: proofs were in memory only, so a node that started again linked to liars until a
// peer told it.
TEST_F(EvidenceTest, ANodeThatStartsAgainKnowsThemBeforeAnyPeerTellsIt) {
  const std::string payload = federation::EncodeSharedPattern(PatternOf(50));
  liar_.Serve(liar_.Push(liar_.Manifest(federation::ItemKind::kPattern, payload)), payload);
  const std::vector<federation::Item> items = target_.core().Items();
  ASSERT_EQ(items.size(), 1U);
  const federation::Actions actions =
      target_.core().OnFrame(witness_.link(), Genuine(), target_.now());
  EXPECT_EQ(std::ranges::count_if(actions,
                                  [](const federation::Action& a) {
                                    return std::holds_alternative<federation::EvidenceChanged>(a);
                                  }),
            1);
  std::vector<std::string> proofs = target_.core().Evidence();
  ASSERT_EQ(proofs.size(), 1U);
  ASSERT_EQ(proofs[0].size(), federation::EvidenceTable::kStoredBytes);
  proofs.push_back(proofs[0]);
  proofs[1].back() = static_cast<char>(proofs[1].back() ^ 1);
  proofs.emplace_back("short");

  CoreUnderTest again;
  Answers restored;
  restored.Add(again.core().RestoreEvidence({proofs[1], proofs[2]}, again.now()));
  EXPECT_EQ(restored.refused.size(), 2U);
  EXPECT_THAT(again.core().Graylisted(), IsEmpty());
  restored.Add(again.core().RestoreEvidence(proofs, again.now()));
  EXPECT_THAT(again.core().Graylisted(), ElementsAre(liar_.key().id()));
  restored.Add(again.core().Restore(items, again.now()));
  EXPECT_THAT(restored.dropped, ElementsAre(items[0].id));
  EXPECT_EQ(restored.withdrawn, restored.dropped);
  TestPeer liar(again, 1, 7);
  EXPECT_EQ(liar.Dial().closed, reasons::kGraylisted);
  TestPeer later(again, 4, 10);
  EXPECT_NE(later.Dial().Find(WireFrame::kEvidence), nullptr) << "it tells others, too";
}

TEST_F(EvidenceTest, WhoFindsItTellsItsNeighboursAndNewOnes) {
  const Pair pair = PairOf(liar_, 1);
  witness_.Push(pair.one);
  Answers found = witness_.Push(pair.two);
  EXPECT_THAT(found.refused, ElementsAre(reasons::kEquivocation));
  EXPECT_EQ(std::ranges::count_if(found.frames, &WireFrame::has_evidence),
            1);  // the witness alone
  EXPECT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  TestPeer later(target_, 4, 10);
  const Answers greeted = later.Dial();
  ASSERT_NE(greeted.Find(WireFrame::kEvidence), nullptr);
  CoreUnderTest elsewhere(20);
  TestPeer teller(elsewhere, 4, 7);
  teller.Dial();
  EXPECT_THAT(teller.Send(*greeted.Find(WireFrame::kEvidence)).refused, IsEmpty());
  EXPECT_THAT(elsewhere.core().Graylisted(), ElementsAre(liar_.key().id()));
}

TEST_F(EvidenceTest, AProofAboutMessagesOfMaskedRoundsConvictsToo) {
  const Pair pair = PairOf(liar_, 1, federation::ItemKind::kMaskKey);
  const Answers told = witness_.Send(EvidenceFrame(
      liar_.local().certificate, federation::EquivocationOf(pair.one, pair.two)->Encode()));
  ASSERT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  EXPECT_EQ(told.Find(WireFrame::kEvidence), nullptr) << "nobody else is left to tell";
  TestPeer later(target_, 4, 10);
  EXPECT_NE(later.Dial().Find(WireFrame::kEvidence), nullptr);
}

TEST_F(EvidenceTest, AStoredItemUnderASecondNumberConvictsToo) {
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const Pair pair = PairOf(liar_, 1);
  witness_.Serve(witness_.Push(pair.one), payload);
  ASSERT_EQ(target_.core().Items().size(), 1U);
  WireFrame have;
  have.mutable_i_have()->add_ids(std::string(AsText(privacy::MessageId(pair.two))));
  ASSERT_NE(witness_.Send(have).Find(WireFrame::kIWant), nullptr);
  witness_.Push(pair.two);
  EXPECT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  EXPECT_TRUE(target_.core().Items().empty());
}

TEST_F(EvidenceTest, TwoRecordsUnderOneNumberConvict) {
  federation::MemberRecord record;
  record.certificate = liar_.local().certificate;
  record.incarnation = (1ULL << 32) | 5;
  privacy::EnvelopeHeader header = *privacy::ParseHeader(AsBytes(PairOf(liar_, 1).one.header));
  header.purpose = privacy::EnvelopePurpose::kMember;
  header.body_type = federation::kBodyMemberRecord;
  header.expires_ms = header.created_ms + 60'000;
  WireFrame frame;
  for (const char* address : {"here:1", "there:1"}) {
    record.address = address;
    *frame.mutable_member_delta()->add_records() = federation::ToProto(
        *SealEnvelope(header, federation::EncodeMemberRecord(record), liar_.key()));
  }
  EXPECT_EQ(witness_.Send(frame).closed, reasons::kGraylisted);
  EXPECT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  EXPECT_EQ(target_.core().Members().size(), 2U);  // the record stays
}

// Regression test: a proof that came while the signature budget of its sender was spent had no
// effect until another link opened.
TEST_F(EvidenceTest, AProofThatThereWasNoTimeForIsCheckedLater) {
  federation::MemberRecord record;
  record.certificate = witness_.local().certificate;
  const int64_t now = target_.now().wall_ms;
  while (target_.Refused(reasons::kBusy) == 0) {
    WireFrame frame;
    for (size_t i = 0; i < limits::kMaxRecordsPerFrame; ++i) {
      ++record.incarnation;
      *frame.mutable_member_delta()->add_records() = federation::ToProto(
          *witness_.sealer().Seal(privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord,
                                  0, federation::EncodeMemberRecord(record), now, now + 60'000));
    }
    witness_.Send(frame);
  }
  WireFrame two = Genuine();
  *two.mutable_evidence()->add_proofs() = two.evidence().proofs(0);
  witness_.Send(two);
  EXPECT_THAT(target_.core().Graylisted(), IsEmpty());
  target_.Advance(seconds(1));
  Answers later;
  later.Add(target_.core().OnTick(target_.now()));
  EXPECT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  EXPECT_EQ(later.closed, reasons::kGraylisted);
  EXPECT_EQ(target_.core().ScoreOf(witness_.key().id()), 0);
}

TEST_F(EvidenceTest, ForgedEvidenceIsCountedAgainstItsSender) {
  const WireFrame genuine = Genuine();
  const auto spoiled = [&](size_t byte) {
    WireFrame frame = genuine;
    std::string& bytes = *frame.mutable_evidence()->mutable_proofs(0)->mutable_equivocation();
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
    return frame;
  };
  EXPECT_THAT(witness_.Send(spoiled(2 + privacy::kEnvelopeHeaderBytes + 5)).refused,
              ElementsAre(reasons::kSignatureInvalid));
  EXPECT_THAT(witness_.Send(spoiled(2 + 110)).refused, ElementsAre(testing::_));
  EXPECT_THAT(witness_.Send(spoiled(0)).refused, ElementsAre(reasons::kEvidenceInvalid));
  // This proof is about the witness, with the certificate of the liar.
  const Pair pair = PairOf(witness_, 5);
  const std::string of_witness = federation::EquivocationOf(pair.one, pair.two)->Encode();
  EXPECT_THAT(witness_.Send(EvidenceFrame(liar_.local().certificate, of_witness)).refused,
              ElementsAre(reasons::kEvidenceInvalid));
  // Two messages of two numbers, which is what everybody signs.
  const privacy::Envelope other = witness_.Manifest(federation::ItemKind::kPattern, "x");
  EXPECT_FALSE(federation::EquivocationOf(pair.one, other).has_value());
  privacy::Equivocation no_pair = *federation::EquivocationOf(pair.one, pair.two);
  no_pair.second_header = other.header;
  no_pair.second_signature = other.signature;
  EXPECT_THAT(witness_.Send(EvidenceFrame(witness_.local().certificate, no_pair.Encode())).refused,
              ElementsAre(reasons::kEvidenceInvalid));
  EXPECT_THAT(target_.core().Graylisted(), IsEmpty());
  EXPECT_EQ(target_.core().active_links(), 2U);
  Answers last;
  for (int i = 0; i < 20 && last.closed.empty(); ++i) {
    last = witness_.Send(spoiled(0));
  }
  EXPECT_EQ(last.closed, reasons::kGraylisted);
}

// One key may serve in two clusters, each of which counts its own boots.
TEST_F(EvidenceTest, MessagesToAnotherClusterShowNothing) {
  privacy::EnvelopeHeader header = *privacy::ParseHeader(AsBytes(PairOf(liar_, 1).one.header));
  const privacy::Envelope here = *SealEnvelope(header, "here", liar_.key());
  header.cluster_id.fill(9);
  const privacy::Envelope elsewhere = *SealEnvelope(header, "elsewhere", liar_.key());
  EXPECT_THAT(witness_
                  .Send(EvidenceFrame(liar_.local().certificate,
                                      federation::EquivocationOf(here, elsewhere)->Encode()))
                  .refused,
              ElementsAre(reasons::kWrongCluster));
  EXPECT_THAT(target_.core().Graylisted(), IsEmpty());
}

TEST_F(EvidenceTest, EvidenceEndsADayAfterBothMessages) {
  witness_.Send(Genuine());
  ASSERT_THAT(target_.core().Graylisted(), ElementsAre(liar_.key().id()));
  target_.Advance(std::chrono::milliseconds(kDayMillis + limits::kEvidenceLifeMillis - 1));
  target_.core().OnTick(target_.now());
  EXPECT_EQ(target_.core().Graylisted().size(), 1U);
  target_.Advance(std::chrono::milliseconds(1));
  target_.core().OnTick(target_.now());
  EXPECT_THAT(target_.core().Graylisted(), IsEmpty());
  EXPECT_EQ(liar_.Dial().closed, "");
}

TEST_F(EvidenceTest, ANodeThatHearsItOfItselfSaysSoOnceAndGoesOn) {
  TestPeer twin(target_, 0, 9);  // has the key of the node under test
  const Pair pair = PairOf(twin, 1);
  const WireFrame evidence =
      EvidenceFrame(ConfigFor(target_.key(), 0).certificate,
                    federation::EquivocationOf(pair.one, pair.two)->Encode());
  EXPECT_THAT(witness_.Send(evidence).refused, ElementsAre(reasons::kEquivocation));
  EXPECT_THAT(witness_.Send(evidence).refused, IsEmpty());
  EXPECT_THAT(target_.core().Graylisted(), IsEmpty());
  EXPECT_EQ(target_.core().active_links(), 2U);
}

// An equivocator in a swarm: it sends one message to one half of its neighbours and another message
// to the other half.
class SwarmWithEquivocator {
 public:
  static constexpr size_t kLiar = 5;

  explicit SwarmWithEquivocator(
      uint64_t seed, double loss,
      std::function<void(size_t, federation::GossipConfig&)> configure = {})
      : swarm_({.nodes = 20, .seed = seed, .loss = loss, .configure = std::move(configure)}),
        key_(privacy::NodeKey::FromSeed(SeedOf(kLiar))),
        config_(ConfigFor(key_, kLiar)) {
    swarm_.Run(seconds(20));
    swarm_.intercept = [this](size_t node, federation::LinkId link, const WireFrame& frame) {
      return node == kLiar && Serve(link, frame);
    };
  }
  void LieByItems() { SendHalves(ItemFrame(PatternOf(1)), ItemFrame(PatternOf(2))); }
  void LieByRecords() { SendHalves(RecordFrame("here:1"), RecordFrame("there:1")); }
  // Whether every node but the liar keeps out the liar and no other node.
  bool AllKnow() {
    for (size_t i = 0; i < swarm_.size(); ++i) {
      if (i != kLiar &&
          swarm_.core(i).Graylisted() != std::vector<privacy::NodeId>{swarm_.id(kLiar)}) {
        return false;
      }
    }
    return true;
  }
  Swarm& swarm() { return swarm_; }

 private:
  privacy::EnvelopeHeader Header(privacy::EnvelopePurpose purpose, uint16_t body_type,
                                 int64_t life_ms) {
    privacy::EnvelopeHeader header;
    header.purpose = purpose;
    header.cluster_id = Authority().cluster_id();
    header.boot_id = privacy::BootIdOf(key_.id(), config_.boot_counter);
    header.seq = 900;
    header.created_ms = swarm_.now().wall_ms;
    header.expires_ms = header.created_ms + life_ms;
    header.body_type = body_type;
    return header;
  }
  WireFrame ItemFrame(const federation::SharedPattern& pattern) {
    const std::string payload = federation::EncodeSharedPattern(pattern);
    federation::Manifest manifest;
    manifest.certificate = config_.certificate;
    manifest.kind = federation::ItemKind::kPattern;
    manifest.payload_bytes = payload.size();
    manifest.payload_root = federation::MerkleTree(payload).root();
    manifest.model_hash = config_.model_hash;
    manifest.frame_id = config_.frame_id;
    const privacy::Envelope envelope = *SealEnvelope(
        Header(privacy::EnvelopePurpose::kPattern, federation::kBodyManifest, kDayMillis),
        federation::EncodeManifest(manifest), key_);
    payloads_[std::string(AsText(privacy::MessageId(envelope)))] = payload;
    WireFrame frame;
    *frame.mutable_push()->mutable_envelope() = federation::ToProto(envelope);
    return frame;
  }
  WireFrame RecordFrame(const std::string& address) {
    federation::MemberRecord record;
    record.certificate = config_.certificate;
    record.incarnation = (config_.boot_counter << 32) | 1000;
    record.model_hash = config_.model_hash;
    record.frame_id = config_.frame_id;
    record.address = address;
    WireFrame frame;
    *frame.mutable_member_delta()->add_records() = federation::ToProto(*SealEnvelope(
        Header(privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, 600'000),
        federation::EncodeMemberRecord(record), key_));
    return frame;
  }
  void SendHalves(const WireFrame& one, const WireFrame& two) {
    bool odd = false;
    for (const federation::LinkId link : swarm_.LinksOf(kLiar)) {
      odd = !odd;
      swarm_.SendFrom(kLiar, link, odd ? one : two);
    }
  }
  bool Serve(federation::LinkId link, const WireFrame& frame) {
    const auto found = frame.has_chunk_request() ? payloads_.find(frame.chunk_request().item_id())
                                                 : payloads_.end();
    if (found == payloads_.end()) {
      return false;
    }
    swarm_.SendFrom(kLiar, link, TestPeer::ChunkOf(frame.chunk_request(), found->second));
    return true;
  }

  Swarm swarm_;
  privacy::NodeKey key_;
  federation::GossipConfig config_;
  std::map<std::string, std::string> payloads_;
};

TEST(Evidence, AnEquivocatorIsKeptOutByAllWithinFiveSecondsAndNobodyElseIs) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const bool by_items : {false, true}) {
      SwarmWithEquivocator cluster(seed, /*loss=*/0.05);
      by_items ? cluster.LieByItems() : cluster.LieByRecords();
      EXPECT_TRUE(cluster.swarm().RunUntil([&] { return cluster.AllKnow(); }, seconds(5)))
          << "seed " << seed << (by_items ? " items" : " records");
      cluster.swarm().Run(seconds(60));
      EXPECT_TRUE(cluster.AllKnow()) << "seed " << seed;
      for (size_t i = 0; i < cluster.swarm().size(); ++i) {
        if (i != SwarmWithEquivocator::kLiar) {
          EXPECT_TRUE(cluster.swarm().core(i).Items().empty()) << "node " << i;
          EXPECT_EQ(cluster.swarm().core(i).Members().size(), 20U);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ruvd::test
