// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/tokens/observed_lesson.h"

// Rows of the column family `token`. Used by ObservedStore, by checks and by tests only.
namespace ruvd::storage::tokens {

inline constexpr char kObservedPrefix[] = "r/";

std::string ObservedKey(std::string_view name);

std::string EncodeObserved(const ObservedLesson& lesson);
// Returns STORE_CORRUPT for bytes that EncodeObserved does not write.
absl::StatusOr<ObservedLesson> DecodeObserved(std::string_view bytes);

}  // namespace ruvd::storage::tokens
