// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/linear.h"

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
namespace {

// Columns of w that belong to one task of MultiplyTransposed: whole blocks of every format.
constexpr size_t kColumnChunk = 256;
// Rows of w that MultiplyTransposed decodes at a time.
constexpr size_t kRowChunk = 32;
// The height of a panel is a multiple of this number, which every register tile's height divides.
constexpr size_t kPanelStep = 24;

// Returns scratch memory of the calling thread, at least `floats` long, valid until the thread's
// next call.
float* ThreadPanel(size_t floats) {
  thread_local std::vector<float> panel;
  if (panel.size() < floats) {
    panel.resize(floats);
  }
  return panel.data();
}

size_t PanelRows(size_t columns) {
  const size_t rows = limits::kPanelBytes / sizeof(float) / columns;
  return std::max(rows / kPanelStep * kPanelStep, kPanelStep);
}

// Computes outputs [begin, begin + outputs) of y = x w^T; they must fit into one panel.
void MultiplyPanel(const Matrix& w, size_t begin, size_t outputs, ProductAbt product) {
  const KernelTable& kernels = Kernels();
  const size_t panel_floats = outputs * product.columns;
  product.outputs = outputs;
  product.y += begin;
  if (kernels.decodes(w.type)) {
    product.b = w.data + begin * RowBytes(w);
    product.b_stride = RowBytes(w);
    product.b_type = w.type;
    product.panel = ThreadPanel(panel_floats);
    product.panel_floats = panel_floats;
  } else {
    float* panel = ThreadPanel(panel_floats);
    DecodeRows(w, begin, outputs, 0, product.columns, panel);
    product.b = reinterpret_cast<const uint8_t*>(panel);
    product.b_stride = product.columns * sizeof(float);
    product.b_type = TensorType::kF32;
  }
  kernels.multiply_abt(product);
}

}  // namespace

size_t RowBytes(const Matrix& w) {
  return static_cast<size_t>(w.columns) / BlockValues(w.type) * BlockBytes(w.type);
}

void DecodeRows(const Matrix& w, size_t row, size_t rows, size_t begin, size_t count, float* out) {
  const KernelTable& kernels = Kernels();
  const size_t stride = RowBytes(w);
  const size_t skip = begin / BlockValues(w.type) * BlockBytes(w.type);
  const size_t bytes = count / BlockValues(w.type) * BlockBytes(w.type);
  for (size_t r = 0; r < rows; ++r) {
    const uint8_t* source = w.data + (row + r) * stride + skip;
    if (kernels.decodes(w.type)) {
      kernels.decode(w.type, source, count, out + r * count);
    } else {
      RUVD_CHECK(Dequantize(w.type, {source, bytes}, {out + r * count, count}).ok());
    }
  }
}

void Multiply(ParallelRunner& runner, std::span<const float> x, const Matrix& w,
              std::span<float> y) {
  const auto columns = static_cast<size_t>(w.columns);
  const auto outputs = static_cast<size_t>(w.rows);
  const size_t rows = x.size() / columns;
  RUVD_CHECK(x.size() == rows * columns && y.size() == rows * outputs);
  if (rows == 0) {
    return;
  }
  const ProductAbt product{.a = x.data(),
                           .a_stride = columns,
                           .rows = rows,
                           .columns = columns,
                           .y = y.data(),
                           .y_stride = outputs};
  const size_t panel_rows = PanelRows(columns);
  const size_t panels = (outputs + panel_rows - 1) / panel_rows;
  const size_t grain = limits::kMinTaskProducts / (panel_rows * columns * rows) + 1;
  runner.For(panels, grain, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t first = panel * panel_rows;
      MultiplyPanel(w, first, std::min(panel_rows, outputs - first), product);
    }
  });
}

void MultiplyTransposed(ParallelRunner& runner, std::span<const float> dy, const Matrix& w,
                        std::span<float> dx, bool accumulate) {
  const auto columns = static_cast<size_t>(w.columns);
  const auto inner = static_cast<size_t>(w.rows);
  const size_t rows = dy.size() / inner;
  RUVD_CHECK(dy.size() == rows * inner && dx.size() == rows * columns);
  const size_t chunks = (columns + kColumnChunk - 1) / kColumnChunk;
  runner.For(chunks, 1, [&](size_t begin, size_t end) {
    float* panel = ThreadPanel(kRowChunk * kColumnChunk);
    for (size_t chunk = begin; chunk < end; ++chunk) {
      const size_t first = chunk * kColumnChunk;
      const size_t count = std::min(kColumnChunk, columns - first);
      for (size_t j = 0; j < inner; j += kRowChunk) {
        const size_t taken = std::min(kRowChunk, inner - j);
        DecodeRows(w, j, taken, first, count, panel);
        Kernels().multiply_ab({.a = dy.data() + j,
                               .a_stride = inner,
                               .rows = rows,
                               .inner = taken,
                               .b = panel,
                               .b_stride = count,
                               .columns = count,
                               .y = dx.data() + first,
                               .y_stride = columns,
                               .accumulate = accumulate || j > 0});
      }
    }
  });
}

void DecodeRow(const Matrix& w, size_t row, std::span<float> out) {
  RUVD_CHECK(row < static_cast<size_t>(w.rows) && out.size() == static_cast<size_t>(w.columns));
  DecodeRows(w, row, 1, 0, out.size(), out.data());
}

}  // namespace ruvd::inference
