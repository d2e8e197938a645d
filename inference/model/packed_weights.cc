// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/packed_weights.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ruvd::inference {
namespace {

PackedMatrix PackOne(ParallelRunner& runner, const Model& model, const Matrix& w) {
  if (!PackedMatrix::Supports(w.type)) {
    return {};
  }
  const size_t row_bytes = RowBytes(w);
  size_t released = 0;
  return PackedMatrix::Pack(runner, w, [&](size_t rows) {
    model.ReleasePages({w.data + released * row_bytes, (rows - released) * row_bytes});
    released = rows;
  });
}

}  // namespace

std::shared_ptr<const PackedWeights> PackedWeights::Pack(std::shared_ptr<const Model> model,
                                                         ParallelRunner& runner) {
  std::shared_ptr<PackedWeights> packed(new PackedWeights(std::move(model)));
  std::vector<std::span<const uint8_t>> read;
  const auto pack = [&](const Matrix& w) {
    PackedMatrix matrix = PackOne(runner, *packed->model_, w);
    packed->bytes_ += matrix.bytes();
    if (matrix.bytes() > 0) {
      read.emplace_back(w.data, static_cast<size_t>(w.rows) * RowBytes(w));
    }
    return matrix;
  };
  for (int i = 0; i < packed->model_->config().layers; ++i) {
    const LayerWeights& layer = packed->model_->layer(i);
    packed->layers_.push_back({.q = pack(layer.q),
                               .k = pack(layer.k),
                               .v = pack(layer.v),
                               .output = pack(layer.output),
                               .gate = pack(layer.gate),
                               .up = pack(layer.up),
                               .down = pack(layer.down)});
  }
  packed->output_ = pack(packed->model_->output());
  // Reading a matrix maps pages of its neighbours again, because the system reads 64 KiB around a
  // page.
  for (const std::span<const uint8_t> bytes : read) {
    packed->model_->ReleasePages(bytes);
  }
  return packed;
}

uint64_t PackedWeights::BytesFor(const Model& model) {
  uint64_t bytes = 0;
  const auto add = [&bytes](const Matrix& w) {
    bytes += PackedMatrix::Supports(w.type) ? PackedMatrix::Bytes(w) : 0;
  };
  for (int i = 0; i < model.config().layers; ++i) {
    const LayerWeights& layer = model.layer(i);
    for (const Matrix* w :
         {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) {
      add(*w);
    }
  }
  add(model.output());
  return bytes;
}

}  // namespace ruvd::inference
