// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The fast path of linear.h.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/kernels/packing.h"
#include "inference/model/limits.h"
#include "inference/model/linear.h"

namespace ruvd::inference {
namespace {

// Returns the calling thread's scratch memory for multiply_packed.
uint8_t* ThreadScratch() {
  thread_local AlignedBuffer scratch(kPackedScratchBytes);
  return scratch.data();
}

size_t Groups(size_t outputs) {
  return (outputs + kGroupOutputs - 1) / kGroupOutputs;
}

PackedView ViewOf(const Matrix& w) {
  const size_t blocks = static_cast<size_t>(w.columns) / kBlockColumns;
  return {.type = w.type,
          .outputs = static_cast<size_t>(w.rows),
          .blocks = blocks,
          .group_bytes = PackedGroupBytes(PackedFormatOf(w.type), blocks)};
}

// How the product of one task is cut into items. Items of the same rows are neighbours, so that the
// activations stay in the cache.
struct Cut {
  size_t groups = 0;  // in one item
  size_t slices = 0;  // items along the outputs
  size_t rows = 0;    // in one item
  size_t first_item = 0;
};

Cut CutOf(const PackedView& w, size_t rows, size_t threads, size_t first_item) {
  Cut cut{.rows = std::min(rows, kMaxProductRows), .first_item = first_item};
  const size_t products = kGroupOutputs * w.blocks * kBlockColumns * cut.rows;
  const size_t wanted =
      std::max(limits::kMinPackedProducts / products, limits::kMinPackedBytes / w.group_bytes);
  cut.groups = (wanted / kPanelGroups + 1) * kPanelGroups;
  cut.slices = (Groups(w.outputs) + cut.groups - 1) / cut.groups;
  // If there are too few items for all threads to finish at the same time, each item gets half the
  // rows.
  const size_t row_items = (rows + cut.rows - 1) / cut.rows;
  if (threads > 1 && cut.slices * row_items < threads * limits::kPackedItemsPerThread &&
      cut.rows >= 2 * limits::kMinPackedItemRows) {
    cut.rows = (cut.rows / 2 + kRowGroup - 1) / kRowGroup * kRowGroup;
  }
  return cut;
}

void RunItem(const QuantizedView& x, const PackedTask& task, const Cut& cut, size_t item) {
  const PackedView& w = task.w->view();
  const size_t first_group = item % cut.slices * cut.groups;
  const size_t first_row = item / cut.slices * cut.rows;
  Kernels().multiply_packed({.w = w,
                             .first_group = first_group,
                             .groups = std::min(cut.groups, Groups(w.outputs) - first_group),
                             .x = x,
                             .first_row = first_row,
                             .rows = std::min(cut.rows, x.rows - first_row),
                             .y = task.y,
                             .y_stride = task.y_stride,
                             .scratch = ThreadScratch()});
}

}  // namespace

bool PackedMatrix::Supports(TensorType type) {
  return PackedFormatOf(type).unit_blocks > 0;
}

size_t PackedMatrix::Bytes(const Matrix& w) {
  return Groups(static_cast<size_t>(w.rows)) * ViewOf(w).group_bytes;
}

PackedMatrix PackedMatrix::Pack(ParallelRunner& runner, const Matrix& w,
                                const std::function<void(size_t rows)>& done) {
  RUVD_CHECK(Supports(w.type) && w.columns % static_cast<int>(BlockValues(w.type)) == 0);
  PackedMatrix packed;
  packed.buffer_ = AlignedBuffer(Bytes(w));
  packed.view_ = ViewOf(w);
  packed.view_.data = packed.buffer_.data();
  const PackSource source{.type = w.type,
                          .outputs = packed.view_.outputs,
                          .columns = packed.columns(),
                          .data = w.data,
                          .row_bytes = RowBytes(w)};
  const size_t groups = Groups(packed.outputs());
  const size_t group_bytes = packed.view_.group_bytes;
  const size_t slice = limits::kPackSliceBytes / group_bytes + 1;
  for (size_t first = 0; first < groups; first += slice) {
    const size_t count = std::min(slice, groups - first);
    runner.For(count, 1, [&](size_t begin, size_t end) {
      PackGroups(source, first + begin, end - begin,
                 packed.buffer_.data() + (first + begin) * group_bytes);
    });
    if (done) {
      done(std::min((first + count) * kGroupOutputs, packed.outputs()));
    }
  }
  return packed;
}

QuantizedOutput QuantizedRows::Shape(size_t rows, size_t columns) {
  const size_t blocks = columns / kBlockColumns;
  // Returns the size of one part of the buffer, rounded up to 64 bytes. Each part has reserve
  // space, because vector reads may go beyond its end.
  const auto room = [](size_t bytes) {
    return (bytes + 2 * kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  };
  const size_t numbers = room(rows * blocks * sizeof(float));
  buffer_.Reserve(room(rows * columns) + 5 * numbers + room(2 * numbers));
  uint8_t* next = buffer_.data();
  const auto take = [&next](size_t bytes) { return std::exchange(next, next + bytes); };
  QuantizedOutput out{.rows = rows, .blocks = blocks};
  out.codes = reinterpret_cast<int8_t*>(take(room(rows * columns)));
  out.scales = reinterpret_cast<float*>(take(numbers));
  out.sums = reinterpret_cast<float*>(take(numbers));
  for (int32_t*& corrections : out.corrections) {
    corrections = reinterpret_cast<int32_t*>(take(numbers));
  }
  out.half_corrections = reinterpret_cast<int32_t*>(take(2 * numbers));
  view_ = {.rows = rows,
           .blocks = blocks,
           .codes = out.codes,
           .scales = out.scales,
           .sums = out.sums,
           .corrections = {out.corrections[0], out.corrections[1], out.corrections[2]},
           .half_corrections = out.half_corrections};
  return out;
}

void Quantize(ParallelRunner& runner, std::span<const float> x, size_t columns,
              QuantizedRows* out) {
  RUVD_CHECK(columns % kBlockColumns == 0 && columns > 0);
  const size_t rows = x.size() / columns;
  RUVD_CHECK(x.size() == rows * columns);
  const QuantizedOutput shaped = out->Shape(rows, columns);
  const size_t groups = (rows + kRowGroup - 1) / kRowGroup;
  const size_t grain = limits::kMinQuantizedValues / (kRowGroup * columns) + 1;
  runner.For(groups, grain, [&](size_t begin, size_t end) {
    for (size_t group = begin; group < end; ++group) {
      const size_t row = group * kRowGroup;
      Kernels().quantize_rows(x.data() + row * columns, columns, row,
                              std::min(kRowGroup, rows - row), shaped);
    }
  });
}

void Multiply(ParallelRunner& runner, const QuantizedRows& x, std::span<const PackedTask> tasks) {
  if (x.rows() == 0) {
    return;
  }
  const auto threads = static_cast<size_t>(runner.threads());
  std::vector<Cut> cuts;
  cuts.reserve(tasks.size());
  size_t items = 0;
  for (const PackedTask& task : tasks) {
    RUVD_CHECK(task.w->columns() == x.columns() && task.y_stride >= task.w->outputs());
    cuts.push_back(CutOf(task.w->view(), x.rows(), threads, items));
    items += cuts.back().slices * ((x.rows() + cuts.back().rows - 1) / cuts.back().rows);
  }
  runner.For(items, 1, [&](size_t begin, size_t end) {
    for (size_t item = begin; item < end; ++item) {
      size_t t = tasks.size() - 1;
      while (cuts[t].first_item > item) {
        --t;
      }
      RunItem(x.view(), tasks[t], cuts[t], item - cuts[t].first_item);
    }
  });
}

}  // namespace ruvd::inference
