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

// A user's rating of a completion, with the version of the deep adapter that served it.
struct DeepRating {
  std::string response_id;
  uint32_t version = 0;  // 0: none
  double rating = 0;     // in [0, 1]
};

// Returns the rating of a trajectory, or nullopt if users gave no feedback. An acceptance is 1 and
// a rejection 0; an edit is 0, because what was served had to be corrected.
std::optional<DeepRating> RatingOf(const storage::Trajectory& trajectory);

// The ratings of all versions. Not thread-safe.
class DeepRatings {
 public:
  // Adds a rating, which replaces an earlier one of the same response.
  void Add(const DeepRating& rating);

  // Returns whether the ratings of `version` are below those of `before`, both with at least
  // kMinRatings. Because this is asked after every rating, the bound holds for all these looks
  // together: about one in forty versions that are no worse is ever reported as worse. It uses an
  // asymptotic confidence sequence of the mean (Waudby-Smith et al., "Time-uniform central limit
  // theory and asymptotic confidence sequences", section 2), which is about three standard errors
  // wide.
  bool HasRegressed(uint32_t version, uint32_t before) const;

  static constexpr size_t kMinRatings = 20;

 private:
  std::map<uint32_t, std::map<std::string, double>> by_version_;
};

}  // namespace ruvd::learning
