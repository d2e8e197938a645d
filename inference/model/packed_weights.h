// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "inference/model/linear.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// A model's matrices repacked for the integer kernels. Matrices in formats without such kernels
// stay empty and are used as they lie in the file. Immutable and thread-safe: the transformers of a
// model share one.
class PackedWeights {
 public:
  struct Layer {
    PackedMatrix q, k, v, output, gate, up, down;
  };

  // Packs matrix by matrix and gives back the file's pages behind it, so that hardly more memory
  // is in use at a time than for the file.
  static std::shared_ptr<const PackedWeights> Pack(std::shared_ptr<const Model> model,
                                                   ParallelRunner& runner);

  // Memory that Pack will take.
  static uint64_t BytesFor(const Model& model);

  const std::shared_ptr<const Model>& model() const { return model_; }
  const Layer& layer(size_t index) const { return layers_[index]; }
  const PackedMatrix& output() const { return output_; }
  // Memory held by all matrices.
  size_t bytes() const { return bytes_; }

 private:
  explicit PackedWeights(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  std::shared_ptr<const Model> model_;
  std::vector<Layer> layers_;
  PackedMatrix output_;
  size_t bytes_ = 0;
};

}  // namespace ruvd::inference
