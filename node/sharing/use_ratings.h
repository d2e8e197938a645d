// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/trajectories/trajectory_store.h"

namespace ruvd::sharing {

// A user's opinion of a completion, and the adapters that served it.
struct RatedUse {
  std::string response_id;
  std::vector<std::string> adapters;  // name@version
  float rating = 0;                   // 0 to 1
};

// Returns the opinion on a completion, or nullopt if users gave no opinion. An acceptance is 1 and
// a rejection 0; copying and asking for another completion count as little as they do to a session.
// An edit says nothing against the adapters: it teaches.
std::optional<RatedUse> RatedUseOf(const storage::Trajectory& trajectory);

// The ratings of the completions that used certain adapters. Not thread-safe.
class UseRatings {
 public:
  // Adds a rating, which replaces an earlier one of the same response.
  void Add(const std::string& adapter, const std::string& response_id, float rating);
  // Returns whether the completions of an adapter are rated badly: whether a mean rating of a half
  // or more can be ruled out. It is a test by betting (Waudby-Smith and Ramdas, "Estimating means
  // of bounded random variables by betting", 2024), which may be asked after every rating: at most
  // one in twenty adapters whose mean rating is a half is ever reported. Six ratings of 0 suffice.
  bool AreBad(const std::string& adapter) const;
  void Forget(const std::string& adapter) { by_adapter_.erase(adapter); }

 private:
  // By adapter the newest ratings, in the order of their first arrival
  std::map<std::string, std::vector<std::pair<std::string, float>>> by_adapter_;
};

}  // namespace ruvd::sharing
