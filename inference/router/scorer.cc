// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/scorer.h"

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/router/fast_grnn.h"
#include "inference/router/limits.h"

namespace ruvd::inference {
namespace {

// A logistic regression: logit = w x + b.
class Logistic final : public Scorer {
 public:
  explicit Logistic(const ScorerShape& shape) : Scorer(shape, shape.inputs + 1) {}

  double Logit(std::span<const double> x) const override {
    double logit = parameters_.back();
    for (size_t i = 0; i < x.size(); ++i) {
      logit += parameters_[i] * x[i];
    }
    return logit;
  }
  void AddGradient(std::span<const double> x, double d_logit,
                   std::span<double> gradient) const override {
    for (size_t i = 0; i < x.size(); ++i) {
      gradient[i] += d_logit * x[i];
    }
    gradient[x.size()] += d_logit;
  }
  std::vector<Range> matrices() const override { return {{0, shape_.inputs}}; }
};

// A threshold on one input, as a probability: logit = a confidence + b.
class Cascade final : public Scorer {
 public:
  explicit Cascade(const ScorerShape& shape) : Scorer(shape, 2) {}

  double Logit(std::span<const double> x) const override {
    return parameters_[0] * x[shape_.confidence] + parameters_[1];
  }
  void AddGradient(std::span<const double> x, double d_logit,
                   std::span<double> gradient) const override {
    gradient[0] += d_logit * x[shape_.confidence];
    gradient[1] += d_logit;
  }
  std::vector<Range> matrices() const override { return {}; }
};

// A network with one hidden layer: logit = v tanh(W x + b) + a. Parameters: W (hidden x inputs), b,
// v, a.
class Mlp final : public Scorer {
 public:
  explicit Mlp(const ScorerShape& shape)
      : Scorer(shape, static_cast<size_t>(shape.hidden) * shape.inputs + 2 * shape.hidden + 1) {}

  void Initialise(Random& random) {
    const double spread = 1 / std::sqrt(static_cast<double>(shape_.inputs));
    for (size_t i = 0; i < B(); ++i) {
      parameters_[i] = spread * random.Normal();
    }
    for (size_t i = V(); i < V() + shape_.hidden; ++i) {
      parameters_[i] = spread * random.Normal();
    }
  }

  double Logit(std::span<const double> x) const override {
    double logit = parameters_.back();
    for (size_t i = 0; i < shape_.hidden; ++i) {
      logit += parameters_[V() + i] * Unit(x, i);
    }
    return logit;
  }
  void AddGradient(std::span<const double> x, double d_logit,
                   std::span<double> gradient) const override {
    for (size_t i = 0; i < shape_.hidden; ++i) {
      const double unit = Unit(x, i);
      gradient[V() + i] += d_logit * unit;
      const double d_sum = d_logit * parameters_[V() + i] * (1 - unit * unit);
      gradient[B() + i] += d_sum;
      for (size_t j = 0; j < x.size(); ++j) {
        gradient[i * x.size() + j] += d_sum * x[j];
      }
    }
    gradient.back() += d_logit;
  }
  std::vector<Range> matrices() const override { return {{0, B()}}; }

 private:
  size_t B() const { return static_cast<size_t>(shape_.hidden) * shape_.inputs; }
  size_t V() const { return B() + shape_.hidden; }
  double Unit(std::span<const double> x, size_t i) const {
    double sum = parameters_[B() + i];
    for (size_t j = 0; j < x.size(); ++j) {
      sum += parameters_[i * x.size() + j] * x[j];
    }
    return std::tanh(sum);
  }
};

absl::Status Impossible(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a router's scorer has {}; train one within the limits", what);
}

}  // namespace

double Sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

std::string_view ScorerName(ScorerKind kind) {
  switch (kind) {
    case ScorerKind::kLogistic:
      return "logistic";
    case ScorerKind::kMlp:
      return "mlp";
    case ScorerKind::kCascade:
      return "cascade";
    case ScorerKind::kFastGrnn:
      break;
  }
  return "fastgrnn";
}

absl::Status CheckShape(const ScorerShape& shape) {
  if (shape.kind < ScorerKind::kLogistic || shape.kind > ScorerKind::kFastGrnn) {
    return Impossible("an unknown kind");
  }
  if (shape.inputs == 0 || shape.inputs > limits::kMaxRouterInputs) {
    return Impossible("no inputs or too many");
  }
  if (shape.hidden == 0 || shape.hidden > limits::kMaxScorerHidden) {
    return Impossible("no hidden units or too many");
  }
  if (shape.steps == 0 || shape.inputs % shape.steps != 0) {
    return Impossible("a number of inputs that its steps do not divide");
  }
  if (shape.rank_w == 0 || shape.rank_w > limits::kMaxRouterRank || shape.rank_u == 0 ||
      shape.rank_u > limits::kMaxRouterRank) {
    return Impossible("an impossible rank");
  }
  return shape.confidence < shape.inputs ? absl::OkStatus()
                                         : Impossible("a confidence index that is not an input");
}

absl::StatusOr<std::unique_ptr<Scorer>> Scorer::Create(const ScorerShape& shape, Random& random) {
  RETURN_IF_ERROR(CheckShape(shape));
  switch (shape.kind) {
    case ScorerKind::kLogistic:
      return std::make_unique<Logistic>(shape);
    case ScorerKind::kCascade:
      return std::make_unique<Cascade>(shape);
    case ScorerKind::kMlp: {
      auto mlp = std::make_unique<Mlp>(shape);
      mlp->Initialise(random);
      return mlp;
    }
    case ScorerKind::kFastGrnn:
      break;
  }
  auto cell = std::make_unique<FastGrnn>(shape);
  cell->Initialise(random);
  return cell;
}

}  // namespace ruvd::inference
