// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/string_map.h"

namespace ruvd {
namespace {

// Key 00 01 .. 0f and texts 00 01 ..; computed by an independent program.
TEST(KeyedHashTest, IsSipHash13) {
  const HashKey key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
  std::string text;
  const uint64_t expected[] = {0xabac0158050fc4dcULL, 0xc9f49bf37d57ca93ULL, 0x82cb9b024dc7d44dULL,
                               0x8bf80ab8e7ddf7fbULL, 0xcf75576088d38328ULL, 0xdef9d52f49533b67ULL,
                               0xc50d2b50c59f22a7ULL, 0xd3927d989bb11140ULL, 0x369095118d299a8eULL,
                               0x25a48eb36c063de4ULL, 0x79de85ee92ff097fULL, 0x70c118c1f94dc352ULL,
                               0x78a384b157b4d9a2ULL, 0x306f760c1229ffa7ULL, 0x605aa111c0f95d34ULL,
                               0xd320d86d2a519956ULL, 0xcc4fdd1a7d908b66ULL, 0x9cf2689063dbd80cULL};
  for (const uint64_t hash : expected) {
    EXPECT_EQ(KeyedHash(text, key), hash) << text.size();
    text += static_cast<char>(text.size());
  }
}

TEST(KeyedHashTest, DependsOnEveryByteAndOnTheKey) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 20; ++length) {
    seen.insert(KeyedHash(std::string(length, '\0'), {1, 2}));
    for (size_t i = 0; i < length; ++i) {
      std::string text(length, '\0');
      text[i] = 'x';
      seen.insert(KeyedHash(text, {1, 2}));
    }
  }
  EXPECT_EQ(seen.size(), 20U + 190U);
  EXPECT_NE(KeyedHash("a", {1, 2}), KeyedHash("a", {1, 3}));
  EXPECT_NE(KeyedHash("a", {1, 2}), KeyedHash("a", {2, 2}));
}

TEST(KeyedHashTest, TheProcessHasOneKeyThatIsNotZero) {
  EXPECT_EQ(&ProcessHashKey(), &ProcessHashKey());
  EXPECT_NE(ProcessHashKey().low | ProcessHashKey().high, 0U);
}

// If everybody can compute the hash, an attacker can choose words for it.
TEST(StringMapTest, ItsHashIsNotTheLibrarys) {
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string word = std::to_string(i);
    equal += StringHash{}(word) == std::hash<std::string_view>{}(word) ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

}  // namespace
}  // namespace ruvd
