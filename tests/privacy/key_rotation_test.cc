// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests keys that follow each other.

#include "privacy/identity/key_rotation.h"

#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

class KeyRotationTest : public testing::Test {
 protected:
  const SigningKey first_ = SigningKey::FromSeed(KeySeed{1});
  const SigningKey second_ = SigningKey::FromSeed(KeySeed{2});
  const SigningKey third_ = SigningKey::FromSeed(KeySeed{3});
  NodeKeys keys_ = NodeKeys::Begin(first_.public_key()).value();
  const KeyRotation to_second_ = KeyRotation::Sign(keys_.node(), 1, 1000, first_, second_);
};

TEST_F(KeyRotationTest, TheIdStaysAndTheFormerKeyIsTakenForADay) {
  const NodeId node = keys_.node();
  ASSERT_TRUE(keys_.Rotate(to_second_).ok());
  EXPECT_EQ(keys_.node(), node);
  EXPECT_EQ(keys_.epoch(), 1U);
  EXPECT_EQ(keys_.KeyOf(1, 1000).value(), second_.public_key());
  EXPECT_EQ(keys_.KeyOf(0, 999 + limits::kKeyOverlapMillis).value(), first_.public_key());
  EXPECT_EQ(ReasonOf(keys_.KeyOf(0, 1000 + limits::kKeyOverlapMillis).status()),
            reasons::kKeyEpochRefused);
  EXPECT_EQ(ReasonOf(keys_.KeyOf(2, 1000).status()), reasons::kKeyEpochRefused);
  ASSERT_TRUE(keys_.Rotate(KeyRotation::Sign(node, 2, 2000, second_, third_)).ok());
  EXPECT_EQ(ReasonOf(keys_.KeyOf(0, 2000).status()), reasons::kKeyEpochRefused);
  EXPECT_EQ(keys_.KeyOf(1, 2000).value(), second_.public_key());
}

TEST_F(KeyRotationTest, WhatDoesNotFollowChangesNothing) {
  const auto reason = [this](const KeyRotation& rotation) {
    return ReasonOf(keys_.Rotate(rotation));
  };
  const NodeId node = keys_.node();
  EXPECT_EQ(reason(KeyRotation::Sign(node, 2, 1000, first_, second_)), reasons::kKeyInvalid);
  EXPECT_EQ(reason(KeyRotation::Sign(node, 1, 1000, second_, third_)), reasons::kKeyInvalid);
  EXPECT_EQ(reason(KeyRotation::Sign(NodeId{7}, 1, 1000, first_, second_)), reasons::kKeyInvalid);
  EXPECT_EQ(reason(KeyRotation::Sign(node, 1, 1000, first_, first_)), reasons::kKeyInvalid);
  // An attacker who stole only one of the keys cannot rotate.
  KeyRotation half = to_second_;
  half.next_signature = KeyRotation::Sign(node, 1, 1000, first_, third_).next_signature;
  EXPECT_EQ(reason(half), reasons::kSignatureInvalid);
  half = to_second_;
  half.former_signature = half.next_signature;
  EXPECT_EQ(reason(half), reasons::kSignatureInvalid);
  EXPECT_EQ(keys_.epoch(), 0U);
  EXPECT_EQ(reason(to_second_), "");
  EXPECT_EQ(reason(to_second_), "");  // again
  EXPECT_EQ(reason(KeyRotation::Sign(node, 1, 1000, first_, third_)), reasons::kKeyInvalid);
  EXPECT_EQ(reason(KeyRotation::Sign(node, 2, 999, second_, third_)), reasons::kKeyInvalid);
}

TEST_F(KeyRotationTest, EveryFlippedBitIsNoticed) {
  const std::string good = to_second_.Encode();
  ASSERT_EQ(good.size(), KeyRotation::kBytes);
  EXPECT_EQ(KeyRotation::Parse(AsBytes(good)).value(), to_second_);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto altered = KeyRotation::Parse(AsBytes(bad));
    EXPECT_FALSE(altered.ok() && NodeKeys(keys_).Rotate(*altered).ok()) << i;
    EXPECT_FALSE(KeyRotation::Parse(AsBytes(good).first(i)).ok()) << i;
  }
  EXPECT_FALSE(KeyRotation::Parse(AsBytes(good + '\0')).ok());
}

TEST_F(KeyRotationTest, KeysOfSmallOrderAreRefused) {
  PublicKey identity{1};
  EXPECT_EQ(ReasonOf(NodeKeys::Begin(identity).status()), reasons::kKeyInvalid);
  KeyRotation rotation = to_second_;
  rotation.next = identity;
  EXPECT_EQ(ReasonOf(KeyRotation::Parse(AsBytes(rotation.Encode())).status()),
            reasons::kKeyInvalid);
  EXPECT_EQ(ReasonOf(keys_.Rotate(rotation)), reasons::kKeyInvalid);
}

// The worked example of docs/wire-format.md, computed by an independent program.
TEST_F(KeyRotationTest, HasTheBytesOfTheDocument) {
  EXPECT_EQ(ToHex(AsBytes(to_second_.Encode())),
            "525556444c4c4d2d524f544154452d763100a91adc307a438dd6a95b8c858d9b5e1dcee51c0101b7cb6e53"
            "ff25b355f10de001000000cecc1507dc1ddd7295951c290888f095adb9044d1b73d696e6df065d683bd4fc"
            "6b79c57e6a095239282c04818e96112f3f03a4001ba97a564c23852a3f1ea5fce803000000000000f506bf"
            "f0395785b2c28f6e52c208fd9478ae0191a93b79f1f8f026d73f987c628a418250a793dedc798e5bf6992e"
            "92f45f16ec2e98e6b29d643cedb970255e00a95e4d869b23016fe352a9b20aeeb9cb25d62dc86bb8a08cbb"
            "26755ab0542726b799be8255be4ed071a4966678ae2c1cb8f563a412ff5fa488f3c28948b84f0a");
}

}  // namespace
}  // namespace ruvd::privacy
