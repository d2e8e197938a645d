// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node_frame.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/model/model.h"
#include "node/process/limits.h"
#include "tests/inference/model_file.h"
#include "tests/node/process/federated_node_fixture.h"

namespace ruvd::node {
namespace {

using inference::FrameKind;
using inference::FrameSet;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Keeps the lines that speak of frames, each with its level.
class FrameLines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string text(message.payload.begin(), message.payload.end());
    if (text.find("frame") != std::string::npos) {
      lines_.push_back((message.level == spdlog::level::warn ? "warning: " : "") + text);
    }
  }
  void flush_() override {}

 private:
  std::vector<std::string> lines_;
};

// Lets a test read the log.
class LoggedFrames {
 public:
  LoggedFrames() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("frames", sink_)); }
  ~LoggedFrames() { spdlog::set_default_logger(before_); }
  LoggedFrames(const LoggedFrames&) = delete;
  LoggedFrames& operator=(const LoggedFrames&) = delete;

  std::vector<std::string> Take() { return sink_->Take(); }

 private:
  const std::shared_ptr<FrameLines> sink_ = std::make_shared<FrameLines>();
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

std::string HexStart(const Digest& id) {
  return ToHex(id).substr(0, 16);
}

class NodeFrameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    model_ = folder_ / "model.gguf";
    saved_ = folder_ / "data.frame.gguf";
    ASSERT_TRUE(WriteFileAtomically(model_, test::FileContents().Serialize()).ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  absl::StatusOr<std::shared_ptr<const FrameSet>> Open() {
    const auto package = inference::LoadModelPackage(model_);
    EXPECT_TRUE(package.ok()) << package.status();
    return OpenNodeFrame(*package, model_, saved_, may_compute_, SerialRunner());
  }
  FrameSet RandomFrame(uint64_t seed) const {
    const auto model = inference::Model::Load(model_).value();
    return RandomFrameSet(*model, LinearTargets(*model, inference::Modules::kAll), 4, seed).value();
  }

  fs::path folder_;
  std::string model_;
  std::string saved_;
  bool may_compute_ = true;
  LoggedFrames log_;
};

// A node without peers uses what it learned in, and does not pay for more.
TEST_F(NodeFrameTest, WithoutPeersNoFrameIsComputed) {
  may_compute_ = false;
  const auto none = Open();
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, nullptr);
  EXPECT_FALSE(fs::exists(saved_));
  const FrameSet saved = RandomFrame(2);
  ASSERT_TRUE(SaveFrameSet(saved, saved_).ok());
  EXPECT_EQ(Open().value()->id, saved.id);
}

TEST_F(NodeFrameTest, AShippedFrameIsUsedAndNoOtherIsWritten) {
  const FrameSet shipped = RandomFrame(1);
  ASSERT_TRUE(SaveFrameSet(shipped, inference::FramePath(model_)).ok());
  const auto frame = Open();
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ((*frame)->id, shipped.id);
  EXPECT_FALSE(fs::exists(saved_));
  const auto lines = log_.Take();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr(HexStart(shipped.id)), HasSubstr("kind random, rank 4"),
                              Not(HasSubstr("ruvd model frame"))));
}

TEST_F(NodeFrameTest, WithoutOneTheFrameOfTheWeightsIsComputedSavedAndNamed) {
  const auto frame = Open();
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ((*frame)->kind, FrameKind::kWeight);
  EXPECT_THAT((*frame)->modules, SizeIs(7));
  const auto saved = inference::LoadFrameSet(saved_);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->id, (*frame)->id);
  const auto lines = log_.Take();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0],
              AllOf(HasSubstr(HexStart(saved->id)), HasSubstr("kind svd, rank 32"),
                    HasSubstr("ruvd model frame --model " + model_), HasSubstr("all nodes")));
}

// A frame that was put there tells a file that is read from one that is computed again.
TEST_F(NodeFrameTest, ASavedFrameIsReadAgain) {
  const FrameSet saved = RandomFrame(2);
  ASSERT_TRUE(SaveFrameSet(saved, saved_).ok());
  const auto frame = Open();
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ((*frame)->id, saved.id);
  EXPECT_THAT(log_.Take(), ElementsAre(HasSubstr(HexStart(saved.id))));
}

TEST_F(NodeFrameTest, AShippedFrameComesBeforeASavedOne) {
  const FrameSet shipped = RandomFrame(1);
  ASSERT_TRUE(SaveFrameSet(shipped, inference::FramePath(model_)).ok());
  ASSERT_TRUE(SaveFrameSet(RandomFrame(2), saved_).ok());
  EXPECT_EQ(Open().value()->id, shipped.id);
}

// Recomputing gives the same frame, so the node stays in its cluster.
TEST_F(NodeFrameTest, ADamagedSavedFrameIsComputedAgain) {
  const Digest id = Open().value()->id;
  std::string bytes = ReadFile(saved_, 1 << 20).value();
  bytes[bytes.size() - 2] ^= 0x40;
  ASSERT_TRUE(WriteFileAtomically(saved_, bytes).ok());
  log_.Take();
  EXPECT_EQ(Open().value()->id, id);
  EXPECT_EQ(inference::LoadFrameSet(saved_)->id, id);
  const auto lines = log_.Take();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0],
              AllOf(HasSubstr("warning: " + saved_), HasSubstr("computes the frame again"),
                    HasSubstr(reasons::kFrameMismatch)));
}

TEST_F(NodeFrameTest, ASavedFrameOfAnotherModelIsReplaced) {
  FrameSet other = RandomFrame(1);
  other.model_hash.fill(9);
  other.id = ContentId(other);
  ASSERT_TRUE(SaveFrameSet(other, saved_).ok());
  const auto frame = Open();
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ((*frame)->kind, FrameKind::kWeight);
  EXPECT_EQ(inference::LoadFrameSet(saved_)->id, (*frame)->id);
  EXPECT_THAT(log_.Take(), Contains(HasSubstr("0909090909090909")));
}

TEST_F(NodeFrameTest, AFrameThatCannotBeSavedIsUsedAllTheSame) {
  fs::create_directory(saved_);
  const auto frame = Open();
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ((*frame)->kind, FrameKind::kWeight);
  EXPECT_THAT(log_.Take(), Contains(AllOf(HasSubstr("warning: "), HasSubstr("next start"))));
}

TEST_F(NodeFrameTest, ThreadsChangeNothing) {
  const auto model = inference::Model::Load(kSmallModel).value();
  // One layer will do: each module is computed alone.
  const auto targets = LinearTargets(*model, inference::Modules::kAll, 1);
  ThreadParallelRunner three(3);
  const auto alone = WeightFrameSet(*model, targets, limits::kWeightFrameRank, SerialRunner());
  const auto shared = WeightFrameSet(*model, targets, limits::kWeightFrameRank, three);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(ToHex(shared->id), ToHex(alone->id));
}

// A node of a cluster whose model has no frame beside it.
// Found by review: a member's pattern could have cores that no honest node trains, and slow every
// request near it down.
TEST(PatternCoreRulesTest, PatternsHaveCoresInTheLastLayersOnly) {
  const auto model = inference::Model::Load(kSmallModel).value();
  const FrameSet frame = inference::LoadFrameSet(inference::FramePath(kSmallModel)).value();
  const federation::UpdateRules rules = PatternCoreRules(frame, model->config());
  EXPECT_THAT(rules.rank_of_target, SizeIs(14));
  const int last = model->config().layers - 1;
  EXPECT_TRUE(rules.rank_of_target.contains(fmt::format("blk.{}.attn_q.weight", last)));
  EXPECT_FALSE(rules.rank_of_target.contains(fmt::format("blk.{}.attn_q.weight", last - 2)));
}

class FramelessNodeTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.model.path = folder_ / "model.gguf";
    fs::copy_file(kSmallModel, config_.model.path);
  }
  LoggedFrames log_;
};

TEST_F(FramelessNodeTest, TheFirstStartWritesAFrameAndTheNextOneReadsIt) {
  Start();
  const std::string file = FrameFileOf(config_);
  const auto frame = inference::LoadFrameSet(file);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->kind, FrameKind::kWeight);
  EXPECT_THAT(log_.Take(), Contains(HasSubstr(HexStart(frame->id))));
  const auto written = fs::last_write_time(file);
  Restart();
  EXPECT_EQ(fs::last_write_time(file), written);
  EXPECT_THAT(log_.Take(), Contains(HasSubstr(HexStart(frame->id))));
}

TEST_F(FramelessNodeTest, ABrokenFrameBesideTheModelPreventsTheStart) {
  ASSERT_TRUE(WriteFileAtomically(inference::FramePath(config_.model.path), "no frame").ok());
  const absl::Status broken = Node::Start(config_).status();
  EXPECT_EQ(ReasonOf(broken), reasons::kFrameMismatch);
  EXPECT_THAT(MessageOf(broken), AllOf(HasSubstr(inference::FramePath(config_.model.path)),
                                       HasSubstr("ruvd model frame")));
}

TEST_F(FramelessNodeTest, ANodeByItselfNeedsNoFrame) {
  config_.federation.enabled = false;
  Start();
  EXPECT_FALSE(fs::exists(FrameFileOf(config_)));
  EXPECT_THAT(log_.Take(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::node
