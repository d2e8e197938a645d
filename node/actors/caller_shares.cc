// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/caller_shares.h"

namespace ruvd::actors {
namespace {

constexpr size_t kTimesTheFreePlaces = 4;

}  // namespace

CallerShares::Answer CallerShares::Take(const std::string& caller) {
  const MutexLock lock(mutex_);
  if (taken_ >= places_) {
    return Answer::kFull;
  }
  const auto own = taken_by_.find(caller);
  if (own != taken_by_.end() && own->second >= kTimesTheFreePlaces * (places_ - taken_)) {
    return Answer::kShareUsed;
  }
  ++taken_;
  ++taken_by_[caller];
  return Answer::kTaken;
}

void CallerShares::GiveBack(const std::string& caller) {
  const MutexLock lock(mutex_);
  --taken_;
  const auto own = taken_by_.find(caller);
  if (--own->second == 0) {
    taken_by_.erase(own);
  }
}

size_t CallerShares::taken() const {
  const MutexLock lock(mutex_);
  return taken_;
}

}  // namespace ruvd::actors
