// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/learner/plan.h"
#include "inference/train/losses.h"
#include "node/sharing/core_lesson_trainer.h"

namespace ruvd::bench {

// The trainer of a node's rounds, on texts in memory.
class TextLessonTrainer final : public sharing::CoreLessonTrainer {
 public:
  // Borrows `texts`. Fails as CoreLessonTrainer::Begin does.
  static absl::StatusOr<std::unique_ptr<TextLessonTrainer>> Create(
      const Parts& parts, const federation::LearnerPlan& plan,
      std::span<const inference::TrainingExample> texts);

  size_t lessons() const override { return texts_.size(); }

 private:
  TextLessonTrainer(const Parts& parts, std::span<const inference::TrainingExample> texts)
      : CoreLessonTrainer(parts), texts_(texts) {}
  absl::StatusOr<std::optional<inference::TrainingExample>> Read(size_t lesson) override {
    return texts_[lesson];
  }
  absl::Status BetweenSlices(uint64_t /*bytes*/) override { return absl::OkStatus(); }
  absl::Status BeforeReading() override { return absl::OkStatus(); }

  std::span<const inference::TrainingExample> texts_;
};

}  // namespace ruvd::bench
