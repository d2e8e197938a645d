// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/channel/sealed_channel.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

ChannelKey KeyOf(uint64_t seed) {
  return ChannelKey::Generate([random = Random(seed)](std::span<uint8_t> out) mutable {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next());
    }
  });
}

class SealedChannelTest : public testing::Test {
 protected:
  SealedChannelTest()
      : first_(*one_.Agree(other_.public_key(), /*first=*/true, session_)),
        second_(*other_.Agree(one_.public_key(), /*first=*/false, session_)) {}

  const Digest session_ = Sha256("a session");
  const ChannelKey one_ = KeyOf(1);
  const ChannelKey other_ = KeyOf(2);
  SealedChannel first_;
  SealedChannel second_;
};

TEST_F(SealedChannelTest, CarriesMessagesBothWaysInOrder) {
  for (const std::string message : {"one", "", "three"}) {
    EXPECT_EQ(*second_.Open(first_.Seal(message)), message);
    EXPECT_EQ(*first_.Open(second_.Seal(message)), message);
  }
  EXPECT_EQ(first_.Seal("a secret").find("secret"), std::string::npos);
}

TEST_F(SealedChannelTest, EqualMessagesDoNotLookEqual) {
  EXPECT_NE(first_.Seal("same"), first_.Seal("same"));
  SealedChannel another = *one_.Agree(other_.public_key(), true, Sha256("another session"));
  SealedChannel fresh = *one_.Agree(other_.public_key(), true, session_);
  EXPECT_NE(another.Seal("same"), fresh.Seal("same"));
}

TEST_F(SealedChannelTest, EveryAlteredByteIsNoticed) {
  const std::string sealed = first_.Seal("message");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string altered = sealed;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_EQ(ReasonOf(second_.Open(altered).status()), reasons::kSealBroken) << i;
  }
  EXPECT_EQ(ReasonOf(second_.Open(sealed.substr(1)).status()), reasons::kSealBroken);
  EXPECT_EQ(ReasonOf(second_.Open("").status()), reasons::kSealBroken);
  EXPECT_TRUE(second_.Open(sealed).ok());
}

TEST_F(SealedChannelTest, WhatIsRepeatedLeftOutOrSentBackDoesNotOpen) {
  const std::string one = first_.Seal("1");
  const std::string two = first_.Seal("2");
  EXPECT_FALSE(second_.Open(two).ok()) << "the first was left out";
  EXPECT_FALSE(first_.Open(one).ok()) << "sent back";
  EXPECT_TRUE(second_.Open(one).ok());
  EXPECT_FALSE(second_.Open(one).ok()) << "repeated";
  EXPECT_TRUE(second_.Open(two).ok());
}

TEST_F(SealedChannelTest, OfAnotherKeyOrSessionNothingOpens) {
  SealedChannel stranger = *KeyOf(3).Agree(other_.public_key(), true, session_);
  EXPECT_FALSE(second_.Open(stranger.Seal("x")).ok());
  SealedChannel of_another_session = *one_.Agree(other_.public_key(), true, Sha256("another"));
  EXPECT_FALSE(second_.Open(of_another_session.Seal("x")).ok());
}

TEST_F(SealedChannelTest, AKeyOfSmallOrderIsRefused) {
  ChannelKey::PublicKey small{};
  EXPECT_EQ(ReasonOf(one_.Agree(small, true, session_).status()), reasons::kKeyInvalid);
  small[0] = 1;
  EXPECT_EQ(ReasonOf(one_.Agree(small, true, session_).status()), reasons::kKeyInvalid);
}

}  // namespace
}  // namespace ruvd::privacy
