// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_memory.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "node/learning/deep_limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/node/database_fixture.h"

namespace ruvd::learning {
namespace {

DeepMemory Sample() {
  return {.version = 3,
          .adapter = Sha256("adapter"),
          .responses = {"a", "bc"},
          .ewc = {.anchor = {1, -2, 0.5F}, .fisher = {0, 0.25, 4}}};
}

class DeepMemoriesTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    state_ = std::make_unique<storage::StateStore>(*database_);
  }
  DeepMemories Memories() const { return DeepMemories(*state_); }
  std::unique_ptr<storage::StateStore> state_;
};

TEST(DeepMemoryTest, OtherLengthsAreRefused) {
  const storage::v1::DeepMemory stored = ToStored(Sample());
  EXPECT_EQ(FromStored(stored).value(), Sample());
  for (std::string* (storage::v1::DeepMemory::*field)() :
       {&storage::v1::DeepMemory::mutable_adapter, &storage::v1::DeepMemory::mutable_anchor,
        &storage::v1::DeepMemory::mutable_fisher}) {
    storage::v1::DeepMemory damaged = stored;
    (damaged.*field)()->pop_back();
    EXPECT_FALSE(FromStored(damaged).ok());
    (damaged.*field)()->append("12345");
    EXPECT_FALSE(FromStored(damaged).ok());
  }
  DeepMemory many = Sample();
  many.responses.assign(limits::kMaxMemoryResponses + 1, "a");
  EXPECT_FALSE(FromStored(ToStored(many)).ok());
}

TEST(DeepMemoryTest, NumbersThatNoRunLeavesAreRefused) {
  for (const double fisher : {-1.0, std::numeric_limits<double>::infinity()}) {
    DeepMemory memory = Sample();
    memory.ewc.fisher[1] = fisher;
    EXPECT_FALSE(FromStored(ToStored(memory)).ok());
  }
  DeepMemory memory = Sample();
  memory.ewc.anchor[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(FromStored(ToStored(memory)).ok());
}

TEST_F(DeepMemoriesTest, AVersionFindsItsOwn) {
  EXPECT_FALSE(Memories().Find(3).has_value());
  ASSERT_TRUE(Memories().Store(Sample()).ok());
  EXPECT_EQ(Memories().Find(3).value(), Sample());
}

TEST_F(DeepMemoriesTest, ADamagedOrForeignMemoryIsSaidOnceAndRemoved) {
  ASSERT_TRUE(Memories().Store(Sample()).ok());
  DamageState(storage::state::DeepMemory(3));
  EXPECT_FALSE(Memories().Find(3).has_value());
  EXPECT_FALSE(HasState(storage::state::DeepMemory(3)));
  ASSERT_TRUE(state_->Put(storage::state::DeepMemory(4), ToStored(Sample())).ok());
  EXPECT_FALSE(Memories().Find(4).has_value());
  EXPECT_FALSE(HasState(storage::state::DeepMemory(4)));
}

}  // namespace
}  // namespace ruvd::learning
