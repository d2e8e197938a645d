// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace ruvd {
namespace {

RC_GTEST_PROP(Hex, RoundTripsInBothCases, (const std::vector<uint8_t>& bytes)) {
  std::string hex = ToHex(bytes);
  RC_ASSERT(hex.size() == bytes.size() * 2);
  RC_ASSERT(FromHex(hex) == std::string(AsText(bytes)));
  std::ranges::transform(hex, hex.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  RC_ASSERT(FromHex(hex) == std::string(AsText(bytes)));
}

RC_GTEST_PROP(Hex, RefusesAnyOtherCharacter, (const std::vector<uint8_t>& bytes, char c)) {
  RC_PRE(!bytes.empty() && std::isxdigit(static_cast<unsigned char>(c)) == 0);
  std::string hex = ToHex(bytes);
  hex[*rc::gen::inRange<size_t>(0, hex.size())] = c;
  RC_ASSERT(!FromHex(hex).has_value());
}

TEST(Hex, KnownValuesAndOddLength) {
  EXPECT_EQ(ToHex(AsBytes("\x01\xAb")), "01ab");
  EXPECT_EQ(FromHex(""), "");
  EXPECT_FALSE(FromHex("abc").has_value());
}

// FIPS 180-4 examples (NIST, SHA-256 example values) and the empty text.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(ToHex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(ToHex(Sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

RC_GTEST_PROP(Sha256, PartsHashLikeTheirConcatenation,
              (const std::vector<uint8_t>& a, const std::vector<uint8_t>& b)) {
  std::vector<uint8_t> both = a;
  both.insert(both.end(), b.begin(), b.end());
  RC_ASSERT(Sha256({a, b}) == Sha256(both));
}

RC_GTEST_PROP(ByteReader, ReadsWhatByteWriterWrote,
              (uint8_t a, uint16_t b, uint32_t c, int64_t d, float e, const std::string& f)) {
  RC_PRE(e == e);
  ByteWriter writer;
  writer.Write(a).Write(b).Write(c).Write(d).Write(e).WriteText(f).WriteBytes(AsBytes(f));
  const std::string bytes = writer.str();
  RC_ASSERT(bytes.size() == 1 + 2 + 4 + 8 + 4 + 2 * f.size());
  ByteReader reader(AsBytes(bytes));
  RC_ASSERT(reader.Read<uint8_t>() == a);
  RC_ASSERT(reader.Read<uint16_t>() == b);
  RC_ASSERT(reader.Read<uint32_t>() == c);
  RC_ASSERT(reader.Read<int64_t>() == d);
  RC_ASSERT(reader.Read<float>() == e);
  RC_ASSERT(AsText(*reader.ReadBytes(f.size())) == f);
  RC_ASSERT(reader.remaining() == f.size());
  RC_ASSERT(reader.offset() == bytes.size() - f.size());
  RC_ASSERT(!reader.failed());
}

TEST(ByteWriter, IsLittleEndian) {
  EXPECT_EQ(ToHex(AsBytes(ByteWriter().Write<uint32_t>(0x01020304).Take())), "04030201");
}

TEST(ByteReader, StaysFailedAfterAReadBeyondTheEnd) {
  ByteReader reader(AsBytes("abc"));
  EXPECT_FALSE(reader.Read<uint32_t>().has_value());
  EXPECT_TRUE(reader.failed());
  EXPECT_FALSE(reader.Read<uint8_t>().has_value());
  EXPECT_FALSE(reader.ReadArray<1>().has_value());
}

TEST(ByteReader, AHugeLengthDoesNotWrapAround) {
  ByteReader reader(AsBytes("abc"));
  ASSERT_TRUE(reader.Read<uint8_t>().has_value());
  EXPECT_FALSE(reader.ReadBytes(std::numeric_limits<uint64_t>::max()).has_value());
}

TEST(ByteReader, ReadsArraysAndNothingFromNothing) {
  ByteReader reader(AsBytes("abcd"));
  EXPECT_EQ(reader.ReadArray<4>(), (std::array<uint8_t, 4>{'a', 'b', 'c', 'd'}));
  EXPECT_TRUE(reader.ReadBytes(0).has_value());
  EXPECT_EQ(reader.remaining(), 0u);
}

}  // namespace
}  // namespace ruvd
