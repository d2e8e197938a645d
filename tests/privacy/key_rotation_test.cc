// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests keys that follow each other.

#include "privacy/identity/key_rotation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/node_key.h"
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
  const KeyRotation to_third_ = KeyRotation::Sign(keys_.node(), 2, 2000, second_, third_);
};

TEST_F(KeyRotationTest, TheIdStaysAndEachEpochHasItsKey) {
  const NodeId node = keys_.node();
  ASSERT_TRUE(keys_.Rotate(to_second_).ok());
  ASSERT_TRUE(keys_.Rotate(to_third_).ok());
  EXPECT_EQ(keys_.node(), node);
  EXPECT_EQ(keys_.epoch(), 2U);
  EXPECT_EQ(keys_.present(), third_.public_key());
  EXPECT_EQ(keys_.Of(0), first_.public_key());
  EXPECT_EQ(keys_.Of(1), second_.public_key());
}

TEST_F(KeyRotationTest, TheRotationsAloneProveIdAndEpochOfAKey) {
  ASSERT_TRUE(keys_.Rotate(to_second_).ok());
  ASSERT_TRUE(keys_.Rotate(to_third_).ok());
  const std::string all = keys_.EncodeRotations();
  const auto led = NodeKeys::Through(AsBytes(all), third_.public_key());
  ASSERT_TRUE(led.ok()) << led.status();
  EXPECT_EQ(led->node(), NodeIdOf(first_.public_key()));
  EXPECT_EQ(led->epoch(), 2U);
  EXPECT_EQ(NodeKeys::Through({}, first_.public_key())->epoch(), 0U);

  const auto reason = [](std::string_view bytes, const PublicKey& present) {
    return ReasonOf(NodeKeys::Through(AsBytes(bytes), present).status());
  };
  EXPECT_EQ(reason(all, second_.public_key()), reasons::kKeyInvalid) << "another key";
  EXPECT_EQ(reason(std::string_view(all).substr(1), third_.public_key()), reasons::kKeyInvalid);
  EXPECT_EQ(reason(std::string_view(all).substr(KeyRotation::kBytes), third_.public_key()),
            reasons::kKeyInvalid)
      << "without the first rotation it is of another node";
  EXPECT_EQ(reason(std::string(KeyRotation::kBytes * (limits::kMaxKeyRotations + 1), 'x'),
                   third_.public_key()),
            reasons::kLimitExceeded);
}

TEST_F(KeyRotationTest, AFormerKeySignsNothingAfterALaterOne) {
  ASSERT_TRUE(keys_.Rotate(to_second_).ok());
  const std::string message = "entry";
  const Signature by_first = first_.Sign(AsBytes(message));
  const Signature by_second = second_.Sign(AsBytes(message));
  EXPECT_EQ(keys_.SignerOf(AsBytes(message), by_first), 0U);
  EXPECT_EQ(keys_.SignerOf(AsBytes(message), by_second), 1U);
  EXPECT_EQ(keys_.SignerOf(AsBytes(message), by_first, 1), std::nullopt);
  EXPECT_EQ(keys_.SignerOf(AsBytes(message), third_.Sign(AsBytes(message))), std::nullopt);
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
  EXPECT_EQ(reason(KeyRotation::Sign(node, 2, 3000, second_, first_)), reasons::kKeyInvalid)
      << "a key that the node had before, which may be stolen";
}

TEST_F(KeyRotationTest, ANodeRotatesNoMoreOftenThanItCanShow) {
  const auto key_of = [](uint32_t epoch) {
    return SigningKey::FromSeed(KeySeed{1, static_cast<uint8_t>(epoch)});
  };
  for (uint32_t epoch = 1; epoch <= limits::kMaxKeyRotations + 1; ++epoch) {
    const auto rotated = keys_.Rotate(
        KeyRotation::Sign(keys_.node(), epoch, epoch, key_of(epoch - 1), key_of(epoch)));
    ASSERT_EQ(ReasonOf(rotated), epoch <= limits::kMaxKeyRotations ? "" : reasons::kLimitExceeded);
  }
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

TEST_F(KeyRotationTest, ANodeKeyIsReadWithTheRotationsBesideIt) {
  const std::string folder = testing::TempDir() + "/ruvd_rotations_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/node.key";
  ASSERT_TRUE(first_.Save(path, KeyUse::kNode).ok());
  EXPECT_EQ(NodeKey::LoadOrCreate(path)->epoch(), 0U);
  ASSERT_TRUE(keys_.Rotate(to_second_).ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/node.rotations", keys_.EncodeRotations()).ok());
  EXPECT_EQ(ReasonOf(NodeKey::LoadOrCreate(path).status()), reasons::kKeyInvalid)
      << "the former key does not belong to the rotations";
  ASSERT_TRUE(second_.Save(path, KeyUse::kNode).ok());
  const auto key = NodeKey::LoadOrCreate(path);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->id(), NodeIdOf(first_.public_key()));
  EXPECT_EQ(key->epoch(), 1U);
  EXPECT_TRUE(key->HasSigned(AsBytes("m"), first_.Sign(AsBytes("m"))));
  EXPECT_FALSE(key->HasSigned(AsBytes("m"), third_.Sign(AsBytes("m"))));
  std::filesystem::remove_all(folder);
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
