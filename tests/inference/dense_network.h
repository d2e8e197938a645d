// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/train/network.h"
#include "inference/train/ops.h"

namespace ruvd::test {

// A small random network in double with everything a layer may have: biases, norms of queries and
// keys, heads that share keys.
class DenseNetwork final : public inference::train::NetworkWeights<double> {
 public:
  struct Options {
    bool norms = true;
    bool biases = true;
    bool adjacent = false;
    size_t sliding_window = 0;
    size_t vocabulary = 9;
  };
  explicit DenseNetwork(const Options& options, uint64_t seed = 1) {
    shape_ = {.layers = 3,
              .width = 6,
              .heads = 4,
              .kv_heads = 2,
              .head_size = 4,
              .ffn = 7,
              .vocabulary = options.vocabulary,
              .epsilon = 1e-3,
              .rope_frequencies = {1.0, 0.1},
              .rope_magnitude = 1.1,
              .sliding_window = options.sliding_window,
              .rope_adjacent = options.adjacent};
    Random random(seed);
    const auto draw = [&](size_t size, double spread, double centre) {
      std::vector<double> values(size);
      for (double& value : values) {
        value = centre + spread * random.Normal();
      }
      return values;
    };
    embedding_ = draw(shape_.vocabulary * shape_.width, 1.0, 0.0);
    for (size_t i = 0; i <= 2 * shape_.layers; ++i) {
      norms_.push_back(draw(shape_.width, 0.3, 1.0));
      head_norms_.push_back(draw(options.norms ? shape_.head_size : 0, 0.3, 1.0));
    }
    for (size_t layer = 0; layer <= shape_.layers; ++layer) {
      for (size_t i = 0; i <= inference::train::kLayerLinears; ++i) {
        const inference::train::Site site{layer, static_cast<inference::train::Linear>(i)};
        if (shape_.Has(site)) {
          matrices_[site] = draw(shape_.In(site.linear) * shape_.Out(site.linear), 0.4, 0.0);
          biases_[site] = draw(options.biases && i < 3 ? shape_.Out(site.linear) : 0, 0.3, 0.0);
        }
      }
    }
  }

  const inference::train::NetworkShape& shape() const override { return shape_; }
  void Embed(std::span<const inference::TokenId> tokens, std::span<double> x) override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::copy_n(embedding_.data() + tokens[i] * shape_.width, shape_.width,
                  x.data() + i * shape_.width);
    }
  }
  std::span<const double> attn_norm(size_t layer) const override { return norms_[2 * layer]; }
  std::span<const double> ffn_norm(size_t layer) const override { return norms_[2 * layer + 1]; }
  std::span<const double> output_norm() const override { return norms_.back(); }
  std::span<const double> q_norm(size_t layer) const override { return head_norms_[2 * layer]; }
  std::span<const double> k_norm(size_t layer) const override { return head_norms_[2 * layer + 1]; }
  std::span<const double> Bias(const inference::train::Site& site) const override {
    return biases_.at(site);
  }
  void Multiply(const inference::train::Site& site, std::span<const double> x,
                std::span<double> y) override {
    const size_t in = shape_.In(site.linear);
    const size_t out = shape_.Out(site.linear);
    inference::train::MultiplyAbt<double>({.a = x.data(),
                                           .a_stride = in,
                                           .rows = x.size() / in,
                                           .inner = in,
                                           .b = matrices_.at(site).data(),
                                           .b_stride = in,
                                           .columns = out,
                                           .y = y.data(),
                                           .y_stride = out});
  }
  void MultiplyTransposed(const inference::train::Site& site, std::span<const double> dy,
                          std::span<double> dx, bool accumulate) override {
    const size_t in = shape_.In(site.linear);
    const size_t out = shape_.Out(site.linear);
    inference::train::MultiplyAb<double>({.a = dy.data(),
                                          .a_stride = out,
                                          .rows = dy.size() / out,
                                          .inner = out,
                                          .b = matrices_.at(site).data(),
                                          .b_stride = in,
                                          .columns = in,
                                          .y = dx.data(),
                                          .y_stride = in,
                                          .accumulate = accumulate});
  }

 private:
  inference::train::NetworkShape shape_;
  std::vector<double> embedding_;
  std::vector<std::vector<double>> norms_, head_norms_;
  std::map<inference::train::Site, std::vector<double>> matrices_, biases_;
};

}  // namespace ruvd::test
