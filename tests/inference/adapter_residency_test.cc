// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Which versions of adapters are served, pinned and in memory.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/registry.h"
#include "inference/reasons.h"

namespace ruvd::inference {
namespace {

constexpr uint64_t kBytes = 800;  // of each adapter here

std::shared_ptr<const Adapter> MakeAdapter(const std::string& name, uint32_t version,
                                           float value = 1) {
  auto adapter = std::make_shared<Adapter>();
  adapter->name = name;
  adapter->version = version;
  adapter->targets["blk.0.attn_q.weight"] = {.rank = 1,
                                             .in = 100,
                                             .out = 100,
                                             .a = std::vector<float>(100, value),
                                             .b = std::vector<float>(100, value)};
  return adapter;
}

class ResidencyTest : public ::testing::Test {
 protected:
  // Publishes an adapter that can be read again, and counts the reads.
  absl::Status Publish(const std::string& name, uint32_t version) {
    return registry_.Publish(MakeAdapter(name, version), [this, name, version] {
      ++reads_[name + "@" + std::to_string(version)];
      return absl::StatusOr<std::shared_ptr<const Adapter>>(MakeAdapter(name, version));
    });
  }
  bool Hot(const std::string& name, uint32_t version) const {
    for (const VersionInfo& info : registry_.List()) {
      if (info.name == name && info.version == version) {
        return info.hot;
      }
    }
    ADD_FAILURE() << "no " << name << "@" << version;
    return false;
  }
  std::map<std::string, int> reads_;
  AdapterRegistry registry_{Digest{}, 2 * kBytes};
};

TEST_F(ResidencyTest, TheLeastRecentlyUsedBecomesCold) {
  ASSERT_TRUE(Publish("a", 1).ok());
  ASSERT_TRUE(Publish("b", 1).ok());
  EXPECT_EQ(registry_.Stats().hot_bytes, 2 * kBytes);
  ASSERT_TRUE(registry_.Get("a").ok());
  ASSERT_TRUE(Publish("c", 1).ok());
  EXPECT_TRUE(Hot("a", 1));
  EXPECT_FALSE(Hot("b", 1));
  EXPECT_TRUE(Hot("c", 1));
  EXPECT_EQ(registry_.Stats().hot_bytes, 2 * kBytes);
  EXPECT_EQ(registry_.Stats().evictions, 1U);
  EXPECT_EQ((*registry_.Get("b"))->name, "b") << "read again";
  EXPECT_EQ(reads_["b@1"], 1);
  EXPECT_FALSE(Hot("a", 1));
  EXPECT_EQ(registry_.Stats().loads, 1U);
}

TEST_F(ResidencyTest, WhatSomebodyHoldsIsNotReadTwice) {
  ASSERT_TRUE(Publish("a", 1).ok());
  const auto held = registry_.Get("a").value();
  ASSERT_TRUE(Publish("b", 1).ok());
  ASSERT_TRUE(Publish("c", 1).ok());
  ASSERT_FALSE(Hot("a", 1));
  EXPECT_EQ(registry_.Get("a").value(), held);
  EXPECT_TRUE(reads_.empty());
}

TEST_F(ResidencyTest, PinnedVersionsStay) {
  ASSERT_TRUE(Publish("a", 1).ok());
  ASSERT_TRUE(registry_.Pin("a", 1).ok());
  ASSERT_TRUE(Publish("b", 1).ok());
  ASSERT_TRUE(Publish("c", 1).ok());
  EXPECT_TRUE(Hot("a", 1)) << "used least recently, but pinned";
  EXPECT_FALSE(Hot("b", 1));
  EXPECT_EQ(ReasonOf(registry_.Remove("a", 1)), reasons::kAdapterPinned);
  ASSERT_TRUE(registry_.Unpin("a", 1).ok());
  ASSERT_TRUE(registry_.Get("c").ok());
  ASSERT_TRUE(Publish("d", 1).ok());
  EXPECT_FALSE(Hot("a", 1));
  EXPECT_TRUE(registry_.Remove("a", 1).ok());
  EXPECT_EQ(ReasonOf(registry_.Pin("a", 1)), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(registry_.Unpin("a", 1)), reasons::kNotFound);
}

TEST_F(ResidencyTest, PinningReadsWhatIsCold) {
  ASSERT_TRUE(Publish("a", 1).ok());
  ASSERT_TRUE(Publish("b", 1).ok());
  ASSERT_TRUE(Publish("c", 1).ok());
  ASSERT_FALSE(Hot("a", 1));
  ASSERT_TRUE(registry_.Pin("a", 1).ok());
  EXPECT_TRUE(Hot("a", 1));
  EXPECT_EQ(registry_.Stats().hot_bytes, 2 * kBytes);
}

TEST_F(ResidencyTest, WhatCannotBeReadAgainIsNeverEvicted) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(registry_.Publish(MakeAdapter(name, 1)).ok());
  }
  EXPECT_EQ(registry_.Stats().hot_bytes, 3 * kBytes) << "above the budget";
  ASSERT_TRUE(Publish("d", 1).ok());
  EXPECT_FALSE(Hot("d", 1));
  EXPECT_TRUE(registry_.Get("d").ok());
}

TEST_F(ResidencyTest, RemovalGivesTheMemoryBack) {
  ASSERT_TRUE(Publish("a", 1).ok());
  ASSERT_TRUE(Publish("a", 2).ok());
  ASSERT_TRUE(registry_.Remove("a", 1).ok());
  EXPECT_EQ(registry_.Stats().hot_bytes, kBytes);
  EXPECT_EQ(registry_.Stats().versions, 1U);
}

TEST(ColdAdapterTest, WhatChangedOnDiskIsRefused) {
  AdapterRegistry registry{Digest{}, 0};
  float value = 1;
  ASSERT_TRUE(registry
                  .Publish(MakeAdapter("a", 1, 1),
                           [&] {
                             return absl::StatusOr<std::shared_ptr<const Adapter>>(
                                 MakeAdapter("a", 1, value));
                           })
                  .ok());
  EXPECT_TRUE(registry.Get("a").ok());
  value = 2;
  EXPECT_EQ(ReasonOf(registry.Get("a").status()), reasons::kAdapterInvalid);
  EXPECT_EQ(ReasonOf(registry.Serve("a", 1)), reasons::kAdapterInvalid);
}

TEST(ColdAdapterTest, LoadersErrorsNameTheAdapter) {
  AdapterRegistry registry{Digest{}, 0};
  ASSERT_TRUE(registry
                  .Publish(MakeAdapter("a", 1),
                           []() -> absl::StatusOr<std::shared_ptr<const Adapter>> {
                             return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                                          "gone");
                           })
                  .ok());
  const absl::Status status = registry.Get("a").status();
  EXPECT_EQ(ReasonOf(status), reasons::kFileNotFound);
  EXPECT_EQ(MessageOf(status), "adapter a@1: gone");
}

TEST(ServedVersionTest, RollbackAndPublish) {
  AdapterRegistry registry{Digest{}};
  for (const uint32_t version : {1U, 2U, 4U}) {
    ASSERT_TRUE(registry.Publish(MakeAdapter("a", version)).ok());
  }
  const auto held = registry.Get("a").value();
  EXPECT_EQ(registry.Rollback("a").value(), 2U);
  EXPECT_EQ(registry.Get("a").value()->version, 2U);
  EXPECT_EQ(held->version, 4U) << "who has begun goes on";
  EXPECT_EQ(registry.Get("a", 4).value()->version, 4U) << "by its number";
  EXPECT_EQ(registry.Rollback("a").value(), 1U);
  EXPECT_EQ(ReasonOf(registry.Rollback("a").status()), reasons::kNotFound);
  ASSERT_TRUE(registry.Publish(MakeAdapter("a", 3)).ok());
  EXPECT_EQ(registry.Get("a").value()->version, 1U) << "3 is not the highest";
  ASSERT_TRUE(registry.Publish(MakeAdapter("a", 5)).ok());
  EXPECT_EQ(registry.Get("a").value()->version, 5U);
  ASSERT_TRUE(registry.Serve("a", 3).ok());
  EXPECT_EQ(registry.Get("a").value()->version, 3U);
  ASSERT_TRUE(registry.Remove("a", 3).ok());
  EXPECT_EQ(registry.Get("a").value()->version, 5U);
  EXPECT_EQ(ReasonOf(registry.Serve("a", 9)), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(registry.Rollback("b").status()), reasons::kNotFound);
}

TEST(ResidencyRaceTest, ReadersOfColdVersionsMayRace) {
  AdapterRegistry registry{Digest{}, kBytes};
  std::atomic<int> reads = 0;
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(registry
                    .Publish(MakeAdapter(name, 1),
                             [&reads, name] {
                               ++reads;
                               return absl::StatusOr<std::shared_ptr<const Adapter>>(
                                   MakeAdapter(name, 1));
                             })
                    .ok());
  }
  const auto read = [&] {
    for (int i = 0; i < 500; ++i) {
      for (const char* name : {"a", "b", "c"}) {
        ASSERT_EQ(registry.Get(name).value()->name, name);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back(read);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(registry.Stats().hot_bytes, kBytes);
  EXPECT_GE(reads, 2);
  EXPECT_EQ(registry.Stats().loads, static_cast<uint64_t>(reads));
}

// Regression test: what was served while the earlier version was read did not count, so one of the
// two rollbacks was lost.
TEST_F(ResidencyTest, OfTwoRollbacksAtOnceEachGoesBackByOne) {
  int inner = 0;
  for (const uint32_t version : {1U, 2U, 3U}) {
    ASSERT_TRUE(registry_
                    .Publish(MakeAdapter("a", version),
                             [&, version] {
                               // While the first one reads, another one begins and ends.
                               if (version == 2 && inner++ == 0) {
                                 EXPECT_EQ(registry_.Rollback("a").value(), 2U);
                               }
                               return absl::StatusOr<std::shared_ptr<const Adapter>>(
                                   MakeAdapter("a", version));
                             })
                    .ok());
  }
  for (const char* other : {"b", "c"}) {  // all of a is cold
    ASSERT_TRUE(Publish(other, 1).ok());
  }
  EXPECT_EQ(registry_.Rollback("a").value(), 1U);
  EXPECT_EQ((*registry_.Get("a"))->version, 1U);
  EXPECT_EQ(ReasonOf(registry_.Rollback("a").status()), reasons::kNotFound);
}

TEST_F(ResidencyTest, ARollbackBesideAPublishGoesBackFromWhatIsServedThen) {
  int reads = 0;
  for (const uint32_t version : {1U, 2U}) {
    ASSERT_TRUE(registry_
                    .Publish(MakeAdapter("a", version),
                             [&, version] {
                               if (version == 1 && reads++ == 0) {
                                 EXPECT_TRUE(Publish("a", 3).ok());
                               }
                               return absl::StatusOr<std::shared_ptr<const Adapter>>(
                                   MakeAdapter("a", version));
                             })
                    .ok());
  }
  for (const char* other : {"b", "c"}) {
    ASSERT_TRUE(Publish(other, 1).ok());
  }
  EXPECT_EQ(registry_.Rollback("a").value(), 2U);
  EXPECT_EQ((*registry_.Get("a"))->version, 2U);
}

}  // namespace
}  // namespace ruvd::inference
