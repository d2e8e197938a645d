// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ruvd::inference {

// A table that keeps many short strings, less than 4 GiB together, in one piece of memory.
// Thread-safe once filled.
class PieceTable {
 public:
  void Add(std::string_view piece) {
    bytes_ += piece;
    RUVD_CHECK(bytes_.size() < UINT32_MAX);
    starts_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  std::string_view operator[](size_t index) const {
    return std::string_view(bytes_).substr(starts_[index], starts_[index + 1] - starts_[index]);
  }
  size_t size() const { return starts_.size() - 1; }
  bool empty() const { return size() == 0; }
  // Frees memory reserved for more pieces.
  void Shrink() {
    bytes_.shrink_to_fit();
    starts_.shrink_to_fit();
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> starts_ = {0};
};

}  // namespace ruvd::inference
