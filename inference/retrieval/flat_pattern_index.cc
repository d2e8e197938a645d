// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/flat_pattern_index.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

// Extra rows whose cosine is computed again, because 8-bit rounding moves a row by a few places.
constexpr size_t kSpareCandidates = 16;

using Scored = std::pair<float, size_t>;  // score, row

absl::Status WidthError(size_t has, size_t wanted) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "an embedding of a flat index of patterns has {} values, this one {}; widths are "
               "multiples of {}",
               wanted, has, kBlockColumns);
}

// Returns the `count` best rows, unordered.
std::vector<Scored> Best(std::span<const float> scores, size_t count) {
  std::vector<Scored> heap;  // the worst of the kept rows is in front
  heap.reserve(count + 1);
  for (size_t row = 0; row < scores.size(); ++row) {
    if (heap.size() < count || scores[row] > heap.front().first) {
      heap.emplace_back(scores[row], row);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
      if (heap.size() > count) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        heap.pop_back();
      }
    }
  }
  return heap;
}

float ExactDot(std::span<const float> a, std::span<const float> b) {
  float dot = 0;
  Kernels().multiply_abt({.a = a.data(),
                          .a_stride = a.size(),
                          .rows = 1,
                          .b = reinterpret_cast<const uint8_t*>(b.data()),
                          .b_stride = b.size() * sizeof(float),
                          .b_type = TensorType::kF32,
                          .outputs = 1,
                          .columns = a.size(),
                          .y = &dot,
                          .y_stride = 1});
  return dot;
}

}  // namespace

absl::StatusOr<FlatPatternIndex> FlatPatternIndex::Build(
    size_t width, std::array<std::vector<FlatPattern>, kTimestepBanks> banks) {
  if (width == 0 || width % kBlockColumns != 0) {
    return WidthError(width, width);
  }
  FlatPatternIndex index(width);
  for (size_t bank = 0; bank < banks.size(); ++bank) {
    std::vector<float> values;
    for (const FlatPattern& row : banks[bank]) {
      if (row.embedding.size() != width) {
        return WidthError(row.embedding.size(), width);
      }
      values.insert(values.end(), row.embedding.begin(), row.embedding.end());
    }
    Table& table = index.banks_[bank];
    table.rows = std::move(banks[bank]);
    if (!values.empty()) {
      ASSIGN_OR_RETURN(const std::string codes, Quantize(TensorType::kQ8_0, values));
      table.codes = PackedMatrix::Pack(SerialRunner(),
                                       {.type = TensorType::kQ8_0,
                                        .rows = static_cast<int>(table.rows.size()),
                                        .columns = static_cast<int>(width),
                                        .data = reinterpret_cast<const uint8_t*>(codes.data())});
    }
  }
  return index;
}

absl::StatusOr<std::vector<RetrievedPattern>> FlatPatternIndex::Search(
    std::span<const float> embedding, TimestepBank bank, int k) const {
  if (embedding.size() != width_) {
    return WidthError(embedding.size(), width_);
  }
  const Table& table = banks_.at(static_cast<size_t>(bank));
  if (table.rows.empty() || k <= 0) {
    return std::vector<RetrievedPattern>();
  }
  thread_local QuantizedRows query;
  thread_local std::vector<float> scores;
  Quantize(SerialRunner(), embedding, width_, &query);
  scores.resize(table.rows.size());
  const PackedTask task{.w = &table.codes, .y = scores.data(), .y_stride = scores.size()};
  Multiply(SerialRunner(), query, std::span(&task, 1));
  std::vector<Scored> best = Best(scores, static_cast<size_t>(k) + kSpareCandidates);
  for (auto& [score, row] : best) {
    score = ExactDot(embedding, table.rows[row].embedding);
  }
  std::sort(best.begin(), best.end(), [&](const Scored& a, const Scored& b) {
    return a.first != b.first ? a.first > b.first
                              : table.rows[a.second].pattern_id < table.rows[b.second].pattern_id;
  });
  best.resize(std::min(best.size(), static_cast<size_t>(k)));
  std::vector<RetrievedPattern> hits;
  hits.reserve(best.size());
  for (const auto& [similarity, row] : best) {
    const FlatPattern& pattern = table.rows[row];
    hits.push_back({.pattern_id = pattern.pattern_id,
                    .similarity = similarity,
                    .adapter = pattern.adapter,
                    .version = pattern.version});
  }
  return hits;
}

size_t FlatPatternIndex::ScannedBytes(TimestepBank bank) const {
  return banks_.at(static_cast<size_t>(bank)).codes.bytes();
}

}  // namespace ruvd::inference
