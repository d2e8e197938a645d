// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "inference/model/model.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::test {

using Rows = std::vector<std::vector<double>>;
// Whether query i may look at key j.
using Sees = std::function<bool(size_t i, size_t j)>;

// The graphs of all architectures in double precision, written to be read and independent of the
// implementation.
class Reference {
 public:
  Reference(
      const inference::Model& model, Sees sees,
      std::function<double(size_t)> position = [](size_t i) { return static_cast<double>(i); })
      : model_(model),
        config_(model.config()),
        sees_(std::move(sees)),
        position_(std::move(position)) {}

  // Final hidden states after the output norm, row by row.
  std::vector<float> Hidden(const std::vector<inference::TokenId>& tokens) const {
    const std::vector<float> embedding = Values(model_.token_embedding());
    const auto width = static_cast<size_t>(config_.width);
    Rows x;
    for (const inference::TokenId token : tokens) {
      x.emplace_back(embedding.begin() + static_cast<ptrdiff_t>(token * width),
                     embedding.begin() + static_cast<ptrdiff_t>((token + 1) * width));
    }
    for (int l = 0; l < config_.layers; ++l) {
      const inference::LayerWeights& layer = model_.layer(l);
      Add(&x, Times(AttentionOf(layer, Norm(x, layer.attn_norm)), layer.output, {}));
      const Rows h = Norm(x, layer.ffn_norm);
      Rows gate = Times(h, layer.gate, {});
      const Rows up = Times(h, layer.up, {});
      for (size_t i = 0; i < gate.size(); ++i) {
        for (size_t j = 0; j < gate[i].size(); ++j) {
          gate[i][j] *= up[i][j] / (1.0 + std::exp(-gate[i][j]));
        }
      }
      Add(&x, Times(gate, layer.down, {}));
    }
    return Flatten(Norm(x, model_.output_norm()));
  }

 private:
  static std::vector<float> Flatten(const Rows& rows) {
    std::vector<float> flat;
    for (const auto& row : rows) {
      for (const double value : row) {
        flat.push_back(static_cast<float>(value));
      }
    }
    return flat;
  }
  static void Add(Rows* x, const Rows& what) {
    for (size_t i = 0; i < x->size(); ++i) {
      for (size_t j = 0; j < what[i].size(); ++j) {
        (*x)[i][j] += what[i][j];
      }
    }
  }
  // Normalises `count` values from `begin` on.
  void NormPart(std::vector<double>* row, size_t begin, size_t count,
                const std::vector<float>& weight) const {
    double squares = 0;
    for (size_t j = begin; j < begin + count; ++j) {
      squares += (*row)[j] * (*row)[j];
    }
    const double mean = squares / static_cast<double>(count);
    for (size_t j = 0; j < count; ++j) {
      (*row)[begin + j] *= weight[j] / std::sqrt(mean + static_cast<double>(config_.rms_epsilon));
    }
  }
  Rows Norm(Rows x, const std::vector<float>& weight) const {
    for (auto& row : x) {
      NormPart(&row, 0, row.size(), weight);
    }
    return x;
  }
  void NormHeads(Rows* x, const std::vector<float>& weight) const {
    for (auto& row : *x) {
      for (size_t j = 0; !weight.empty() && j < row.size(); j += weight.size()) {
        NormPart(&row, j, weight.size(), weight);
      }
    }
  }
  static Rows Times(const Rows& x, const inference::Matrix& w, const std::vector<float>& bias) {
    const std::vector<float> values = Values(w);
    Rows y(x.size(), std::vector<double>(static_cast<size_t>(w.rows)));
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t o = 0; o < y[i].size(); ++o) {
        y[i][o] = bias.empty() ? 0.0 : bias[o];
        for (size_t c = 0; c < x[i].size(); ++c) {
          y[i][o] += x[i][c] * values[o * x[i].size() + c];
        }
      }
    }
    return y;
  }
  size_t Rotated() const {
    return static_cast<size_t>(config_.rope_dimensions > 0 ? config_.rope_dimensions
                                                           : config_.head_size);
  }
  // Returns the angle by which pair p turns per position.
  double Speed(size_t p) const {
    const double base = std::pow(static_cast<double>(config_.rope_base),
                                 -2.0 * static_cast<double>(p) / static_cast<double>(Rotated()));
    const double speed =
        config_.rope_divisors.empty() ? base : base / static_cast<double>(config_.rope_divisors[p]);
    const inference::RopeScaling& scaling = config_.rope_scaling;
    switch (scaling.kind) {
      case inference::RopeScaling::Kind::kNone:
        return speed;
      case inference::RopeScaling::Kind::kLinear:
        return speed / scaling.factor;
      case inference::RopeScaling::Kind::kYarn:
        break;
    }
    // Searches for the last pair that turns beta_fast times and the first pair that turns only
    // beta_slow times within the original context.
    const auto turns = [&](size_t pair) {
      return scaling.original_context *
             std::pow(static_cast<double>(config_.rope_base),
                      -2.0 * static_cast<double>(pair) / static_cast<double>(Rotated())) /
             (2 * std::numbers::pi);
    };
    size_t low = 0;
    while (turns(low + 1) >= static_cast<double>(scaling.beta_fast)) {
      ++low;
    }
    size_t high = low;
    while (turns(high) > static_cast<double>(scaling.beta_slow)) {
      ++high;
    }
    if (p <= low) {
      return speed;
    }
    if (p >= high) {
      return speed / scaling.factor;
    }
    const double share = static_cast<double>(p - low) / static_cast<double>(high - low);
    return (1 - share) * speed + share * (speed / scaling.factor);
  }
  double Magnitude() const {
    const inference::RopeScaling& scaling = config_.rope_scaling;
    return scaling.kind == inference::RopeScaling::Kind::kYarn
               ? scaling.attn_factor * (0.1 * std::log(scaling.factor) + 1)
               : scaling.attn_factor;
  }
  void Rotate(Rows* x, size_t heads) const {
    const auto size = static_cast<size_t>(config_.head_size);
    for (size_t i = 0; i < x->size(); ++i) {
      for (size_t h = 0; h < heads; ++h) {
        for (size_t p = 0; p < Rotated() / 2; ++p) {
          const double angle = position_(i) * Speed(p);
          const size_t first = config_.rope_adjacent ? 2 * p : p;
          const size_t second = config_.rope_adjacent ? 2 * p + 1 : p + Rotated() / 2;
          double& a = (*x)[i][h * size + first];
          double& b = (*x)[i][h * size + second];
          const double before = a;
          a = (before * std::cos(angle) - b * std::sin(angle)) * Magnitude();
          b = (b * std::cos(angle) + before * std::sin(angle)) * Magnitude();
        }
      }
    }
  }
  Rows AttentionOf(const inference::LayerWeights& layer, const Rows& h) const {
    const auto heads = static_cast<size_t>(config_.heads);
    const auto kv_heads = static_cast<size_t>(config_.kv_heads);
    const auto size = static_cast<size_t>(config_.head_size);
    Rows q = Times(h, layer.q, layer.q_bias);
    Rows k = Times(h, layer.k, layer.k_bias);
    const Rows v = Times(h, layer.v, layer.v_bias);
    NormHeads(&q, layer.q_norm);
    NormHeads(&k, layer.k_norm);
    Rotate(&q, heads);
    Rotate(&k, kv_heads);
    Rows out(h.size(), std::vector<double>(heads * size));
    for (size_t i = 0; i < h.size(); ++i) {
      for (size_t head = 0; head < heads; ++head) {
        const size_t kv = head / (heads / kv_heads) * size;
        std::vector<double> weights(h.size());
        double total = 0;
        for (size_t j = 0; j < h.size(); ++j) {
          double score = 0;
          for (size_t c = 0; c < size; ++c) {
            score += q[i][head * size + c] * k[j][kv + c];
          }
          weights[j] = sees_(i, j) ? std::exp(score / std::sqrt(static_cast<double>(size))) : 0.0;
          total += weights[j];
        }
        for (size_t j = 0; j < h.size(); ++j) {
          for (size_t c = 0; c < size; ++c) {
            out[i][head * size + c] += weights[j] / total * v[j][kv + c];
          }
        }
      }
    }
    return out;
  }

  const inference::Model& model_;
  const inference::ModelConfig& config_;
  Sees sees_;
  std::function<double(size_t)> position_;
};

}  // namespace ruvd::test
