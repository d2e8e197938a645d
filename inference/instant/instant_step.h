// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inference/sampler/commit_trail.h"
#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// What a request teaches at one position.
struct InstantLesson {
  TokenId token = 0;  // the token that was right or was rejected
  // Positive, up to 1: the token was right, with this certainty. Negative, down to -1: it was
  // rejected.
  float weight = 0;
  std::span<const float> hidden;  // final hidden state that predicted the token
  // the likely tokens of the distribution at that time
  std::span<const TokenProbability> candidates;
  float probability = 0;  // probability of `token` at that time
};

// How strongly lessons change the output rows.
struct InstantStepOptions {
  // The learning rate of normalised least mean squares (Nagumo and Noda 1967): a row changes by
  // step / |h|^2 times its error. It has no unit and therefore suits every model.
  float step = 0.2F;
  // The row of a rejected token falls by this share of the rise of an accepted token with equal
  // error.
  float rejection = 0.1F;
};

// The changes that one request taught. Written as changes of the output matrix E they are, for each
// lesson with hidden state h, target y and candidates k of probability p,
//   dE[k] -= step / |h|^2 * weight * (p_k - [k = y]) * h    (the gradient of the cross-entropy)
// and for a rejected y only dE[y] -= step * rejection / |h|^2 * |weight| * p_y * h. This is
// unlikelihood training, whose push vanishes with the probability of the token. The rows themselves
// are never computed: dE h' is a sum over lessons of their coefficients times h . h', which the
// search for neighbours computes anyway. Instances are immutable.
class InstantStep {
 public:
  // Leaves out lessons whose hidden state is not finite or is zero, lessons with a probability
  // outside [0, 1], lessons whose weight is zero or not finite, and lessons beyond
  // limits::kMaxStepPositions. `width` is the number of values of a hidden state.
  static std::shared_ptr<const InstantStep> Make(std::string id, int width,
                                                 std::span<const InstantLesson> lessons,
                                                 const InstantStepOptions& options);

  const std::string& id() const { return id_; }
  size_t size() const { return votes_.size(); }
  size_t width() const { return width_; }
  size_t bytes() const;

  // The token of a lesson, and its weight among the neighbours: 0 for a rejected token.
  struct Vote {
    TokenId token = kNoToken;
    float weight = 0;
  };
  // The logit of the token changes by coefficient * cos(h, h') * |h'|.
  struct Change {
    TokenId token = 0;
    float coefficient = 0;
  };

  // Hidden states divided by their lengths, size() x width in binary16.
  const uint16_t* keys() const { return keys_.data(); }
  const Vote& vote(size_t lesson) const { return votes_[lesson]; }
  std::span<const Change> changes(size_t lesson) const {
    return std::span(changes_).subspan(ends_[lesson], ends_[lesson + 1] - ends_[lesson]);
  }

 private:
  InstantStep(std::string id, size_t width) : id_(std::move(id)), width_(width) {}
  void Add(const InstantLesson& lesson, float length, const InstantStepOptions& options);

  std::string id_;
  size_t width_;
  std::vector<uint16_t> keys_;
  std::vector<Vote> votes_;
  std::vector<Change> changes_;
  std::vector<uint32_t> ends_ = {0};  // for each lesson, where its changes end
};

// Returns the Euclidean length of a vector, summed in a fixed order.
float EuclideanNorm(std::span<const float> x);

}  // namespace ruvd::inference
