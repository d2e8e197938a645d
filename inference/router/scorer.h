// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"

namespace ruvd::inference {

// The kinds of scorers. The numbers are stored, so they must not change.
enum class ScorerKind : uint8_t {
  kLogistic = 1,  // logistic regression
  kMlp = 2,       // one hidden layer of tanh units
  kCascade = 3,   // a threshold on the small model's own confidence
  kFastGrnn = 4,
};
std::string_view ScorerName(ScorerKind kind);

// The shape of a scorer.
struct ScorerShape {
  ScorerKind kind = ScorerKind::kLogistic;
  uint32_t inputs = 0;
  uint32_t hidden = 8;  // kMlp, kFastGrnn
  // kFastGrnn: the input is read as `steps` vectors of inputs / steps values each, in order
  uint32_t steps = 1;
  uint32_t rank_w = 4;  // kFastGrnn: ranks of W and U
  uint32_t rank_u = 4;
  uint32_t confidence = 0;  // kCascade: the index of its input
};

// Returns INVALID_ARGUMENT for a shape that is impossible or beyond the limits.
absl::Status CheckShape(const ScorerShape& shape);

// Predicts from a request's features, as a logit, whether one way of serving it is good enough. The
// parameters are one vector, which training changes; all arithmetic is in double. Logit and
// AddGradient are const, and thread-safe while no thread changes the parameters.
class Scorer {
 public:
  // Makes a scorer whose parameters are 0, or small numbers drawn from `random` if 0 is a saddle
  // point.
  static absl::StatusOr<std::unique_ptr<Scorer>> Create(const ScorerShape& shape, Random& random);

  virtual ~Scorer() = default;
  const ScorerShape& shape() const { return shape_; }
  std::span<double> parameters() { return parameters_; }
  std::span<const double> parameters() const { return parameters_; }

  // `x` must have shape().inputs values.
  virtual double Logit(std::span<const double> x) const = 0;
  // Adds `d_logit` times the gradient of the logit to `gradient`, which must have as many values as
  // parameters().
  virtual void AddGradient(std::span<const double> x, double d_logit,
                           std::span<double> gradient) const = 0;

  // The matrices, as ranges of the parameters. Only these are made sparse and rounded to bytes, not
  // biases and scalars.
  struct Range {
    size_t begin = 0;
    size_t size = 0;
  };
  virtual std::vector<Range> matrices() const = 0;

 protected:
  Scorer(const ScorerShape& shape, size_t parameters) : shape_(shape), parameters_(parameters) {}

  ScorerShape shape_;
  std::vector<double> parameters_;
};

// Returns 1 / (1 + exp(-x)).
double Sigmoid(double x);

}  // namespace ruvd::inference
