// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// What a user thought of a completion, and which version of the deep adapter served it.
struct DeepRating {
  std::string response_id;
  uint32_t version = 0;  // 0: none
  double rating = 0;     // 0 to 1
};

// The rating of a trajectory; nullopt where nobody said anything. An acceptance is 1, its opposite
// 0; an edit is 0: what was served had to be corrected.
std::optional<DeepRating> RatingOf(const storage::Trajectory& trajectory);

// The ratings of all versions. Not thread-safe.
class DeepRatings {
 public:
  // A rating replaces an earlier one of the same response.
  void Add(const DeepRating& rating);

  // Whether the ratings of `version` are below those of `before`, both at least kLeastRatings. It
  // is asked after every rating, so the bound holds for all looks together (some one in forty
  // versions that are no worse is ever found so): an asymptotic confidence sequence of the mean
  // (Waudby-Smith et al., "Time-uniform central limit theory and asymptotic confidence sequences",
  // section 2), some three standard errors wide.
  bool Regressed(uint32_t version, uint32_t before) const;

  static constexpr size_t kLeastRatings = 20;

 private:
  std::map<uint32_t, std::map<std::string, double>> by_version_;
};

}  // namespace ruvd::learning
