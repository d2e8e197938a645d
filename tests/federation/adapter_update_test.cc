// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/adapter_update.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>

#include "base/bytes.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/bank_alignment.h"
#include "federation/limits.h"
#include "tests/paths.h"

namespace ruvd::test {
namespace {

// The worked example of docs/wire-format.md; the bytes come from Python's struct.
constexpr char kExample[] =
    "0100011111111111111111111111111111111111111111111111111111111111"
    "1111112222222222222222222222222222222222222222222222222222222222"
    "2222220300000000000000780000000000000000000000000033333333333333"
    "33333300000000029a99993e9a99193f020000001800626c6b2e302e6174746e"
    "5f6f75747075742e77656967687402000000020000001500626c6b2e312e6666"
    "6e5f646f776e2e77656967687401000000020000000200000000000000000080"
    "3f00000000000000bf0000803e00000040000000c0020000000000003f000000"
    "3f0000000000000000000080bf0000c03f";

federation::AdapterUpdate Example() {
  federation::AdapterUpdate update;
  update.model_hash.fill(0x11);
  update.frame_id.fill(0x22);
  update.round = 3;
  update.examples = 120;
  update.schedule = {0, 0, 0, 13107, 13107, 13107, 13107, 13107, 0, 0};
  update.boundaries = {0.3F, 0.6F};
  update.modules = {{"blk.0.attn_output.weight", 2, 2}, {"blk.1.ffn_down.weight", 1, 2}};
  update.banks = {{0, {1, 0, -0.5F, 0.25F, 2, -2}}, {2, {0.5F, 0.5F, 0, 0, -1, 1.5F}}};
  return update;
}

federation::AdapterUpdateRules RulesOfExample() {
  const federation::AdapterUpdate example = Example();
  return {.kind = example.kind,
          .model_hash = example.model_hash,
          .frame_id = example.frame_id,
          .modules = example.modules,
          .max_norm = 5};
}

TEST(AdapterUpdate, HasTheBytesOfTheDocument) {
  EXPECT_EQ(ToHex(AsBytes(federation::EncodeAdapterUpdate(Example()))), kExample);
  std::ifstream file(test::SourceDir() + "/docs/wire-format.md");
  std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::erase_if(document, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_NE(document.find(kExample), std::string::npos);
}

TEST(AdapterUpdate, RoundTripsAndRefusesEveryTruncation) {
  const std::string bytes = federation::EncodeAdapterUpdate(Example());
  const auto decoded = federation::DecodeAdapterUpdate(AsBytes(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, Example());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReasonOf(federation::DecodeAdapterUpdate(AsBytes(bytes.substr(0, length))).status()),
              reasons::kUpdateInvalid)
        << length;
  }
  EXPECT_FALSE(federation::DecodeAdapterUpdate(AsBytes(bytes + "x")).ok());
}

TEST(AdapterUpdate, WhatIsNotCanonicalIsNotDecoded) {
  const auto decodes = [](auto change) {
    federation::AdapterUpdate update = Example();
    change(update);
    return federation::DecodeAdapterUpdate(AsBytes(federation::EncodeAdapterUpdate(update))).ok();
  };
  EXPECT_TRUE(decodes([](federation::AdapterUpdate&) {}));
  EXPECT_TRUE(decodes([](federation::AdapterUpdate& u) { u.schedule = {}; }));
  EXPECT_TRUE(decodes([](federation::AdapterUpdate& u) { u.kind = federation::FactorKind::kFfa; }));
  EXPECT_FALSE(decodes(
      [](federation::AdapterUpdate& u) { u.kind = static_cast<federation::FactorKind>(3); }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { ++u.schedule[0]; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.boundaries = {0.6F, 0.3F}; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.boundaries = {0.3F, 0.3F}; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.boundaries = {0.0F, 0.3F}; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.boundaries = {0.3F, 1.0F}; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.boundaries = {0.3F, NAN}; }));
  EXPECT_FALSE(
      decodes([](federation::AdapterUpdate& u) { u.boundaries = {0.3F}; }));  // bank 2 of 2
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { std::swap(u.banks[0], u.banks[1]); }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.banks[1].bank = 0; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.banks.clear(); }));
  EXPECT_FALSE(
      decodes([](federation::AdapterUpdate& u) { std::swap(u.modules[0], u.modules[1]); }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.modules[0].rows = 0; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.banks[1].values[3] = NAN; }));
  EXPECT_FALSE(decodes([](federation::AdapterUpdate& u) { u.banks[0].values[0] = -INFINITY; }));
}

TEST(AdapterUpdate, HugeDeclaredSizesAreRefusedBeforeAllocation) {
  federation::AdapterUpdate head = Example();
  head.modules.clear();
  head.banks.clear();
  const std::string bytes = federation::EncodeAdapterUpdate(head);
  const std::string prefix = bytes.substr(0, bytes.size() - 8);  // without both counts
  ByteWriter modules;
  modules.WriteText(prefix).Write(UINT32_MAX);
  EXPECT_FALSE(federation::DecodeAdapterUpdate(AsBytes(modules.str())).ok());
  ByteWriter large;
  large.WriteText(prefix).Write(uint32_t{1}).Write(uint16_t{1}).WriteText("a");
  large.Write(limits::kMaxFactorRows).Write(limits::kMaxRank).Write(uint32_t{1});
  large.Write(uint32_t{0});
  EXPECT_FALSE(federation::DecodeAdapterUpdate(AsBytes(large.str())).ok());
  ByteWriter rows;
  rows.WriteText(prefix).Write(uint32_t{1}).Write(uint16_t{1}).WriteText("a");
  rows.Write(UINT32_MAX).Write(UINT32_MAX).Write(uint32_t{1}).Write(uint32_t{0});
  EXPECT_FALSE(federation::DecodeAdapterUpdate(AsBytes(rows.str())).ok());
}

TEST(AdapterUpdate, ChecksModelFrameKindShapeFinitenessAndNorm) {
  const auto reason_of = [](auto change) {
    federation::AdapterUpdate update = Example();
    change(update);
    return ReasonOf(federation::CheckAdapterUpdate(update, RulesOfExample()));
  };
  EXPECT_EQ(reason_of([](federation::AdapterUpdate&) {}), "");
  EXPECT_EQ(reason_of([](federation::AdapterUpdate& u) { u.model_hash[0] ^= 1; }),
            reasons::kModelMismatch);
  EXPECT_EQ(reason_of([](federation::AdapterUpdate& u) { u.frame_id[31] ^= 1; }),
            reasons::kFrameMismatch);
  const auto invalid = [&](auto change) { EXPECT_EQ(reason_of(change), reasons::kUpdateInvalid); };
  invalid([](federation::AdapterUpdate& u) { u.kind = federation::FactorKind::kFfa; });
  invalid([](federation::AdapterUpdate& u) { u.modules.pop_back(); });
  invalid([](federation::AdapterUpdate& u) { u.modules[1].target = "blk.1.none"; });
  invalid([](federation::AdapterUpdate& u) { u.modules[1].rows = 2; });
  invalid([](federation::AdapterUpdate& u) { u.banks[0].values.pop_back(); });
  invalid([](federation::AdapterUpdate& u) { u.banks[0].values[1] = NAN; });
  invalid([](federation::AdapterUpdate& u) { u.banks[0].values[1] = 4.5F; });
  invalid([](federation::AdapterUpdate& u) {
    u.banks[0].values[1] = std::numeric_limits<float>::max();
  });
}

TEST(AdapterUpdate, TheNormIsOfAllBanksTogether) {
  federation::AdapterUpdate update = Example();
  update.banks = {{0, {3, 0, 0, 0, 0, 0}}, {1, {0, 0, 0, 0, 0, 4}}};
  EXPECT_DOUBLE_EQ(federation::NormOf(update), 5);
}

RC_GTEST_PROP(TimestepHistogram, AddsUpToTheWholeInProportion, (uint64_t seed)) {
  Random random(seed);
  std::array<uint64_t, federation::kScheduleBins> counts{};
  for (uint64_t& count : counts) {
    count = random.Below(1000);
  }
  counts[3] += 1;
  const federation::TimestepHistogram histogram = federation::HistogramOf(counts);
  RC_ASSERT(std::accumulate(histogram.begin(), histogram.end(), 0) ==
            int{federation::kScheduleUnit});
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (size_t i = 0; i < federation::kScheduleBins; ++i) {
    const double exact = static_cast<double>(counts[i]) / sum * federation::kScheduleUnit;
    RC_ASSERT(std::abs(exact - histogram[i]) < 1);
  }
}

TEST(TimestepHistogram, OfNothingIsZero) {
  EXPECT_EQ(federation::HistogramOf({}), federation::TimestepHistogram{});
}

// An update of random banks, some of them absent.
federation::AdapterUpdate RandomUpdate(Random& random, std::vector<float> boundaries,
                                       double present) {
  federation::AdapterUpdate update;
  update.modules = {{"m", 2, 3}};
  update.boundaries = std::move(boundaries);
  for (uint32_t bank = 0; bank <= update.boundaries.size(); ++bank) {
    if (random.Bernoulli(present)) {
      federation::BankValues& values = update.banks.emplace_back();
      values.bank = bank;
      for (int i = 0; i < 6; ++i) {
        values.values.push_back(static_cast<float>(random.Normal()));
      }
    }
  }
  return update;
}

std::vector<float> RandomBoundaries(Random& random) {
  std::vector<float> boundaries;
  for (float at = 0; boundaries.size() < 6;) {
    at += static_cast<float>(0.05 + 0.4 * random.Uniform());
    if (at >= 1) {
      break;
    }
    boundaries.push_back(at);
  }
  return boundaries;
}

// Returns y = U C(t) x of the update as a node would apply it at t, with U 4 x 2 and x such that D
// x is 3 long.
std::vector<double> ApplyResult(std::span<const float> core, Random random) {
  std::vector<double> y(4);
  std::vector<double> z(3);
  for (double& v : z) {
    v = random.Normal();
  }
  for (double& v : y) {
    for (size_t r = 0; r < 2; ++r) {
      const double u = random.Normal();
      for (size_t c = 0; c < 3; ++c) {
        v += u * double{core[r * 3 + c]} * z[c];
      }
    }
  }
  return y;
}

const federation::BankValues* BankOfT(const federation::AdapterUpdate& update, float t) {
  for (const federation::BankValues& bank : update.banks) {
    if (bank.bank == federation::BankAt(update.boundaries, t)) {
      return &bank;
    }
  }
  return nullptr;
}

std::vector<float> CommonBoundaries(std::span<const float> a, std::span<const float> b) {
  std::vector<float> all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

RC_GTEST_PROP(BankAlignment, OntoCommonBoundariesActsAsTheUpdateAtEveryT, (uint64_t seed)) {
  Random random(seed);
  const federation::AdapterUpdate update = RandomUpdate(random, RandomBoundaries(random), 0.8);
  const std::vector<float> common = CommonBoundaries(update.boundaries, RandomBoundaries(random));
  const std::vector<federation::AlignedBank> aligned = federation::AlignBanks(update, common);
  for (int i = 0; i < 50; ++i) {
    const auto t = static_cast<float>(random.Uniform());
    const federation::AlignedBank& bank = aligned[federation::BankAt(common, t)];
    const federation::BankValues* direct = BankOfT(update, t);
    RC_ASSERT((direct == nullptr) == bank.values.empty());
    if (direct != nullptr) {
      RC_ASSERT(ApplyResult(bank.values, Random(seed)) ==
                ApplyResult(direct->values, Random(seed)));
      RC_ASSERT(bank.coverage == 1);
    }
  }
}

// A coarser bank applies the mean over t of what the update applies: checked by the midpoint rule
// over the update's own pieces, which is exact for steps.
RC_GTEST_PROP(BankAlignment, OntoOtherBoundariesIsTheMeanOverT, (uint64_t seed)) {
  Random random(seed);
  const federation::AdapterUpdate update = RandomUpdate(random, RandomBoundaries(random), 1);
  const std::vector<float> own = RandomBoundaries(random);
  const std::vector<federation::AlignedBank> aligned = federation::AlignBanks(update, own);
  std::vector<float> edges = CommonBoundaries(update.boundaries, own);
  edges.insert(edges.begin(), 0);
  edges.push_back(1);
  for (size_t bank = 0; bank <= own.size(); ++bank) {
    std::vector<double> mean(4);
    double length = 0;
    for (size_t piece = 0; piece + 1 < edges.size(); ++piece) {
      const float middle = (edges[piece] + edges[piece + 1]) / 2;
      if (federation::BankAt(own, middle) != bank) {
        continue;
      }
      const double width = double{edges[piece + 1]} - double{edges[piece]};
      const auto y = ApplyResult(BankOfT(update, middle)->values, Random(seed));
      for (size_t i = 0; i < y.size(); ++i) {
        mean[i] += width * y[i];
      }
      length += width;
    }
    const auto y = ApplyResult(aligned[bank].values, Random(seed));
    for (size_t i = 0; i < y.size(); ++i) {
      RC_ASSERT(std::abs(y[i] - mean[i] / length) < 1e-5);
    }
    RC_ASSERT(std::abs(aligned[bank].coverage - 1) < 1e-6);
  }
}

TEST(BankAlignment, CoverageIsTheShareThatIsTold) {
  federation::AdapterUpdate update;
  update.modules = {{"m", 1, 1}};
  update.boundaries = {0.25F, 0.5F};
  update.banks = {{1, {8}}};
  const std::vector<federation::AlignedBank> whole = federation::AlignBanks(update, {});
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].coverage, 0.25);
  EXPECT_EQ(whole[0].values, std::vector<float>{8});
  const std::vector<float> half = {0.5F};
  const std::vector<federation::AlignedBank> two = federation::AlignBanks(update, half);
  EXPECT_EQ(two[0].coverage, 0.5);
  EXPECT_EQ(two[1].coverage, 0);
  EXPECT_TRUE(two[1].values.empty());
}

TEST(BankAlignment, ATwentiethOfABankIsTheLeastThatCounts) {
  federation::AdapterUpdate update;
  update.modules = {{"m", 1, 1}};
  update.boundaries = {0.0625F, 0.125F};
  update.banks = {{0, {8}}};
  EXPECT_EQ(federation::AlignBanks(update, {})[0].coverage, 0.0625);
  update.boundaries[0] = 0.03125F;
  EXPECT_EQ(federation::AlignBanks(update, {})[0].coverage, 0);
  EXPECT_TRUE(federation::AlignBanks(update, {})[0].values.empty());
}

}  // namespace
}  // namespace ruvd::test
