// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "node/runtime/cell.h"
#include "storage/db/database.h"

namespace ruvd::node {

// A part of a node and whether it works.
struct PartHealth {
  std::string name;     // of its actor, or kStorePart
  std::string problem;  // what is wrong and what to do; empty if the part works
};

inline constexpr char kStorePart[] = "store";
inline constexpr char kFederationPart[] = "federation";
inline constexpr char kClockPart[] = "clock";
inline constexpr char kMembershipPart[] = "membership";
// The port of the unix socket, and its part. No service needs it: whatever asks for a node's health
// over a network does not call there.
inline constexpr char kSocketPort[] = "socket";
inline constexpr char kSocketPart[] = "port socket";

// Returns the health of the actors, of the store, unless `federation` is OK, of the federation of a
// node that should link to others and does not, and unless `clock` is OK, of its clock
// (ClusterClock::Check).
std::vector<PartHealth> PartsOf(const std::vector<runtime::ActorStats>& actors,
                                storage::StoreHealth store, const absl::Status& federation,
                                const absl::Status& clock);

// Reports the health of a node's parts through grpc.health.v1 and the log. Every service is healthy
// if the parts that it needs work; the whole node, whose name is "", needs all but kSocketPart.
// Thread-safe.
class HealthReport {
 public:
  // Looks at the parts.
  using Look = std::function<std::vector<PartHealth>()>;
  // Tells clients whether a service serves.
  using SetServing = std::function<void(const std::string& service, bool serving)>;
  // Both are called one at a time, and not after Drain.
  HealthReport(Look look, SetServing set_serving)
      : look_(std::move(look)), set_serving_(std::move(set_serving)) {}

  // Reports what has changed since the last call. Does nothing once the node drains.
  void Update();
  // Reports that no service serves any more. Idempotent.
  void Drain();

 private:
  void LogChanges(const std::vector<PartHealth>& parts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Look look_;
  const SetServing set_serving_;
  Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, bool> serving_ ABSL_GUARDED_BY(mutex_);  // by service
  std::set<std::string> broken_ ABSL_GUARDED_BY(mutex_);         // names of parts that do not work
};

}  // namespace ruvd::node
