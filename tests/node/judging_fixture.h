// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/parallel.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/evaluation_lessons.h"
#include "node/learning/learning_services.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd {

inline constexpr char kJudged[] =
    " counted the ships every evening and wrote their names in a book.";
inline const Digest kJudgingPackage = Sha256("package");

// A real model, and a store with lessons that judge adapters.
class JudgingTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
  }
  // Adds `count` lessons that judge, each with its own prompt.
  void AddJudges(size_t count) {
    for (size_t i = 0; count > 0; ++i) {
      const std::string id = fmt::format("lesson {}", i);
      if (!learning::IsEvaluationLesson(id)) {
        continue;
      }
      --count;
      ASSERT_TRUE(trajectories_
                      ->Put({.response_id = id,
                             .prompt = fmt::format("The lighthouse keeper of house {}", i),
                             .completion = kJudged,
                             .embedded_by = std::string(AsText(kJudgingPackage)),
                             .created_ms = clock_.WallMillis()})
                      .ok());
      ASSERT_TRUE(trajectories_->SetFeedback(id, {.accepted = true}).ok());
    }
  }
  learning::LearningServices Services() {
    return {.clock = &clock_,
            .transformer = transformer_.get(),
            .trajectories = trajectories_.get(),
            .patterns = patterns_.get(),
            .package_id = kJudgingPackage,
            .cancelled = [this] { return cancelled_; }};
  }

  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::PatternStore> patterns_;
  bool cancelled_ = false;
};

}  // namespace ruvd
