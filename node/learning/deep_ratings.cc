// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_ratings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "node/serving/served_adapters.h"

namespace ruvd::learning {
namespace {

// Parameter of the confidence sequence that makes it tightest at about 50 ratings.
constexpr double kRatio = 0.18;
constexpr double kAlpha = 0.05;

struct Mean {
  double value = 0;
  double squared_error = 0;  // variance of the mean
};

// Returns the mean with one rating of 0 and one of 1 added. If all ratings are equal, as for
// well-liked answers, their own variance would claim that nothing is uncertain.
Mean MeanOf(const std::map<std::string, double>& ratings) {
  const double n = static_cast<double>(ratings.size()) + 2;
  double sum = 1;
  for (const auto& [response, rating] : ratings) {
    sum += rating;
  }
  Mean mean{.value = sum / n};
  double squares = std::pow(mean.value, 2) + std::pow(1 - mean.value, 2);
  for (const auto& [response, rating] : ratings) {
    squares += std::pow(rating - mean.value, 2);
  }
  mean.squared_error = squares / (n - 1) / n;
  return mean;
}

// Returns VERSION of "deep@VERSION", or 0 for another adapter.
uint32_t VersionOf(std::string_view label) {
  const std::string prefix = std::string(serving::kDeepAdapter) + "@";
  uint32_t version = 0;
  if (label.starts_with(prefix)) {
    std::from_chars(label.data() + prefix.size(), label.data() + label.size(), version);
  }
  return version;
}

}  // namespace

std::optional<DeepRating> RatingOf(const storage::Trajectory& trajectory) {
  DeepRating rating{.response_id = trajectory.response_id};
  if (trajectory.rating) {
    rating.rating = *trajectory.rating;
  } else if (trajectory.accepted) {
    rating.rating = *trajectory.accepted ? 1 : 0;
  } else if (!trajectory.edited_text) {
    return std::nullopt;
  }
  for (const std::string& label : trajectory.adapters) {
    rating.version = std::max(rating.version, VersionOf(label));
  }
  return rating;
}

void DeepRatings::Add(const DeepRating& rating) {
  by_version_[rating.version][rating.response_id] = rating.rating;
}

bool DeepRatings::HasRegressed(uint32_t version, uint32_t before) const {
  const auto now = by_version_.find(version);
  const auto then = by_version_.find(before);
  if (now == by_version_.end() || then == by_version_.end() || now->second.size() < kMinRatings ||
      then->second.size() < kMinRatings) {
    return false;
  }
  const Mean is = MeanOf(now->second);
  const Mean was = MeanOf(then->second);
  const double looks = kRatio * static_cast<double>(now->second.size());
  const double width = std::sqrt((is.squared_error + was.squared_error) * 2 * (looks + 1) / looks *
                                 std::log(std::sqrt(looks + 1) / kAlpha));
  return is.value < was.value - width;
}

}  // namespace ruvd::learning
