// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/envelope/envelope.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;
constexpr int64_t kMinute = 60'000;

class EnvelopeTest : public testing::Test {
 protected:
  EnvelopeTest() {
    cert_ = *authority_.Issue({.node_key = key_.public_key(),
                               .name = "sender",
                               .roles = roles::kMember,
                               .not_before_ms = kNow - kMinute,
                               .not_after_ms = kNow + 1000 * kMinute,
                               .serial = 1});
    rules_.cluster_id = authority_.cluster_id();
    rules_.purpose = EnvelopePurpose::kLearning;
    rules_.now_ms = kNow;
    rules_.certificate_of = [this](const NodeId& id) {
      return id == cert_.node_id ? &cert_ : nullptr;
    };
    fields_.purpose = EnvelopePurpose::kLearning;
    fields_.cluster_id = authority_.cluster_id();
    fields_.boot_id = BootIdOf(key_.id(), 3);
    fields_.seq = 17;
    fields_.round = 5;
    fields_.created_ms = kNow - 1000;
    fields_.expires_ms = kNow + kMinute;
    fields_.nonce.fill(0xab);
    fields_.body_type = 2;
  }
  std::string ReasonFor(const Envelope& envelope) const {
    return ReasonOf(VerifyEnvelope(envelope, rules_).status());
  }
  Envelope Sealed() const { return *SealEnvelope(fields_, "the body", key_); }

  const ClusterAuthority authority_ = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{2});
  AdmissionCert cert_;
  EnvelopeHeader fields_;
  EnvelopeRules rules_;
};

TEST_F(EnvelopeTest, SealedEnvelopeVerifies) {
  const Envelope envelope = Sealed();
  EXPECT_EQ(envelope.header.size(), kEnvelopeHeaderBytes);
  const auto header = VerifyEnvelope(envelope, rules_);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->sender_id, key_.id());
  EXPECT_EQ(header->seq, 17U);
  EXPECT_EQ(header->round, 5U);
  EXPECT_EQ(header->body_length, 8U);
  EXPECT_EQ(BootCounterOf(header->boot_id), 3U);
}

TEST_F(EnvelopeTest, EveryFlippedBitIsRefused) {
  const Envelope good = Sealed();
  for (std::string Envelope::* part : {&Envelope::header, &Envelope::body, &Envelope::signature}) {
    for (size_t bit = 0; bit < (good.*part).size() * 8; ++bit) {
      Envelope bad = good;
      (bad.*part)[bit / 8] ^= static_cast<char>(1 << (bit % 8));
      EXPECT_FALSE(VerifyEnvelope(bad, rules_).ok()) << "bit " << bit;
    }
  }
}

TEST_F(EnvelopeTest, EveryTruncationIsRefusedAsMalformed) {
  const Envelope good = Sealed();
  for (std::string Envelope::* part : {&Envelope::header, &Envelope::body, &Envelope::signature}) {
    for (size_t length = 0; length < (good.*part).size(); ++length) {
      Envelope bad = good;
      (bad.*part).resize(length);
      EXPECT_EQ(ReasonFor(bad), reasons::kEnvelopeMalformed);
    }
    Envelope longer = good;
    (longer.*part).push_back('x');
    EXPECT_EQ(ReasonFor(longer), reasons::kEnvelopeMalformed);
  }
}

TEST_F(EnvelopeTest, UnknownAndForgedSenders) {
  const NodeKey mallory = NodeKey::FromSeed(KeySeed{66});
  EXPECT_EQ(ReasonFor(*SealEnvelope(fields_, "x", mallory)), reasons::kUnknownSender);
  // Mallory writes the honest sender's id and signs with its own key.
  EnvelopeHeader header = *ParseHeader(AsBytes(Sealed().header));
  Envelope forged = Sealed();
  forged.signature = AsText(mallory.Sign(AsBytes(EncodeHeader(header))));
  EXPECT_EQ(ReasonFor(forged), reasons::kSignatureInvalid);
  // The envelope has a swapped body under a good signature.
  Envelope swapped = Sealed();
  swapped.body = "THE BODY";
  EXPECT_EQ(ReasonFor(swapped), reasons::kSignatureInvalid);
}

TEST_F(EnvelopeTest, ReplayAcrossClustersAndPurposes) {
  for (int purpose = 1; purpose <= 6; ++purpose) {
    for (int cluster = 1; cluster <= 3; ++cluster) {
      fields_.purpose = static_cast<EnvelopePurpose>(purpose);
      fields_.cluster_id =
          ClusterAuthority::FromSeed(KeySeed{static_cast<uint8_t>(cluster)}).cluster_id();
      const std::string reason = ReasonFor(Sealed());
      if (cluster != 1) {
        EXPECT_EQ(reason, reasons::kWrongCluster);
      } else {
        EXPECT_EQ(reason, purpose == 2 ? "" : reasons::kWrongPurpose);
      }
    }
  }
}

TEST_F(EnvelopeTest, FreshnessOfPushedAndStored) {
  fields_.created_ms = kNow - limits::kMaxEnvelopeAgeMillis;
  EXPECT_EQ(ReasonFor(Sealed()), "");
  fields_.created_ms -= 1;
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeExpired);
  rules_.freshness = EnvelopeRules::Freshness::kStored;
  EXPECT_EQ(ReasonFor(Sealed()), "");
  fields_.expires_ms = kNow;
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeExpired);
  fields_.created_ms = kNow + limits::kMaxEnvelopeAheadMillis;
  fields_.expires_ms = fields_.created_ms + kMinute;
  EXPECT_EQ(ReasonFor(Sealed()), "");
  fields_.created_ms += 1;
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeExpired);
}

TEST_F(EnvelopeTest, ImpossibleFieldsAreMalformed) {
  fields_.expires_ms = fields_.created_ms;
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeMalformed);
  fields_.expires_ms = fields_.created_ms + limits::kMaxEnvelopeLifeMillis + 1;
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeMalformed);
  fields_.created_ms = -5;
  fields_.expires_ms = INT64_MAX;
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeMalformed);
  fields_.created_ms = kNow;
  fields_.expires_ms = kNow + kMinute;
  fields_.purpose = static_cast<EnvelopePurpose>(8);
  EXPECT_EQ(ReasonFor(Sealed()), reasons::kEnvelopeMalformed);
}

TEST_F(EnvelopeTest, BodyLimit) {
  const size_t most = limits::kMaxEnvelopeBytes - kEnvelopeHeaderBytes - sizeof(Signature);
  EXPECT_TRUE(SealEnvelope(fields_, std::string(most, 'x'), key_).ok());
  EXPECT_EQ(ReasonOf(SealEnvelope(fields_, std::string(most + 1, 'x'), key_).status()),
            reasons::kLimitExceeded);
  Envelope huge = Sealed();
  huge.body.resize(most + 1);
  EXPECT_EQ(ReasonFor(huge), reasons::kLimitExceeded);
}

TEST_F(EnvelopeTest, MessageIdIgnoresTheSignature) {
  Envelope a = Sealed();
  Envelope b = a;
  b.signature[0] ^= 1;
  EXPECT_EQ(MessageId(a), MessageId(b));
  b.body += "x";
  EXPECT_NE(MessageId(a), MessageId(b));
}

RC_GTEST_PROP(EnvelopeProperty, HeaderRoundTrips,
              (uint64_t seq, uint64_t round, int64_t created, int64_t expires, uint16_t type)) {
  EnvelopeHeader header;
  header.purpose = static_cast<EnvelopePurpose>(*rc::gen::inRange(1, 8));
  header.seq = seq;
  header.round = round;
  header.created_ms = created;
  header.expires_ms = expires;
  header.body_type = type;
  header.body_length = *rc::gen::arbitrary<uint32_t>();
  const std::string bytes = EncodeHeader(header);
  const auto parsed = ParseHeader(AsBytes(bytes));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == header);
  RC_ASSERT(EncodeHeader(*parsed) == bytes);
}

}  // namespace
}  // namespace ruvd::privacy
