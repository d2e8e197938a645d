// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/learning/projection_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/status.h"
#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

constexpr float kLargestShare = 0.95F;
constexpr float kLeastProbability = 1e-4F;
constexpr double kLeastMixture = 1e-9;
constexpr size_t kGrain = 16;
// A score that takes an entry out of a row
constexpr float kLeftOut = -1e4F;

// How far the neighbours of an entry match: (tokens to the left) * kRightCodes + (to the right).
constexpr size_t kRightCodes = kMemoryRight + 1;
constexpr size_t kMatchCodes = (kMemoryLeft + 1) * kRightCodes;

// Returns the sum of the bonuses for each code.
std::array<float, kMatchCodes> BonusOfCodes(std::span<const float> bonuses) {
  std::array<float, kMatchCodes> table{};
  for (size_t code = 0; code < kMatchCodes; ++code) {
    const size_t left = code / kRightCodes;
    const size_t right = code % kRightCodes;
    for (size_t i = 0; i < left; ++i) {
      table[code] += bonuses[i];
    }
    for (size_t i = 0; i < right; ++i) {
      table[code] += bonuses[kMemoryLeft + i];
    }
    table[code] += left > 0 && right > 0 ? bonuses[kMemoryLeft + kMemoryRight] : 0.0F;
  }
  return table;
}

// Writes the transpose of a (rows x columns).
std::vector<float> Transpose(ParallelRunner& runner, std::span<const float> a, size_t rows,
                             size_t columns) {
  std::vector<float> transposed(a.size());
  runner.For(columns, kGrain, [&](size_t begin, size_t end) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = begin; c < end; ++c) {
        transposed[c * rows + r] = a[r * columns + c];
      }
    }
  });
  return transposed;
}

// Computes y (rows x columns) = a (rows x inner) times b (inner x columns).
void MultiplyAb(ParallelRunner& runner, std::span<const float> a, std::span<const float> b,
                size_t inner, size_t columns, std::span<float> y, bool accumulate = false) {
  const size_t rows = a.size() / inner;
  runner.For(rows, kGrain, [&](size_t begin, size_t end) {
    Kernels().multiply_ab({.a = a.data() + begin * inner,
                           .a_stride = inner,
                           .rows = end - begin,
                           .inner = inner,
                           .b = b.data(),
                           .b_stride = columns,
                           .columns = columns,
                           .y = y.data() + begin * columns,
                           .y_stride = columns,
                           .accumulate = accumulate});
  });
}

// Computes y (rows x outputs) = a (rows x columns) times the transpose of b (outputs x columns).
void MultiplyAbt(ParallelRunner& runner, std::span<const float> a, std::span<const float> b,
                 size_t columns, std::span<float> y) {
  const size_t rows = a.size() / columns;
  const size_t outputs = b.size() / columns;
  runner.For(rows, kGrain, [&](size_t begin, size_t end) {
    Kernels().multiply_abt({.a = a.data() + begin * columns,
                            .a_stride = columns,
                            .rows = end - begin,
                            .b = reinterpret_cast<const uint8_t*>(b.data()),
                            .b_stride = columns * sizeof(float),
                            .b_type = TensorType::kF32,
                            .outputs = outputs,
                            .columns = columns,
                            .y = y.data() + begin * outputs,
                            .y_stride = outputs});
  });
}

}  // namespace

void ProjectionStep::ComputeKeys(const ProjectionBatch& batch, std::span<const size_t> rows,
                                 std::span<const float> projection, Keys* keys) const {
  const size_t width = layout_.width;
  const size_t dimension = layout_.dimension;
  keys->centred.resize(rows.size() * width);
  keys->units.resize(rows.size() * dimension);
  keys->lengths.resize(rows.size());
  keys->slopes.assign(rows.size() * dimension, 0);
  runner_.For(rows.size(), kGrain, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      const float* from = batch.examples->hidden.data() + rows[r] * width;
      for (size_t i = 0; i < width; ++i) {
        keys->centred[r * width + i] = from[i] - mean_[i];
      }
    }
  });
  MultiplyAbt(runner_, keys->centred, projection, width, keys->units);
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::span<float> unit = std::span(keys->units).subspan(r * dimension, dimension);
    const double squares = std::inner_product(unit.begin(), unit.end(), unit.begin(), 1e-12);
    keys->lengths[r] = static_cast<float>(std::sqrt(squares));
    for (float& value : unit) {
      value /= keys->lengths[r];
    }
  }
}

void ProjectionStep::GatherNeighbours(const ProjectionBatch& batch) {
  const ProjectionExamples& examples = *batch.examples;
  const size_t count = batch.entries.size();
  for (auto& one : left_) {
    one.resize(count);
  }
  for (auto& one : right_) {
    one.resize(count);
  }
  targets_.resize(count);
  log_probabilities_.resize(count);
  for (size_t j = 0; j < count; ++j) {
    const size_t entry = batch.entries[j];
    for (size_t i = 0; i < kMemoryLeft; ++i) {
      left_[i][j] = examples.left[entry][i];
    }
    for (size_t i = 0; i < kMemoryRight; ++i) {
      right_[i][j] = examples.right[entry][i];
    }
    targets_[j] = examples.tokens[entry].token;
    log_probabilities_[j] =
        std::log(std::max(examples.tokens[entry].probability, kLeastProbability));
  }
}

// Turns the cosines of a row into the slopes of the loss by the scores.
void ProjectionStep::RunRow(const ProjectionBatch& batch, std::span<const float> parameters,
                            double weight, size_t row) {
  const ProjectionExamples& examples = *batch.examples;
  const ObservedToken& query = examples.tokens[batch.queries[row]];
  const uint32_t document = examples.documents[batch.queries[row]];
  const size_t count = batch.entries.size();
  const std::span<float> scores = std::span(scores_).subspan(row * count, count);
  const float inverse_temperature = std::exp(-parameters[layout_.temperature()]);
  const std::array<float, kMatchCodes> bonus =
      BonusOfCodes(parameters.subspan(layout_.bonuses(), ProjectionLayout::kBonuses));
  const std::span<const float> bias = parameters.subspan(layout_.biases(), 2);
  thread_local std::vector<uint8_t> codes;
  thread_local std::vector<float> cosines;
  codes.resize(count);
  cosines.assign(scores.begin(), scores.end());
  // An unseen neighbour of the query matches nothing; kNoToken of an entry is another number.
  constexpr TokenId kNothing = kNoToken - 1;
  std::array<TokenId, kMemoryLeft> left = query.left_seen;
  std::array<TokenId, kMemoryRight> right = query.right_seen;
  std::ranges::replace(left, kNoToken, kNothing);
  std::ranges::replace(right, kNoToken, kNothing);
  for (size_t j = 0; j < count; ++j) {
    const unsigned l1 = left_[0][j] == left[0];
    const unsigned l2 = l1 & static_cast<unsigned>(left_[1][j] == left[1]);
    const unsigned l3 = l2 & static_cast<unsigned>(left_[2][j] == left[2]);
    const unsigned l4 = l3 & static_cast<unsigned>(left_[3][j] == left[3]);
    const unsigned r1 = right_[0][j] == right[0];
    const unsigned r2 = r1 & static_cast<unsigned>(right_[1][j] == right[1]);
    const unsigned r3 = r2 & static_cast<unsigned>(right_[2][j] == right[2]);
    codes[j] = static_cast<uint8_t>((l1 + l2 + l3 + l4) * kRightCodes + r1 + r2 + r3);
  }
  for (size_t j = 0; j < count; ++j) {
    const size_t entry = batch.entries[j];
    scores[j] = examples.documents[entry] == document
                    ? kLeftOut
                    : cosines[j] * inverse_temperature + bias[0] * log_probabilities_[j] +
                          bias[1] * examples.tokens[entry].t + bonus[codes[j]];
  }
  const float largest = Kernels().max(scores.data(), count);
  const double mass = static_cast<double>(Kernels().exp_affine(scores.data(), count, 1, largest));
  double same = 0;
  for (size_t j = 0; j < count; ++j) {
    same += targets_[j] == query.token ? static_cast<double>(scores[j]) : 0.0;
  }
  const double of_memory = same / mass;
  const double log_mass = static_cast<double>(largest) + std::log(mass);
  const std::span<const float> factors = parameters.subspan(layout_.share(), 4);
  const double inputs[4] = {1, log_mass - std::log(static_cast<double>(count)),
                            static_cast<double>(query.entropy), static_cast<double>(query.t)};
  double logit = 0;
  for (size_t i = 0; i < 4; ++i) {
    logit += static_cast<double>(factors[i]) * inputs[i];
  }
  const double sigmoid = 1 / (1 + std::exp(-logit));
  const double share = static_cast<double>(kLargestShare) * sigmoid;
  const double of_model = static_cast<double>(query.probability);
  const double mixture = std::max((1 - share) * of_model + share * of_memory, kLeastMixture);
  RowSums& sums = sums_[row];
  sums.loss = -weight * std::log(mixture);
  const double by_memory = -weight * share / mixture;
  const double by_logit = -weight * (of_memory - of_model) / mixture *
                          static_cast<double>(kLargestShare) * sigmoid * (1 - sigmoid);
  for (size_t i = 0; i < 4; ++i) {
    sums.by_share[i] = by_logit * inputs[i];
  }
  const double by_log_mass = by_logit * static_cast<double>(factors[1]);
  sums.by_match.assign(kMatchCodes, 0.0);
  sums.by_temperature = 0;
  const auto other = static_cast<float>((by_log_mass - by_memory * of_memory) / mass);
  const auto equal = static_cast<float>(by_memory / mass);
  for (size_t j = 0; j < count; ++j) {
    const float slope = scores[j] * (targets_[j] == query.token ? other + equal : other);
    scores[j] = slope;
    sums.by_match[codes[j]] += static_cast<double>(slope);
    sums.by_temperature -= static_cast<double>(slope * cosines[j] * inverse_temperature);
  }
}

void ProjectionStep::AddSmallGradients(const ProjectionBatch& batch,
                                       std::span<float> gradient) const {
  double by_temperature = 0;
  std::array<double, ProjectionLayout::kBonuses> by_bonus{};
  std::array<double, 4> by_share{};
  for (const RowSums& sums : sums_) {
    by_temperature += sums.by_temperature;
    for (size_t i = 0; i < 4; ++i) {
      by_share[i] += sums.by_share[i];
    }
    for (size_t code = 0; code < kMatchCodes; ++code) {
      const size_t left = code / kRightCodes;
      const size_t right = code % kRightCodes;
      for (size_t i = 0; i < left; ++i) {
        by_bonus[i] += sums.by_match[code];
      }
      for (size_t i = 0; i < right; ++i) {
        by_bonus[kMemoryLeft + i] += sums.by_match[code];
      }
      by_bonus[kMemoryLeft + kMemoryRight] += left > 0 && right > 0 ? sums.by_match[code] : 0.0;
    }
  }
  std::array<double, 2> by_bias{};
  const size_t count = batch.entries.size();
  std::vector<double> columns(count);
  for (size_t row = 0; row < sums_.size(); ++row) {
    for (size_t j = 0; j < count; ++j) {
      columns[j] += static_cast<double>(scores_[row * count + j]);
    }
  }
  for (size_t j = 0; j < count; ++j) {
    by_bias[0] += columns[j] * static_cast<double>(log_probabilities_[j]);
    by_bias[1] += columns[j] * static_cast<double>(batch.examples->tokens[batch.entries[j]].t);
  }
  gradient[layout_.temperature()] = static_cast<float>(by_temperature);
  for (size_t i = 0; i < by_bonus.size(); ++i) {
    gradient[layout_.bonuses() + i] = static_cast<float>(by_bonus[i]);
  }
  for (size_t i = 0; i < by_bias.size(); ++i) {
    gradient[layout_.biases() + i] = static_cast<float>(by_bias[i]);
  }
  for (size_t i = 0; i < by_share.size(); ++i) {
    gradient[layout_.share() + i] = static_cast<float>(by_share[i]);
  }
}

// Adds the derivative through unit(projection x) to the gradient of the projection.
void ProjectionStep::AddProjectionGradient(Keys* keys, std::span<float> gradient) const {
  const size_t dimension = layout_.dimension;
  const size_t rows = keys->lengths.size();
  for (size_t r = 0; r < rows; ++r) {
    const std::span<float> slope = std::span(keys->slopes).subspan(r * dimension, dimension);
    const std::span<const float> unit =
        std::span<const float>(keys->units).subspan(r * dimension, dimension);
    const float along = std::inner_product(slope.begin(), slope.end(), unit.begin(), 0.0F);
    for (size_t i = 0; i < dimension; ++i) {
      slope[i] = (slope[i] - along * unit[i]) / keys->lengths[r];
    }
  }
  const std::vector<float> transposed = Transpose(runner_, keys->slopes, rows, dimension);
  MultiplyAb(runner_, transposed, keys->centred, rows, layout_.width,
             gradient.first(layout_.temperature()), /*accumulate=*/true);
}

double ProjectionStep::Run(const ProjectionBatch& batch, std::span<const float> parameters,
                           std::span<float> gradient) {
  RUVD_CHECK(gradient.size() == layout_.size() && parameters.size() == layout_.size());
  const std::span<const float> projection = parameters.first(layout_.temperature());
  ComputeKeys(batch, batch.queries, projection, &queries_);
  ComputeKeys(batch, batch.entries, projection, &entries_);
  GatherNeighbours(batch);
  const size_t rows = batch.queries.size();
  const size_t count = batch.entries.size();
  scores_.resize(rows * count);
  MultiplyAbt(runner_, queries_.units, entries_.units, layout_.dimension, scores_);
  double total = 0;
  for (const size_t query : batch.queries) {
    total += 1.0 / batch.examples->tokens[query].masked;
  }
  sums_.resize(rows);
  runner_.For(rows, 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const double weight = 1.0 / batch.examples->tokens[batch.queries[row]].masked / total;
      RunRow(batch, parameters, weight, row);
    }
  });
  std::ranges::fill(gradient, 0.0F);
  AddSmallGradients(batch, gradient);
  const float inverse_temperature = std::exp(-parameters[layout_.temperature()]);
  MultiplyAb(runner_, scores_, entries_.units, count, layout_.dimension, queries_.slopes);
  const std::vector<float> transposed = Transpose(runner_, scores_, rows, count);
  MultiplyAb(runner_, transposed, queries_.units, rows, layout_.dimension, entries_.slopes);
  for (Keys* keys : {&queries_, &entries_}) {
    for (float& slope : keys->slopes) {
      slope *= inverse_temperature;
    }
    AddProjectionGradient(keys, gradient);
  }
  double loss = 0;
  for (const RowSums& sums : sums_) {
    loss += sums.loss;
  }
  return loss;
}

}  // namespace ruvd::inference
