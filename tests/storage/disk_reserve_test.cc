// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/disk_reserve.h"

#include "storage/limits.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

class DiskReserveTest : public StoreTest {
 protected:
  DiskReserve Reserve() {
    return DiskReserve({.path = "x",
                        .soft_bytes = 200 << 20,
                        .hard_bytes = 100 << 20,
                        .probe = [this](const std::string&) { return free_bytes_; },
                        .clock = &clock_});
  }
};

TEST_F(DiskReserveTest, WritersThatAskAtOnceAreNotPromisedTheSameSpace) {
  DiskReserve reserve = Reserve();
  free_bytes_ = 250 << 20;
  std::vector<SpaceClaim> claims;
  int refused = 0;
  for (int writer = 0; writer < 8; ++writer) {
    DiskReserve::Answer answer = reserve.Claim(64 << 20, ReserveLevel::kBelowSoft);
    if (auto* claim = std::get_if<SpaceClaim>(&answer)) {
      claims.push_back(std::move(*claim));
    } else {
      EXPECT_EQ(std::get<ReserveLevel>(answer), ReserveLevel::kBelowHard);
      ++refused;
    }
    clock_.Advance(limits::kReserveProbeInterval);  // a probe does not know about running writes
  }
  EXPECT_EQ(claims.size(), 2U);
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(reserve.free_bytes(), uint64_t{122} << 20);
  // The data is written: the next probe sees it on the disk.
  claims.clear();
  EXPECT_EQ(reserve.free_bytes(), uint64_t{122} << 20);
  EXPECT_EQ(reserve.LevelFor(0), ReserveLevel::kEnough);
}

TEST_F(DiskReserveTest, BulkDataIsPromisedNothingBelowTheSoftReserve) {
  DiskReserve reserve = Reserve();
  free_bytes_ = 210 << 20;
  EXPECT_TRUE(std::holds_alternative<SpaceClaim>(reserve.Claim(1 << 20, ReserveLevel::kEnough)));
  const DiskReserve::Answer answer = reserve.Claim(32 << 20, ReserveLevel::kEnough);
  EXPECT_EQ(std::get<ReserveLevel>(answer), ReserveLevel::kBelowSoft);
}

TEST_F(DiskReserveTest, CompactionAsksForTheSpaceItTakes) {
  auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kMeta, "a", std::string(100'000, 'x')).ok());
  ASSERT_TRUE(database->Flush().ok());
  free_bytes_ = 50'000;
  clock_.Advance(limits::kReserveProbeInterval);
  const absl::Status refused = database->Compact();
  EXPECT_EQ(ReasonOf(refused), reasons::kDiskFull);
  EXPECT_THAT(MessageOf(refused), testing::HasSubstr("compacting meta"));
  free_bytes_ = 1 << 20;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_TRUE(database->Compact().ok());
}

}  // namespace
}  // namespace ruvd::storage
