// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/granted_keys.h"

#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/node_key.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/rotated_key.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;

const GrantedKeys kGranted = {
    {NodeId{1}, {.epoch = 2, .key = PublicKey{11}, .former_until_ms = kNow}},
    {NodeId{2}, {.epoch = 1, .key = PublicKey{12}, .former_until_ms = kNow + 1}}};

TEST(GrantedKeys, AreReadAsTheyWereAndNoOtherBytes) {
  const std::string good = EncodeGrantedKeys(kGranted);
  EXPECT_EQ(DecodeGrantedKeys(AsBytes(good)).value(), kGranted);
  EXPECT_TRUE(DecodeGrantedKeys(AsBytes(EncodeGrantedKeys({}))).value().empty());
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(ReasonOf(DecodeGrantedKeys(AsBytes(good).first(i)).status()), reasons::kKeyInvalid);
  }
  EXPECT_FALSE(DecodeGrantedKeys(AsBytes(good + 'x')).ok());
  std::string huge = good.substr(0, 12);
  huge.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_FALSE(DecodeGrantedKeys(AsBytes(huge)).ok());
  const size_t row = (good.size() - 12) / 2;
  EXPECT_FALSE(
      DecodeGrantedKeys(AsBytes(good.substr(0, 12) + good.substr(12 + row) + good.substr(12, row)))
          .ok())
      << "out of order";
}

TEST(GrantedKeys, NoEarlierKeyAndNoOtherOfTheEpochIsCertified) {
  const auto reason = [](uint8_t node, uint32_t epoch, uint8_t key) {
    return ReasonOf(RequireNewest(kGranted, NodeId{node}, epoch, PublicKey{key}));
  };
  EXPECT_EQ(reason(1, 1, 10), reasons::kKeyEpochRefused);
  EXPECT_EQ(reason(1, 2, 99), reasons::kKeyEpochRefused) << "a thief's";
  EXPECT_EQ(reason(1, 2, 11), "");
  EXPECT_EQ(reason(1, 3, 20), "") << "the authority itself signed that it follows";
  EXPECT_EQ(reason(3, 0, 30), "") << "it never replaced its key";
}

// Found by a review: a thief of the first key had two rotations of its own certified, and the node
// was shut out of its id.
TEST(GrantedKeys, RotationsThatLeadAroundTheGrantedKeyWereTaken) {
  const NodeKey honest = test::RotatedKey(KeySeed{1}, KeySeed{2});
  const GrantedKeys granted = {{honest.id(), {.epoch = 1, .key = honest.public_key()}}};
  const auto reason = [&granted](const NodeKeys& shown) {
    return ReasonOf(RequireThroughGranted(granted, shown));
  };
  const auto after = [](const NodeKey& key, uint8_t seed) {
    NodeKeys keys = key.keys();
    EXPECT_TRUE(keys.Rotate(key.RotateTo(SigningKey::FromSeed(KeySeed{seed}), 2000)).ok());
    return keys;
  };
  EXPECT_EQ(reason(honest.keys()), "");
  EXPECT_EQ(reason(after(honest, 3)), "");
  EXPECT_EQ(reason(NodeKey::FromSeed(KeySeed{1}).keys()), reasons::kKeyEpochRefused);
  const NodeKey thief = test::RotatedKey(KeySeed{1}, KeySeed{7});
  ASSERT_EQ(thief.id(), honest.id());
  EXPECT_EQ(reason(thief.keys()), reasons::kKeyEpochRefused);
  EXPECT_EQ(reason(after(thief, 8)), reasons::kKeyEpochRefused);
  EXPECT_EQ(reason(NodeKey::FromSeed(KeySeed{9}).keys()), "") << "another node";
}

TEST(GrantedKeys, EndFormerKeysWhenTheirTimeIsOver) {
  const auto ended = [](int64_t now_ms) { return EndedAt(kGranted, now_ms); };
  EXPECT_TRUE(ended(kNow - 1).empty());
  ASSERT_EQ(ended(kNow).size(), 1U);
  EXPECT_EQ(ended(kNow)[0].id, NodeId{1});
  EXPECT_EQ(ended(kNow)[0].least_epoch, 2U);
  EXPECT_EQ(ended(kNow + 1).size(), 2U);
  // By then every certificate of the former key has ended, so the list need not name it.
  EXPECT_EQ(ended(kNow + limits::kRevocationLifeMillis).size(), 1U);
}

}  // namespace
}  // namespace ruvd::privacy
