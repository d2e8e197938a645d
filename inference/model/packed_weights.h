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

// A model's matrices repacked for the integer kernels. A matrix in a format without such kernels
// stays empty here and is used as it is in the file. Immutable and thread-safe: all transformers of
// a model share one.
class PackedWeights {
 public:
  struct Layer {
    PackedMatrix q, k, v, output, gate, up, down;
  };

  // Packs matrix by matrix and releases the file's pages as it goes, so that memory use is never
  // much more than the size of the file.
  static std::shared_ptr<const PackedWeights> Pack(std::shared_ptr<const Model> model,
                                                   ParallelRunner& runner);

  // Returns the memory that Pack will take, in bytes.
  static uint64_t BytesFor(const Model& model);

  const std::shared_ptr<const Model>& model() const { return model_; }
  const Layer& layer(size_t index) const { return layers_[index]; }
  const PackedMatrix& output() const { return output_; }
  // Returns the memory held by all matrices, in bytes.
  size_t bytes() const { return bytes_; }

 private:
  explicit PackedWeights(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  std::shared_ptr<const Model> model_;
  std::vector<Layer> layers_;
  PackedMatrix output_;
  size_t bytes_ = 0;
};

}  // namespace ruvd::inference
