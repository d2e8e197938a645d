// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

Adapter ExampleAdapter(uint64_t seed) {
  Random random(seed);
  Adapter adapter;
  adapter.name = "night shift";
  adapter.version = 3;
  adapter.model_hash.fill(7);
  for (const char* name : {"blk.0.attn_q.weight", "blk.1.ffn_down.weight"}) {
    LowRank change{.rank = 2, .in = 5, .out = 3, .scale = 0.5F};
    for (size_t i = 0; i < 10; ++i) {
      change.a.push_back(static_cast<float>(random.Normal()));
    }
    for (size_t i = 0; i < 6; ++i) {
      change.b.push_back(static_cast<float>(random.Normal()));
    }
    adapter.targets.emplace(name, std::move(change));
  }
  return adapter;
}

void ExpectEqual(const Adapter& a, const Adapter& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.model_hash, b.model_hash);
  ASSERT_EQ(a.targets.size(), b.targets.size());
  for (const auto& [name, change] : a.targets) {
    const LowRank& other = b.targets.at(name);
    EXPECT_EQ(change.rank, other.rank);
    EXPECT_EQ(change.in, other.in);
    EXPECT_EQ(change.out, other.out);
    EXPECT_EQ(change.scale, other.scale);
    EXPECT_EQ(change.a, other.a);
    EXPECT_EQ(change.b, other.b);
  }
}

TEST(AdapterBytesTest, RoundTrip) {
  const Adapter adapter = ExampleAdapter(1);
  const auto decoded = DecodeAdapter(AsBytes(EncodeAdapter(adapter)));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ExpectEqual(adapter, **decoded);
}

RC_GTEST_PROP(AdapterBytesTest, EveryDamageIsRefused, (uint64_t seed)) {
  std::string bytes = EncodeAdapter(ExampleAdapter(seed));
  if (*rc::gen::arbitrary<bool>()) {
    bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size()));
  } else {
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] ^=
        static_cast<char>(1 << *rc::gen::inRange(0, 8));
  }
  RC_ASSERT(ReasonOf(DecodeAdapter(AsBytes(bytes)).status()) == reasons::kAdapterInvalid);
}

// Returns bytes with a correct checksum over wrong contents, as an attacker would send them.
std::string Resealed(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(Digest));
  const Digest checksum = Sha256(bytes);
  return bytes + std::string(AsText(checksum));
}

RC_GTEST_PROP(AdapterBytesTest, ResealedDamageNeverCrashesAndNeverGivesWrongShapes,
              (uint64_t seed)) {
  std::string bytes = EncodeAdapter(ExampleAdapter(seed));
  const size_t damaged = *rc::gen::inRange<size_t>(0, bytes.size() - sizeof(Digest));
  bytes[damaged] ^= static_cast<char>(*rc::gen::inRange(1, 256));
  const auto decoded = DecodeAdapter(AsBytes(Resealed(bytes)));
  if (decoded.ok()) {
    for (const auto& [name, change] : (*decoded)->targets) {
      RC_ASSERT(change.a.size() == static_cast<size_t>(change.rank * change.in));
      RC_ASSERT(change.b.size() == static_cast<size_t>(change.rank * change.out));
    }
  } else {
    RC_ASSERT(ReasonOf(decoded.status()) == reasons::kAdapterInvalid);
  }
}

// Offset of the first target's rank in the encoding of ExampleAdapter().
size_t RankOffset() {
  return 4 + 4 + 32 + 4 + 2 + std::strlen("night shift") + 1 + 32 + 4 + 2 +
         std::strlen("blk.0.attn_q.weight");
}

std::string WithUint32(size_t offset, uint32_t value) {
  std::string bytes = EncodeAdapter(ExampleAdapter(1));
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return Resealed(bytes);
}

TEST(AdapterBytesTest, HugeCountsAreRefusedBeforeAllocating) {
  const size_t rank = RankOffset();
  const size_t targets = rank - 2 - std::strlen("blk.0.attn_q.weight") - 4;
  for (const size_t offset : {targets, rank, rank + 4, rank + 8}) {
    for (const uint32_t value : {0U, 1U << 19, 0xFFFFFFFFU}) {
      const auto decoded = DecodeAdapter(AsBytes(WithUint32(offset, value)));
      EXPECT_EQ(ReasonOf(decoded.status()), reasons::kAdapterInvalid) << offset << " " << value;
    }
  }
}

TEST(AdapterBytesTest, ValuesThatAreNotFiniteAreRefused) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Adapter adapter = ExampleAdapter(1);
    adapter.targets.begin()->second.b[2] = value;
    const auto decoded = DecodeAdapter(AsBytes(EncodeAdapter(adapter)));
    EXPECT_THAT(MessageOf(decoded.status()), HasSubstr("not finite"));
  }
}

TEST(AdapterIdTest, IgnoresTheNameAndSeesEveryValue) {
  const Adapter adapter = ExampleAdapter(1);
  Adapter renamed = adapter;
  renamed.name = "other";
  renamed.version = 9;
  EXPECT_EQ(AdapterId(adapter), AdapterId(renamed));
  Adapter changed = adapter;
  changed.targets.begin()->second.a[0] += 1e-6F;
  EXPECT_NE(AdapterId(adapter), AdapterId(changed));
  Adapter moved = adapter;
  moved.model_hash.fill(8);
  EXPECT_NE(AdapterId(adapter), AdapterId(moved));
}

TEST(CheckAdapterTest, FindsEveryLinearLayer) {
  const test::TextModel model;
  for (const char* part :
       {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    EXPECT_NE(FindMatrix(model, fmt::format("blk.1.{}.weight", part)), nullptr) << part;
  }
  EXPECT_EQ(FindMatrix(model, "output.weight"), &model.output());
  EXPECT_EQ(FindMatrix(model, "blk.1.attn_output.weight"), &model.layer(1).output);
  for (const char* wrong : {"blk.2.attn_q.weight", "blk.-1.attn_q.weight", "blk..attn_q.weight",
                            "blk.1.attn_q", "blk.1attn_q.weight", "blk.1.weight", "attn_q.weight",
                            "blk.1.attn_norm.weight", "", "blk.99999999999.attn_q.weight"}) {
    EXPECT_EQ(FindMatrix(model, wrong), nullptr) << wrong;
  }
  EXPECT_EQ(LastLayerTensor(model, "attn_output"), "blk.1.attn_output.weight");
}

TEST(CheckAdapterTest, RefusesOtherModelsAndShapes) {
  const test::TextModel model;
  const std::string name = "blk.0.attn_q.weight";
  Adapter adapter = *test::RandomAdapter(model, {{name, FindMatrix(model, name)}}, 3);
  EXPECT_TRUE(CheckAdapter(adapter, model).ok());
  Adapter foreign = adapter;
  foreign.model_hash[5] ^= 1;
  EXPECT_EQ(ReasonOf(CheckAdapter(foreign, model)), reasons::kAdapterForOtherModel);
  Adapter misshapen = adapter;
  misshapen.targets.begin()->second.in += 1;
  EXPECT_EQ(ReasonOf(CheckAdapter(misshapen, model)), reasons::kAdapterInvalid);
  Adapter unknown = adapter;
  unknown.targets["blk.9.attn_q.weight"] = adapter.targets.begin()->second;
  EXPECT_EQ(ReasonOf(CheckAdapter(unknown, model)), reasons::kAdapterInvalid);
}

// Names come from files and peers: characters that end lines or hide text must not reach a log.
TEST(CheckAdapterTest, NamesAreShownWithoutControlCharacters) {
  const test::TextModel model;
  const std::string name = "blk.0.attn_q.weight";
  Adapter adapter = *test::RandomAdapter(model, {{name, FindMatrix(model, name)}}, 3);
  adapter.name = "night\nshift\x1b[2J";
  adapter.targets["evil\r\n\x1b[31m"] = adapter.targets.begin()->second;
  const std::string message = MessageOf(CheckAdapter(adapter, model));
  EXPECT_THAT(message, HasSubstr("night?shift?[2J@"));
  EXPECT_THAT(message, HasSubstr("evil???[31m"));
  for (const char c : message) {
    EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

}  // namespace
}  // namespace ruvd::inference
