// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/group_products.h"

#include <algorithm>

#include "base/status.h"

namespace ruvd::inference {

void GroupProducts::SetRows(std::span<const AdaptedRows> rows) {
  parts_.clear();
  mixes_ = 0;
  for (const AdaptedRows& range : rows) {
    if (range.mix == nullptr || range.rows == 0) {
      continue;
    }
    size_t low = 0;
    while (low < mixes_ && lows_[low].mix != range.mix) {
      ++low;
    }
    if (low == mixes_) {
      lows_.resize(std::max(lows_.size(), ++mixes_));
      lows_[low].mix = range.mix;
    }
    parts_.push_back({.begin = range.begin, .end = range.begin + range.rows, .low = low});
  }
}

// Multiplies the A factors of all mixes together with the matrices: they share the rounded
// activations and the loop.
void GroupProducts::QueueLows(size_t rows) {
  for (Low& low : std::span(lows_).first(mixes_)) {
    const PreparedFactors::Group& change = low.mix->group(group_);
    low.known = !change.packed_a.empty();  // true whichever of the group's products were requested
    if (low.known) {
      low.values.resize(rows * change.rank);
      tasks_.push_back({.w = &change.packed_a, .y = low.values.data(), .y_stride = change.rank});
    }
  }
}

void GroupProducts::Run(size_t group, std::span<const float> x,
                        std::span<const GroupProduct> products) {
  RUVD_CHECK(products.size() <= kLargestGroup && !products.empty());
  group_ = group;
  x_ = x.data();
  members_ = products.size();
  tasks_.clear();
  size_t rows = 0;
  for (size_t m = 0; m < products.size(); ++m) {
    const GroupProduct& product = products[m];
    y_[m] = product.y;
    if (product.y == nullptr) {
      continue;
    }
    const auto outputs = static_cast<size_t>(product.w->rows);
    rows = x.size() / static_cast<size_t>(product.w->columns);
    if (product.packed != nullptr && !product.packed->empty()) {
      tasks_.push_back({.w = product.packed, .y = product.y, .y_stride = outputs});
    } else {
      Multiply(runner_, x, *product.w, {product.y, rows * outputs});
    }
  }
  QueueLows(rows);
  if (!tasks_.empty()) {
    Quantize(runner_, x, tasks_.front().w->columns(), &quantized_);
    Multiply(runner_, quantized_, tasks_);
  }
}

void GroupProducts::ReleaseMemory() {
  quantized_ = QuantizedRows();
  for (Low& low : lows_) {
    low.values = std::vector<float>();
  }
}

uint64_t GroupProducts::bytes() const {
  uint64_t bytes = quantized_.bytes();
  for (const Low& low : lows_) {
    bytes += low.values.capacity() * sizeof(float);
  }
  return bytes;
}

void GroupProducts::Change(size_t begin, size_t end) const {
  for (const Part& part : parts_) {
    const size_t first = std::max(begin, part.begin);
    const size_t last = std::min(end, part.end);
    if (first < last) {
      const Low& low = lows_[part.low];
      ApplyChange(*low.mix, group_,
                  {.begin = first,
                   .rows = last - first,
                   .x = x_,
                   .y = std::span(y_).first(members_),
                   .low = low.known ? low.values.data() : nullptr});
    }
  }
}

}  // namespace ruvd::inference
