// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/evaluation_lessons.h"

#include <cstdint>

#include "base/bytes.h"

namespace ruvd::learning {
namespace {

constexpr uint8_t kJudgeBelow = 64;  // of 256

}  // namespace

bool IsEvaluationLesson(std::string_view response_id) {
  return Sha256(response_id)[0] < kJudgeBelow;
}

}  // namespace ruvd::learning
