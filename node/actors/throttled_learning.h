// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>

#include "node/learning/learning_services.h"
#include "node/learning/learning_throttle.h"

namespace ruvd::actors {

// Learning beside serving, for as long as this object lives. A pause cancels it.
class ThrottledLearning {
 public:
  ThrottledLearning(learning::LearningThrottle* throttle, learning::LearningServices* services)
      : throttle_(throttle) {
    services->cancelled = [changes = services->changes, stopped = services->cancelled] {
      return (stopped && stopped()) || (changes != nullptr && changes->IsPaused().value_or(false));
    };
    if (throttle_ != nullptr) {
      services->between_slices = [throttle, cancelled = services->cancelled](uint64_t bytes) {
        return throttle->Wait(storage::LearningLoop::kBackground, bytes, cancelled);
      };
      working_.emplace(*throttle_);
    }
  }
  ~ThrottledLearning() {
    if (throttle_ != nullptr) {
      throttle_->RoundEnded(storage::LearningLoop::kBackground);
    }
  }
  ThrottledLearning(const ThrottledLearning&) = delete;
  ThrottledLearning& operator=(const ThrottledLearning&) = delete;

 private:
  learning::LearningThrottle* const throttle_;
  std::optional<learning::LearningThrottle::ScopedLearning> working_;
};

}  // namespace ruvd::actors
