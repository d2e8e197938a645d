// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/mutex.h"

namespace ruvd::actors {

// Divides the places of a queue between callers: a caller may hold at most four times as many
// places as are free (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for
// shared-memory packet switches", section III). One caller alone gets four fifths of a long queue.
// Others that come find a fifth of it free, and get more as its tasks end, until each has about as
// many. Queues of up to four places are not divided. Thread-safe.
class CallerShares {
 public:
  // `places` is positive.
  explicit CallerShares(size_t places) : places_(places) {}

  enum class Answer : uint8_t {
    kTaken,
    kFull,       // no place is free
    kShareUsed,  // this caller must leave the free places to others
  };
  // Takes a place for the caller, unless the answer says why not.
  Answer Take(const std::string& caller);
  // Gives a place back that Take gave this caller.
  void GiveBack(const std::string& caller);
  // Returns the number of places that are taken.
  size_t taken() const;

 private:
  const size_t places_;
  mutable Mutex mutex_;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> taken_by_ ABSL_GUARDED_BY(mutex_);  // without zeros
};

}  // namespace ruvd::actors
