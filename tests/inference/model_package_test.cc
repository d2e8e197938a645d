// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/package/model_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "tests/inference/memory_fixture.h"
#include "tests/inference/model_file.h"

namespace ruvd::inference {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Digest kModel{1, 2, 3};

class ModelPackageTest : public ::testing::Test {
 protected:
  ModelPackageTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / "model_package" / info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "model.gguf").string();
    RUVD_CHECK(WriteFileAtomically(path_, test::FileContents().Serialize()).ok());
  }

  Whitening Statistics(const Digest& model, int width) const {
    Random random(7);
    std::vector<float> rows(static_cast<size_t>(width) * 32);
    for (float& value : rows) {
      value = static_cast<float>(random.Normal());
    }
    return Whitening::Estimate(model, rows, width, 0.5F).value();
  }

  FrameSet RandomFrame(const Model& model) const {
    return RandomFrameSet(model, LinearTargets(model, Modules::kAll), 4, 1).value();
  }
  // Writes a frame beside the model, whose id is that of what it holds.
  void Ship(FrameSet frame) const {
    frame.id = ContentId(frame);
    ASSERT_TRUE(SaveFrameSet(frame, FramePath(path_)).ok());
  }
  static std::string HexStart(const Digest& digest) { return ToHex(digest).substr(0, 16); }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(ModelPackageTest, HasTheModelsHashWhereThereIsNothingElse) {
  const auto package = LoadModelPackage(path_);
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ(package->whitening, nullptr);
  EXPECT_EQ(package->frame, nullptr);
  EXPECT_EQ(package->id, package->model->hash());
}

TEST_F(ModelPackageTest, StatisticsBesideTheModelAreLoadedAndPartOfItsId) {
  const auto plain = LoadModelPackage(path_).value();
  const Whitening whitening = Statistics(plain.model->hash(), plain.model->config().width);
  ASSERT_EQ(WhiteningPath(path_), (folder_ / "model.whitening.gguf").string());
  ASSERT_TRUE(whitening.WriteTo(WhiteningPath(path_)).ok());
  const auto package = LoadModelPackage(path_);
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_NE(package->whitening, nullptr);
  EXPECT_EQ(package->whitening->id(), whitening.id());
  EXPECT_NE(package->id, plain.id);
  std::vector<float> embedding(static_cast<size_t>(plain.model->config().width), 0.25F);
  embedding[0] = -1;
  EXPECT_EQ(package->whitening->Apply(embedding), whitening.Apply(embedding));
}

TEST_F(ModelPackageTest, StatisticsOfAnotherModelAreRefused) {
  const auto plain = LoadModelPackage(path_).value();
  ASSERT_TRUE(Statistics(kModel, plain.model->config().width).WriteTo(WhiteningPath(path_)).ok());
  const absl::Status other = LoadModelPackage(path_).status();
  EXPECT_EQ(ReasonOf(other), reasons::kModelMismatch);
  EXPECT_THAT(MessageOf(other), HasSubstr("ruvd model whiten"));
  ASSERT_TRUE(Statistics(plain.model->hash(), 3).WriteTo(WhiteningPath(path_)).ok());
  EXPECT_THAT(MessageOf(LoadModelPackage(path_).status()), HasSubstr("of 3 values"));
}

TEST_F(ModelPackageTest, AFileThatHoldsSomethingElseIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(WhiteningPath(path_), test::FileContents().Serialize()).ok());
  EXPECT_EQ(ReasonOf(LoadModelPackage(path_).status()), reasons::kFileUnreadable);
}

// Patterns belong to what embeds prompts, and a frame has no part in that.
TEST_F(ModelPackageTest, AFrameBesideTheModelIsLoadedAndDoesNotChangeItsId) {
  const auto plain = LoadModelPackage(path_).value();
  const FrameSet frame = RandomFrame(*plain.model);
  ASSERT_EQ(FramePath(path_), (folder_ / "model.frame.gguf").string());
  Ship(frame);
  const auto package = LoadModelPackage(path_);
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_NE(package->frame, nullptr);
  EXPECT_EQ(package->frame->id, frame.id);
  EXPECT_EQ(package->frame->modules.size(), 7U);
  EXPECT_EQ(package->id, plain.id);
}

// What is remembered of lessons belongs to the model too, and changes neither patterns nor frames.
TEST_F(ModelPackageTest, AMemoryBesideTheModelIsLoadedAndMustFit) {
  const auto plain = LoadModelPackage(path_).value();
  EXPECT_EQ(plain.memory, nullptr);
  ASSERT_EQ(MemoryPath(path_), (folder_ / "model.memory.gguf").string());
  MemoryParameters memory = test::RandomMemoryParameters();
  memory.model_hash = plain.model->hash();
  ASSERT_TRUE(memory.WriteTo(MemoryPath(path_)).ok());
  const absl::Status misfit = LoadModelPackage(path_).status();
  EXPECT_EQ(ReasonOf(misfit), reasons::kModelMismatch);
  EXPECT_THAT(MessageOf(misfit), HasSubstr("ruvd model memory"));
  memory.width = plain.model->config().width;
  memory.mean.assign(static_cast<size_t>(memory.width), 0.5F);
  memory.projection.assign(static_cast<size_t>(memory.width * memory.dimension), 0.25F);
  memory.public_log_frequency.assign(static_cast<size_t>(plain.model->config().vocabulary), -2.0F);
  ASSERT_TRUE(memory.WriteTo(MemoryPath(path_)).ok());
  const auto package = LoadModelPackage(path_);
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_NE(package->memory, nullptr);
  EXPECT_EQ(package->memory->EntryId(), memory.EntryId());
  EXPECT_EQ(package->id, plain.id);
}

TEST_F(ModelPackageTest, StatisticsAndAFrameAreLoadedTogether) {
  const auto plain = LoadModelPackage(path_).value();
  const Whitening whitening = Statistics(plain.model->hash(), plain.model->config().width);
  ASSERT_TRUE(whitening.WriteTo(WhiteningPath(path_)).ok());
  const Digest whitened = LoadModelPackage(path_)->id;
  Ship(RandomFrame(*plain.model));
  const auto package = LoadModelPackage(path_);
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_NE(package->whitening, nullptr);
  EXPECT_NE(package->frame, nullptr);
  EXPECT_EQ(package->id, whitened);
}

TEST_F(ModelPackageTest, AFrameOfAnotherModelIsRefusedAndBothAreNamed) {
  const auto plain = LoadModelPackage(path_).value();
  FrameSet frame = RandomFrame(*plain.model);
  frame.model_hash = kModel;
  Ship(frame);
  const absl::Status other = LoadModelPackage(path_).status();
  EXPECT_EQ(ReasonOf(other), reasons::kFrameMismatch);
  EXPECT_THAT(MessageOf(other),
              AllOf(HasSubstr(FramePath(path_)), HasSubstr(HexStart(kModel)),
                    HasSubstr(HexStart(plain.model->hash())),
                    HasSubstr("ruvd model frame --model " + path_ + " --out " + FramePath(path_))));
}

TEST_F(ModelPackageTest, AFrameOfLayersThatTheModelDoesNotHaveIsRefused) {
  const auto plain = LoadModelPackage(path_).value();
  FrameSet frame = RandomFrame(*plain.model);
  frame.modules["blk.7.attn_q.weight"] = frame.modules.at("blk.0.attn_q.weight");
  Ship(frame);
  const absl::Status other = LoadModelPackage(path_).status();
  EXPECT_EQ(ReasonOf(other), reasons::kFrameMismatch);
  EXPECT_THAT(MessageOf(other), AllOf(HasSubstr(FramePath(path_)), HasSubstr("blk.7.attn_q")));
}

TEST_F(ModelPackageTest, AFileThatHoldsNoFrameIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(FramePath(path_), test::FileContents().Serialize()).ok());
  const absl::Status broken = LoadModelPackage(path_).status();
  EXPECT_EQ(ReasonOf(broken), reasons::kFrameMismatch);
  EXPECT_THAT(MessageOf(broken), AllOf(HasSubstr(FramePath(path_)), HasSubstr("ruvd model frame")));
}

}  // namespace
}  // namespace ruvd::inference
