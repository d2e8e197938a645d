// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "inference/retrieval/pattern_index.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::serving {

// Adapts the pattern store to inference::PatternIndex, because inference and storage do not know
// each other. Thread-safe.
class StorePatternIndex final : public inference::PatternIndex {
 public:
  // `patterns` is borrowed and must outlive this object.
  explicit StorePatternIndex(const storage::PatternStore& patterns) : patterns_(patterns) {}

  absl::StatusOr<std::vector<inference::RetrievedPattern>> Search(std::span<const float> embedding,
                                                                  inference::TimestepBank bank,
                                                                  int k) const override;

 private:
  const storage::PatternStore& patterns_;
};

}  // namespace ruvd::serving
