// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/port_watchdog.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "base/status.h"
#include "node/reasons.h"

namespace ruvd::node {
namespace {

std::string TimeOf(int64_t wall_ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                     fmt::gmtime(static_cast<std::time_t>(wall_ms / 1000)));
}

}  // namespace

PortWatchdog::PortWatchdog(std::vector<WatchedPort> ports, int failures, const Clock& clock)
    : ports_(std::move(ports)), failures_(failures), clock_(clock), states_(ports_.size()) {}

void PortWatchdog::Look() {
  for (size_t i = 0; i < ports_.size(); ++i) {
    Hear(i, ports_[i].dial());
  }
}

void PortWatchdog::Hear(size_t port, const transport::DialResult& result) {
  if (result.sign == transport::PortSign::kUnknown) {
    return;  // this says nothing about the port
  }
  const MutexLock lock(mutex_);
  State& state = states_[port];
  if (result.sign != transport::PortSign::kSilent) {
    state = State{.failures = 0, .since_ms = 0, .detail = result.detail};
    return;
  }
  if (state.failures++ == 0) {
    state.since_ms = clock_.WallMillis();
  }
  state.detail = result.detail;
  if (state.failures >= failures_ && failure_.ok()) {
    failure_ = Error(absl::StatusCode::kInternal, reasons::kPortDeaf,
                     "the port {} is deaf since {}: {} dials in a row showed no sign of life ({}); "
                     "let a service manager start the node again, and report this with its log",
                     ports_[port].name, TimeOf(state.since_ms), state.failures, state.detail);
  }
}

std::vector<PartHealth> PortWatchdog::Parts() const {
  const MutexLock lock(mutex_);
  std::vector<PartHealth> parts;
  for (size_t i = 0; i < ports_.size(); ++i) {
    const State& state = states_[i];
    parts.push_back(
        {"port " + ports_[i].name,
         state.failures == 0
             ? state.detail
             : fmt::format("it is deaf since {}: {}; after {} dials in a row without a "
                           "sign of life the process ends, so that its service manager "
                           "starts it again ({} so far)",
                           TimeOf(state.since_ms), state.detail, failures_, state.failures)});
  }
  return parts;
}

absl::Status PortWatchdog::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

}  // namespace ruvd::node
