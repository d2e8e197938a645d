// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which masked sums count, and that they are kept.

#include "node/sharing/masked_means.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "node/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/node/database_fixture.h"

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
  EXPECT_FALSE(means.RemoveMember({30}));
  EXPECT_TRUE(means.RemoveMember({11}));
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
  const storage::v1::MaskedMeans stored = ToStored(means.all());
  const auto read = FromStored(stored);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0], *means.all()[0]);
  EXPECT_EQ((*read)[1], *means.all()[1]);
  const std::vector<std::function<void(storage::v1::MaskedMean*)>> damages = {
      [](auto* mean) { mean->mutable_name()->pop_back(); },
      [](auto* mean) { mean->mutable_members(0)->pop_back(); },
      [](auto* mean) { mean->mutable_members()->SwapElements(0, 1); },
      [](auto* mean) { mean->clear_members(); },
      [](auto* mean) { mean->mutable_update()->pop_back(); },
      [](auto* mean) { mean->mutable_own(0)->mutable_pattern_id()->pop_back(); },
      [](auto* mean) { *mean->mutable_own(1) = mean->own(0); }};
  for (size_t i = 0; i < damages.size(); ++i) {
    storage::v1::MaskedMeans damaged = stored;
    damages[i](damaged.mutable_means(1));
    EXPECT_FALSE(FromStored(damaged).ok()) << i;
  }
  storage::v1::MaskedMeans many;
  while (static_cast<size_t>(many.means_size()) <= limits::kMaxMaskedMeans) {
    *many.add_means() = stored.means(0);
  }
  EXPECT_FALSE(FromStored(many).ok());
}

class SavedMaskedMeansTest : public DatabaseTest {};

TEST_F(SavedMaskedMeansTest, LastAcrossAStart) {
  storage::StateStore state(*database_);
  EXPECT_TRUE(LoadMaskedMeans(state)->empty()) << "none is stored yet";
  MaskedMeans means;
  ASSERT_TRUE(means.Add(MeanOfMembers(1, 5, 10)));
  ASSERT_TRUE(StoreMaskedMeans(state, means.all()).ok());
  const auto read = LoadMaskedMeans(state);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0], *means.all()[0]);
  DamageState(storage::state::MaskedMeans());
  EXPECT_FALSE(LoadMaskedMeans(state).ok());
}

}  // namespace
}  // namespace ruvd::sharing
