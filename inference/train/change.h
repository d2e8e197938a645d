// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "inference/train/ops.h"

namespace ruvd::train {

// A trainable change y += f(x) of one linear layer. Rows are independent. Not thread-safe.
template <typename T>
class Change {
 public:
  virtual ~Change() = default;
  // y (rows x out) += f(x), x: rows x in.
  virtual void Forward(std::span<const T> x, std::span<T> y) const = 0;
  // Adds dL/dparameters to gradient(), given dy = dL/dy. dL/dx is not needed: only the trained
  // layer and what follows it are differentiated.
  virtual void Backward(std::span<const T> x, std::span<const T> dy) = 0;

  std::vector<T>& parameters() { return parameters_; }
  const std::vector<T>& parameters() const { return parameters_; }
  std::vector<T>& gradient() { return gradient_; }

 protected:
  explicit Change(std::vector<T> parameters)
      : parameters_(std::move(parameters)), gradient_(parameters_.size()) {}

  std::vector<T> parameters_;
  std::vector<T> gradient_;
};

// LoRA (arXiv 2106.09685): y += B A x. Parameters: A (rank x in), then B (out x rank).
template <typename T>
class LoraChange final : public Change<T> {
 public:
  LoraChange(size_t rank, size_t in, size_t out, std::vector<T> a_then_b)
      : Change<T>(std::move(a_then_b)), rank_(rank), in_(in), out_(out), z_(rank), dz_(rank) {}

  void Forward(std::span<const T> x, std::span<T> y) const override {
    for (size_t row = 0; row * in_ < x.size(); ++row) {
      std::fill(z_.begin(), z_.end(), T{0});
      AddMatVec<T>(a(), x.subspan(row * in_, in_), T{1}, z_);
      AddMatVec<T>(b(), z_, T{1}, y.subspan(row * out_, out_));
    }
  }

  void Backward(std::span<const T> x, std::span<const T> dy) override {
    const std::span<T> da = std::span(this->gradient_).first(rank_ * in_);
    const std::span<T> db = std::span(this->gradient_).subspan(rank_ * in_);
    for (size_t row = 0; row * in_ < x.size(); ++row) {
      const std::span<const T> input = x.subspan(row * in_, in_);
      const std::span<const T> output = dy.subspan(row * out_, out_);
      std::fill(z_.begin(), z_.end(), T{0});
      std::fill(dz_.begin(), dz_.end(), T{0});
      AddMatVec<T>(a(), input, T{1}, z_);
      AddOuter<T>(output, z_, T{1}, db);
      AddMatVecTransposed<T>(b(), output, T{1}, dz_);
      AddOuter<T>(dz_, input, T{1}, da);
    }
  }

  std::span<const T> a() const { return std::span(this->parameters_).first(rank_ * in_); }
  std::span<const T> b() const { return std::span(this->parameters_).subspan(rank_ * in_); }

 private:
  size_t rank_;
  size_t in_;
  size_t out_;
  mutable std::vector<T> z_;
  std::vector<T> dz_;
};

// R-core in a fixed frame (Fed-SB, arXiv 2502.15436): y += P R Q x. Parameters: R (rank x rank).
// Borrows P (out x rank) and Q (rank x in).
template <typename T>
class CoreChange final : public Change<T> {
 public:
  CoreChange(size_t rank, size_t in, size_t out, std::span<const T> p, std::span<const T> q)
      : Change<T>(std::vector<T>(rank * rank)),
        rank_(rank),
        in_(in),
        out_(out),
        p_(p),
        q_(q),
        z_(rank),
        v_(rank) {}

  void Forward(std::span<const T> x, std::span<T> y) const override {
    for (size_t row = 0; row * in_ < x.size(); ++row) {
      std::fill(z_.begin(), z_.end(), T{0});
      std::fill(v_.begin(), v_.end(), T{0});
      AddMatVec<T>(q_, x.subspan(row * in_, in_), T{1}, z_);
      AddMatVec<T>(this->parameters_, z_, T{1}, v_);
      AddMatVec<T>(p_, v_, T{1}, y.subspan(row * out_, out_));
    }
  }

  void Backward(std::span<const T> x, std::span<const T> dy) override {
    for (size_t row = 0; row * in_ < x.size(); ++row) {
      std::fill(z_.begin(), z_.end(), T{0});
      std::fill(v_.begin(), v_.end(), T{0});
      AddMatVec<T>(q_, x.subspan(row * in_, in_), T{1}, z_);
      AddMatVecTransposed<T>(p_, dy.subspan(row * out_, out_), T{1}, v_);
      AddOuter<T>(v_, z_, T{1}, this->gradient_);
    }
  }

 private:
  size_t rank_;
  size_t in_;
  size_t out_;
  std::span<const T> p_;
  std::span<const T> q_;
  mutable std::vector<T> z_;
  mutable std::vector<T> v_;
};

}  // namespace ruvd::train
