// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/commit_schedule.h"

#include <cmath>

namespace ruvd::inference {

int EvenSchedule::Count(int step, int masked) const {
  const int left = steps_ - step;
  return left <= 1 ? masked : (masked + left - 1) / left;
}

int TimestepSchedule::Count(int step, int masked) const {
  if (step + 1 >= steps_) {
    return masked;
  }
  const auto time = [this](int i) { return 1.0 - static_cast<double>(i) / steps_ * (1.0 - eps_); };
  return static_cast<int>(std::floor(masked * (1.0 - time(step + 1) / time(step))));
}

}  // namespace ruvd::inference
