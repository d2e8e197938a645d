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
  TokenId token = 0;  // that was right, or was rejected
  // Above 0, up to 1: the token was right, so sure. Below 0, down to -1: it was rejected.
  float weight = 0;
  std::span<const float> hidden;                 // final hidden state that predicted the token
  std::span<const TokenProbability> candidates;  // the distribution then, its likely tokens
  float probability = 0;                         // of `token` then
};

// How strongly lessons change the output rows.
struct InstantStepOptions {
  // The learning rate of normalised least mean squares (Nagumo and Noda 1967): a row changes by
  // step / |h|^2 times its error, so it needs no unit and holds for every model.
  float step = 0.2F;
  // A rejected token's row falls by this share of what an accepted one of equal error rises.
  float rejection = 0.1F;
};

// The changes that one request taught, immutable. Written as changes of the output matrix E they
// are, for each lesson with hidden state h, target y and candidates k of probability p,
//   dE[k] -= step / |h|^2 * weight * (p_k - [k = y]) * h    (the gradient of the cross-entropy)
// and for a rejected y only dE[y] -= step * rejection / |h|^2 * |weight| * p_y * h: unlikelihood,
// whose push ends with the token's probability. The rows themselves are never made: dE h' is a sum
// over lessons of their coefficients times h . h', which the search for neighbours computes anyway.
class InstantStep {
 public:
  // Lessons whose hidden state is not finite or zero are left out, and so are those with a
  // probability outside [0, 1], with a weight that is zero or not finite, and those beyond
  // limits::kMaxStepPositions. `width`: of the hidden states.
  static std::shared_ptr<const InstantStep> Make(std::string id, int width,
                                                 std::span<const InstantLesson> lessons,
                                                 const InstantStepOptions& options);

  const std::string& id() const { return id_; }
  size_t size() const { return votes_.size(); }
  size_t width() const { return width_; }
  size_t bytes() const;

  // A lesson's own token, and how much it counts among neighbours: 0 for rejected ones.
  struct Vote {
    TokenId token = kNoToken;
    float weight = 0;
  };
  // A token's logit changes by coefficient * cos(h, h') * |h'|.
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
  std::vector<uint32_t> ends_ = {0};  // of each lesson's changes
};

// The Euclidean length of a vector, summed in a fixed order.
float LengthOf(std::span<const float> x);

}  // namespace ruvd::inference
