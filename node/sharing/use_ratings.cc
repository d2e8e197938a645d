// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/use_ratings.h"

#include <algorithm>

#include "inference/instant/lessons.h"
#include "node/sharing/limits.h"

namespace ruvd::sharing {
namespace {

// The mean rating that is not bad.
constexpr double kFair = 0.5;
// Bets on ratings below it, of which each starts with half of the money. The large one needs few
// ratings that are all bad, the small one does not lose all to a few good ones.
constexpr double kBets[] = {1.0, 1.8};
// The reciprocal of the probability that a fair adapter is ever reported.
constexpr double kProof = 20;

}  // namespace

std::optional<RatedUse> RatedUseOf(const storage::Trajectory& trajectory) {
  RatedUse use{.response_id = trajectory.response_id, .adapters = trajectory.adapters};
  if (trajectory.rating) {
    use.rating = *trajectory.rating;
  } else if (trajectory.accepted) {
    use.rating = *trajectory.accepted ? 1 : 0;
  } else if (trajectory.regenerated) {
    use.rating = inference::kRejectingReward;
  } else if (trajectory.copied) {
    use.rating = inference::kTeachingReward;
  } else {
    return std::nullopt;
  }
  return use;
}

void UseRatings::Add(const std::string& adapter, const std::string& response_id, float rating) {
  auto& ratings = by_adapter_[adapter];
  const auto known = std::ranges::find(ratings, response_id, &std::pair<std::string, float>::first);
  if (known != ratings.end()) {
    known->second = rating;
    return;
  }
  ratings.emplace_back(response_id, rating);
  if (ratings.size() > limits::kMaxRatedUses) {
    ratings.erase(ratings.begin());
  }
}

bool UseRatings::AreBad(const std::string& adapter) const {
  const auto found = by_adapter_.find(adapter);
  if (found == by_adapter_.end()) {
    return false;
  }
  double wealth = 0;
  for (const double bet : kBets) {
    double own = 1.0 / std::size(kBets);
    for (const auto& [response, rating] : found->second) {
      own *= 1 + bet * (kFair - static_cast<double>(rating));
    }
    wealth += own;
  }
  return wealth >= kProof;
}

}  // namespace ruvd::sharing
