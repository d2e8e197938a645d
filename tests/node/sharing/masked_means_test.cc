// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which masked sums count, and that they are kept.

#include "node/sharing/masked_means.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/reasons.h"

namespace ruvd::sharing {
namespace {

MaskedMean MeanOfMembers(uint8_t name, uint64_t round, uint8_t first) {
  MaskedMean mean{.name = {name}, .round = round, .expires_ms = 1000, .members = {}};
  for (uint8_t i = 0; i < 4; ++i) {
    mean.members.push_back({static_cast<uint8_t>(first + i)});
  }
  mean.update = {.model_hash = {1},
                 .frame_id = {2},
                 .boundaries = {0.5F},
                 .modules = {{.target = "blk.0.attn_output.weight", .rows = 1, .columns = 2}},
                 .banks = {{.bank = 0, .values = {1, 2}}, {.bank = 1, .values = {-3, 0.5F}}}};
  mean.own = {{{7}, 70}, {{8}, 80}};
  return mean;
}

std::vector<uint8_t> NamesOf(const MaskedMeans& means) {
  std::vector<uint8_t> names;
  for (const auto& mean : means.all()) {
    names.push_back(mean->name[0]);
  }
  return names;
}

TEST(MaskedMeans, ANewerSumTakesThePlaceOfThoseThatShareAMember) {
  MaskedMeans means;
  EXPECT_TRUE(means.Add(MeanOfMembers(1, 5, 10)));
  EXPECT_TRUE(means.Add(MeanOfMembers(2, 5, 20)));
  EXPECT_FALSE(means.Add(MeanOfMembers(1, 5, 10))) << "known";
  EXPECT_TRUE(means.Add(MeanOfMembers(3, 6, 13))) << "node 13 is in the first";
  EXPECT_EQ(NamesOf(means), (std::vector<uint8_t>{2, 3}));
  EXPECT_FALSE(means.Add(MeanOfMembers(4, 6, 16))) << "as old as one with node 16";
  EXPECT_FALSE(means.Add(MeanOfMembers(1, 5, 10))) << "older than one with node 13";
  ASSERT_NE(means.Of({22}), nullptr);
  EXPECT_EQ(means.Of({22})->name[0], 2);
  EXPECT_EQ(means.Of({10}), nullptr);
}

TEST(MaskedMeans, GoWithTheirTimeAndTheirMembers) {
  MaskedMeans means;
  ASSERT_TRUE(means.Add(MeanOfMembers(1, 5, 10)));
  ASSERT_TRUE(means.Add(MeanOfMembers(2, 5, 20)));
  EXPECT_FALSE(means.RemoveThoseOf({30}));
  EXPECT_TRUE(means.RemoveThoseOf({11}));
  EXPECT_EQ(NamesOf(means), std::vector<uint8_t>{2});
  EXPECT_FALSE(means.Expire(999));
  EXPECT_TRUE(means.Expire(1000));
  EXPECT_TRUE(means.all().empty());
}

TEST(MaskedMeans, AreFew) {
  MaskedMeans means;
  for (uint64_t i = 0; i <= limits::kMaxMaskedMeans; ++i) {
    MaskedMean mean = MeanOfMembers(static_cast<uint8_t>(i + 1), 1 + i, 0);
    for (privacy::NodeId& id : mean.members) {
      id[1] = static_cast<uint8_t>(i + 1);
    }
    ASSERT_TRUE(means.Add(std::move(mean)));
  }
  EXPECT_EQ(means.all().size(), limits::kMaxMaskedMeans);
  EXPECT_EQ(means.all().front()->round, 2u) << "the oldest is gone";
}

TEST(MaskedMeans, AreReadBackAsTheyWereAndNothingElseIs) {
  MaskedMeans means;
  ASSERT_TRUE(means.Add(MeanOfMembers(1, 5, 10)));
  ASSERT_TRUE(means.Add(MeanOfMembers(2, 6, 20)));
  const std::string bytes = EncodeMaskedMeans(means.all());
  const auto read = DecodeMaskedMeans(AsBytes(bytes));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0], *means.all()[0]);
  EXPECT_EQ((*read)[1], *means.all()[1]);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeMaskedMeans(AsBytes(bytes).first(size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeMaskedMeans(AsBytes(bytes + "x")).ok());
}

TEST(MaskedMeansFile, IsSealedAndLasts) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "masked-means-file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "means";
  const MaskedMeansFile file(path, privacy::SealKey::Generate());
  EXPECT_TRUE(file.Load()->empty()) << "there is none";
  MaskedMeans means;
  ASSERT_TRUE(means.Add(MeanOfMembers(1, 5, 10)));
  ASSERT_TRUE(file.Keep(means.all()).ok());
  const auto read = file.Load();
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0], *means.all()[0]);
  EXPECT_EQ(ReasonOf(MaskedMeansFile(path, privacy::SealKey::Generate()).Load().status()),
            reasons::kSealBroken);
  EXPECT_TRUE(MaskedMeansFile().Keep(means.all()).ok()) << "without a key nothing lasts";
  EXPECT_TRUE(MaskedMeansFile().Load()->empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ruvd::sharing
