// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the bytes of docs/wire-format.md for masked sums, which an independent program computed.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "privacy/masking/mask_key.h"
#include "privacy/masking/masking_session.h"
#include "privacy/masking/messages.h"

namespace ruvd::privacy::masking {
namespace {

// The value is the first 32 bytes of RFC 5869, appendix A.1.
TEST(MaskingVectors, HkdfIsThatOfRfc5869) {
  const std::string secret(22, 0x0B);
  const std::string salt = FromHex("000102030405060708090a0b0c").value();
  const std::string info = FromHex("f0f1f2f3f4f5f6f7f8f9").value();
  EXPECT_EQ(ToHex(HkdfSha256(AsBytes(secret), AsBytes(salt), AsBytes(info))),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

class WorkedExample : public testing::Test {
 protected:
  static Digest Filled(uint8_t byte) {
    Digest digest;
    digest.fill(byte);
    return digest;
  }
  // Makes a node whose id and secret key are 32 times `byte`.
  MaskingSession Node(uint8_t byte) const {
    return MaskingSession::Begin({.cluster = Filled(0x44), .round = 3}, layout_, Filled(byte),
                                 [byte](std::span<uint8_t> out) { std::ranges::fill(out, byte); })
        .value();
  }

  MaskLayout layout_ = {.model_hash = Filled(0x11),
                        .frame_id = Filled(0x22),
                        .bank_values = {2, 1},
                        .grid = {.exponent = -9, .clip_units = 512, .sigma_units = 300},
                        .colluders = 1};
};

TEST_F(WorkedExample, HasTheBytesOfTheDocument) {
  MaskingSession first = Node(1);
  std::vector<NodeId> others;
  for (const uint8_t byte : {2, 3, 4}) {
    others.push_back(Filled(byte));
    ASSERT_TRUE(first.AddOffer(others.back(), Node(byte).offer()).ok());
  }
  EXPECT_EQ(ToHex(layout_.Hash()),
            "8d26107df882fec59462f67c9f0601665f30fdadd084a57967ab1ffabb548629");
  EXPECT_EQ(ToHex(AsBytes(EncodeOffer(first.offer()))),
            "010003000000000000008d26107df882fec59462f67c9f0601665f30fdadd084a57967ab1ffabb548629a4"
            "e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209");
  const Clique clique = first.CliqueOf(others).value();
  EXPECT_EQ(ToHex(clique.SetHash()),
            "c95fc7754c651250d891c4e8e1cfb65ca5e248aa6cf30a48456472b21ad01121");
  EXPECT_EQ(ToHex(AsBytes(EncodeMaskedUpdate(first.Mask(clique, {4, {5, -5, 0}}).value()))),
            "010003000000000000000101010101010101010101010101010101010101010101010101010101010101c9"
            "5fc7754c651250d891c4e8e1cfb65ca5e248aa6cf30a48456472b21ad011218d26107df882fec59462f67c"
            "9f0601665f30fdadd084a57967ab1ffabb54862903000000c4c46ba34d22fda016b2f04d");
}

TEST_F(WorkedExample, ALimitAndAThirdOfColludersAreHashed) {
  layout_.colluders = kThirdColludes;
  layout_.unit_limit = 2'097'152;
  EXPECT_EQ(ToHex(layout_.Hash()),
            "d2888b53e328482eb16e29d4ca8729172427d754a81de280f5f6163bbed69f41");
}

}  // namespace
}  // namespace ruvd::privacy::masking
