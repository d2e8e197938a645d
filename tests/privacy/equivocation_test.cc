// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the detection of two messages under one number.

#include "privacy/envelope/equivocation.h"

#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"
#include "tests/rotated_key.h"

namespace ruvd::privacy {
namespace {

class EquivocationTest : public testing::Test {
 protected:
  std::pair<EnvelopeHeader, Envelope> Message(uint64_t seq, const std::string& body,
                                              uint64_t boot = 1,
                                              const NodeKey* key = nullptr) const {
    EnvelopeHeader fields;
    fields.seq = seq;
    fields.boot_id = BootIdOf(key_.id(), boot);
    fields.expires_ms = 1000;
    const Envelope envelope = SealEnvelope(fields, body, key == nullptr ? key_ : *key).value();
    return {ParseHeader(AsBytes(envelope.header)).value(), envelope};
  }
  std::optional<Equivocation> Record(const std::pair<EnvelopeHeader, Envelope>& message) {
    return detector_.Record(message.first, message.second);
  }
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{1});
  EquivocationDetector detector_{4};
};

TEST_F(EquivocationTest, TwoBodiesUnderOneNumberAreEvidence) {
  EXPECT_FALSE(Record(Message(1, "yes")).has_value());
  EXPECT_FALSE(Record(Message(1, "yes")).has_value());  // the same again
  EXPECT_FALSE(Record(Message(2, "no")).has_value());
  EXPECT_FALSE(Record(Message(1, "no", /*boot=*/2)).has_value());
  const std::optional<Equivocation> evidence = Record(Message(1, "no"));
  ASSERT_TRUE(evidence.has_value());
  EXPECT_EQ(evidence->sender(), key_.id());
  EXPECT_TRUE(evidence->Verify(key_.public_key()).ok());
  EXPECT_EQ(ReasonOf(evidence->Verify(NodeKey::FromSeed(KeySeed{2}).public_key())),
            reasons::kSignatureInvalid);
  EXPECT_EQ(Equivocation::Parse(AsBytes(evidence->Encode())).value(), *evidence);
}

// A thief of a former key could otherwise have its node found out for what the node signs now.
TEST_F(EquivocationTest, TwoKeysOfOneNodeNumberTheirMessagesApart) {
  const NodeKey rotated = test::RotatedKey(KeySeed{1}, KeySeed{2});
  ASSERT_EQ(rotated.id(), key_.id());
  EXPECT_FALSE(Record(Message(1, "yes")).has_value());
  const auto later = Message(1, "no", /*boot=*/1, &rotated);
  EXPECT_FALSE(Record(later).has_value());
  EXPECT_TRUE(Record(Message(1, "maybe", /*boot=*/1, &rotated)).has_value());
  const auto first = Message(1, "yes");
  Equivocation mixed{.first_header = first.second.header,
                     .first_signature = first.second.signature,
                     .second_header = later.second.header,
                     .second_signature = later.second.signature};
  EXPECT_EQ(ReasonOf(Equivocation::Parse(AsBytes(mixed.Encode())).status()),
            reasons::kEvidenceInvalid);
}

// The evidence is equal whichever message a node saw first.
TEST_F(EquivocationTest, EvidenceDoesNotDependOnTheOrder) {
  EquivocationDetector other;
  const auto yes = Message(1, "yes");
  const auto no = Message(1, "no");
  Record(yes);
  other.Record(no.first, no.second);
  EXPECT_EQ(Record(no).value(), other.Record(yes.first, yes.second).value());
}

TEST_F(EquivocationTest, RemembersABoundedNumber) {
  for (uint64_t seq = 1; seq <= 100; ++seq) {
    Record(Message(seq, "yes"));
    EXPECT_LE(detector_.size(), 4U);
  }
  EXPECT_FALSE(Record(Message(1, "no")).has_value());  // forgotten
  EXPECT_TRUE(Record(Message(100, "no")).has_value());
}

TEST_F(EquivocationTest, EvidenceThatShowsNothingIsRefused) {
  Record(Message(1, "yes"));
  const Equivocation good = Record(Message(1, "no")).value();
  const auto reason = [](const Equivocation& evidence) {
    return ReasonOf(Equivocation::Parse(AsBytes(evidence.Encode())).status());
  };
  Equivocation bad = good;
  bad.second_header = bad.first_header;
  EXPECT_EQ(reason(bad), reasons::kEvidenceInvalid);
  bad = good;
  std::swap(bad.first_header, bad.second_header);
  EXPECT_EQ(reason(bad), reasons::kEvidenceInvalid);
  bad = good;
  bad.second_header = Message(2, "no").second.header;
  EXPECT_EQ(reason(bad), reasons::kEvidenceInvalid);
  const std::string bytes = good.Encode();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    const auto altered = Equivocation::Parse(AsBytes(flipped));
    EXPECT_FALSE(altered.ok() && altered->Verify(key_.public_key()).ok()) << i;
    EXPECT_FALSE(Equivocation::Parse(AsBytes(bytes).first(i)).ok()) << i;
  }
}

}  // namespace
}  // namespace ruvd::privacy
