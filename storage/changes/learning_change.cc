// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/changes/learning_change.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace ruvd::storage {
namespace {

constexpr std::array<std::string_view, 3> kLoopNames = {"instant", "background", "deep"};
constexpr std::array<std::string_view, 6> kKindNames = {"session_taught",  "pattern_stored",
                                                        "patterns_merged", "adapter_published",
                                                        "router_trained",  "lesson_remembered"};

}  // namespace

std::string_view LearningLoopName(LearningLoop loop) {
  return kLoopNames.at(static_cast<size_t>(loop) - 1);
}

std::string_view ChangeKindName(ChangeKind kind) {
  return kKindNames.at(static_cast<size_t>(kind) - 1);
}

std::string TokenOf(const LearningChange& change) {
  return fmt::format("{}-{:08x}", change.number, change.mark);
}

}  // namespace ruvd::storage
