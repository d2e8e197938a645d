// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests whose lessons, and which of them, may be in noised centroids.

#include "node/learning/centroid_lessons.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/serving/pattern_payload.h"
#include "tests/federation/fixture.h"
#include "tests/node/consent_fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::learning {
namespace {

constexpr uint32_t kLessonDimension = 8;

class CentroidLessonsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    store_ = std::make_unique<storage::UserConsentStore>(*database_);
    book_ = storage::ConsentBook::Open(*store_, key_).value();
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = kLessonDimension}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_).value();
    Say("alice", privacy::consent_purposes::kAll);
    Say("bob", privacy::consent_purposes::kAll);
  }
  void Say(const std::string& user, uint8_t purposes) {
    SayUnderDp(*book_, user, purposes, clock_.WallMillis());
  }

  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  std::unique_ptr<storage::UserConsentStore> store_;
  std::unique_ptr<storage::ConsentBook> book_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
};

TEST_F(CentroidLessonsTest, OnlyLessonsThatMayLeaveAreGathered) {
  const Digest package = Sha256("a model");
  const LearningServices services{.clock = &clock_,
                                  .trajectories = trajectories_.get(),
                                  .patterns = patterns_.get(),
                                  .package_id = package};
  int number = 0;
  const auto put = [&](const std::string& user, auto change) {
    storage::Trajectory trajectory{.response_id = fmt::format("r{}", ++number),
                                   .user_id = user,
                                   .prompt = "p",
                                   .completion = "c",
                                   .embedding = std::vector<float>(kLessonDimension, 0.1F),
                                   .embedded_by = std::string(AsText(package)),
                                   .created_ms = 1,
                                   .accepted = true};
    change(&trajectory);
    ASSERT_TRUE(trajectories_->Put(trajectory).ok());
  };
  const auto learned_in = [&](const storage::PatternId& id) {
    return [&, id](storage::Trajectory* trajectory) {
      trajectory->learned_by = AsText(package);
      trajectory->learned_in = id;
    };
  };
  const auto pattern = [&](const storage::PatternId& id, bool withheld) {
    ASSERT_TRUE(patterns_
                    ->Put({.id = id,
                           .embedding = std::vector<float>(kLessonDimension, 0.1F),
                           .origin = key_.id(),
                           .created_ms = 1,
                           .updated_ms = 2,
                           .payload = serving::EncodePatternPayload({.withheld = withheld})})
                    .ok());
  };
  pattern(storage::PatternId{1}, false);
  pattern(storage::PatternId{2}, true);
  put("alice", [](storage::Trajectory*) {});
  put("alice", learned_in(storage::PatternId{1}));
  put("bob", [](storage::Trajectory*) {});
  // Patterns merge and disappear depending on other lessons, so they must not decide about a
  // lesson.
  put("alice", learned_in(storage::PatternId{2}));  // made private
  put("alice", learned_in(storage::PatternId{3}));  // removed or evicted
  put("alice", [](storage::Trajectory* trajectory) { trajectory->accepted = false; });
  put("alice", [](storage::Trajectory* trajectory) { trajectory->embedded_by = "another model"; });
  put("alice", [](storage::Trajectory* trajectory) { trajectory->embedding.pop_back(); });
  put("carol", [](storage::Trajectory*) {});  // was never asked
  const CentroidLessons all =
      GatherCentroidLessons(services, *book_, 0.7F, clock_.WallMillis()).value();
  EXPECT_EQ(all.embeddings.size(), 5u);
  EXPECT_EQ(all.contributors.size(), 2u);
  EXPECT_EQ(all.left_out, 1u);
  EXPECT_EQ(all.not_embedded, 2u);
  Say("bob", 0);
  const CentroidLessons fewer =
      GatherCentroidLessons(services, *book_, 0.7F, clock_.WallMillis()).value();
  EXPECT_EQ(fewer.embeddings.size(), 4u);
  EXPECT_EQ(fewer.left_out, 2u);
}

}  // namespace
}  // namespace ruvd::learning
