// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/rounded_linear.h"

#include <algorithm>

#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/linear.h"

namespace ruvd::inference {
namespace {

constexpr size_t kRoundGrain = 64;  // steps that a thread rounds at a time
// Groups of outputs of one task of the product with the transpose. Its packed operand takes 128
// bytes for each column and stays in the level-2 cache for matrices of a few thousand columns.
constexpr size_t kTaskGroups = 4;
// Columns of one task of the product with w: whole blocks of every format.
constexpr size_t kTaskColumns = 256;
// Rows of w that this product packs at a time.
constexpr size_t kInnerChunk = 512;

// The memory of a thread for a packed operand and what it is packed from, valid until its next
// call.
struct PackBuffers {
  AlignedBuffer decoded_bytes;
  AlignedBuffer packed_bytes;

  float* decoded() { return reinterpret_cast<float*>(decoded_bytes.data()); }
  uint16_t* packed() { return reinterpret_cast<uint16_t*>(packed_bytes.data()); }
};
PackBuffers& ThreadBuffers(size_t floats, size_t values) {
  thread_local PackBuffers buffers;
  buffers.decoded_bytes.Reserve(floats * sizeof(float));
  buffers.packed_bytes.Reserve(values * sizeof(uint16_t));
  return buffers;
}

const uint16_t* Rounded(ParallelRunner& runner, std::span<const float> x, AlignedBuffer* scratch) {
  scratch->Reserve(x.size() * sizeof(uint16_t));
  auto* const out = reinterpret_cast<uint16_t*>(scratch->data());
  runner.For(x.size() / kRoundedStep, kRoundGrain, [&](size_t begin, size_t end) {
    Kernels().rounded->round(x.data() + begin * kRoundedStep, (end - begin) * kRoundedStep,
                             out + begin * kRoundedStep);
  });
  return out;
}

}  // namespace

bool HasRoundedProducts(const Matrix& w) {
  return Kernels().rounded != nullptr && static_cast<size_t>(w.rows) % kRoundedStep == 0 &&
         static_cast<size_t>(w.columns) % kRoundedStep == 0;
}

void MultiplyRounded(ParallelRunner& runner, std::span<const float> x, const Matrix& w,
                     std::span<float> y, AlignedBuffer* scratch) {
  const auto columns = static_cast<size_t>(w.columns);
  const size_t groups = static_cast<size_t>(w.rows) / kRoundedGroup;
  const size_t rows = x.size() / columns;
  RUVD_CHECK(x.size() == rows * columns && y.size() == rows * static_cast<size_t>(w.rows));
  const RoundedKernels& kernels = *Kernels().rounded;
  const uint16_t* const a = Rounded(runner, x, scratch);
  runner.For((groups + kTaskGroups - 1) / kTaskGroups, 1, [&](size_t begin, size_t end) {
    PackBuffers& buffers =
        ThreadBuffers(kRoundedGroup * columns, kTaskGroups * kRoundedGroup * columns);
    for (size_t task = begin; task < end; ++task) {
      const size_t first = task * kTaskGroups;
      const size_t taken = std::min(kTaskGroups, groups - first);
      for (size_t group = 0; group < taken; ++group) {
        DecodeRows(w, (first + group) * kRoundedGroup, kRoundedGroup, 0, columns,
                   buffers.decoded());
        kernels.pack_rows(buffers.decoded(), columns, columns,
                          buffers.packed() + group * kRoundedGroup * columns);
      }
      kernels.multiply({.a = a,
                        .a_stride = columns,
                        .rows = rows,
                        .inner = columns,
                        .b = buffers.packed(),
                        .groups = taken,
                        .y = y.data() + first * kRoundedGroup,
                        .y_stride = static_cast<size_t>(w.rows)});
    }
  });
}

void MultiplyTransposedRounded(ParallelRunner& runner, std::span<const float> dy, const Matrix& w,
                               std::span<float> dx, bool accumulate, AlignedBuffer* scratch) {
  const auto columns = static_cast<size_t>(w.columns);
  const auto inner = static_cast<size_t>(w.rows);
  const size_t rows = dy.size() / inner;
  RUVD_CHECK(dy.size() == rows * inner && dx.size() == rows * columns);
  const RoundedKernels& kernels = *Kernels().rounded;
  const uint16_t* const a = Rounded(runner, dy, scratch);
  // Packs rows [row, row + count) of the columns of a task, group by group.
  const auto pack = [&](size_t row, size_t count, size_t first, size_t taken,
                        PackBuffers* buffers) {
    for (size_t j = 0; j < count; j += kRoundedStep) {
      DecodeRows(w, row + j, kRoundedStep, first, taken, buffers->decoded());
      for (size_t group = 0; group < taken / kRoundedGroup; ++group) {
        kernels.pack_columns(buffers->decoded() + group * kRoundedGroup, taken, kRoundedStep,
                             buffers->packed() + (group * count + j) * kRoundedGroup);
      }
    }
  };
  runner.For((columns + kTaskColumns - 1) / kTaskColumns, 1, [&](size_t begin, size_t end) {
    PackBuffers& buffers = ThreadBuffers(kRoundedStep * kTaskColumns, kInnerChunk * kTaskColumns);
    for (size_t task = begin; task < end; ++task) {
      const size_t first = task * kTaskColumns;
      const size_t taken = std::min(kTaskColumns, columns - first);
      for (size_t row = 0; row < inner; row += kInnerChunk) {
        const size_t count = std::min(kInnerChunk, inner - row);
        pack(row, count, first, taken, &buffers);
        kernels.multiply({.a = a + row,
                          .a_stride = inner,
                          .rows = rows,
                          .inner = count,
                          .b = buffers.packed(),
                          .groups = taken / kRoundedGroup,
                          .y = dx.data() + first,
                          .y_stride = columns,
                          .accumulate = accumulate || row > 0});
      }
    }
  });
}

}  // namespace ruvd::inference
