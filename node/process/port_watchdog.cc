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
  const MutexLock lock(mutex_);
  State& state = states_[port];
  if (result.sign == transport::PortSign::kUnknown) {  // this says nothing about the port
    if (++state.unknown == failures_) {
      notes_.push_back(
          fmt::format("the port {} is not watched: {} dials in a row did not get to it "
                      "({}), which says nothing about other callers",
                      ports_[port].name, state.unknown, result.detail));
    }
    return;
  }
  state.unknown = 0;
  if (result.sign != transport::PortSign::kSilent) {
    state = State{.detail = result.detail,
                  .was_alive = state.was_alive || result.sign == transport::PortSign::kAlive};
    return;
  }
  if (state.failures++ == 0) {
    state.since_ms = clock_.WallMillis();
  }
  state.detail = result.detail;
  if (state.failures >= failures_ && state.was_alive && failure_.ok()) {
    failure_ = Error(absl::StatusCode::kInternal, reasons::kPortDeaf,
                     "the port {} is deaf since {}: {} dials in a row showed no sign of life ({}); "
                     "let a service manager start the node again, and report this with its log",
                     ports_[port].name, TimeOf(state.since_ms), state.failures, state.detail);
  }
}

std::string PortWatchdog::ProblemOf(const State& state) const {
  if (state.failures == 0) {
    return state.detail;
  }
  if (!state.was_alive) {
    return fmt::format(
        "it never answered the node's own dials, since {}: {}; find out whether "
        "others reach it",
        TimeOf(state.since_ms), state.detail);
  }
  return fmt::format(
      "it is deaf since {}: {}; after {} dials in a row without a sign of life the "
      "process ends, so that its service manager starts it again ({} so far)",
      TimeOf(state.since_ms), state.detail, failures_, state.failures);
}

std::vector<PartHealth> PortWatchdog::Parts() const {
  const MutexLock lock(mutex_);
  std::vector<PartHealth> parts;
  for (size_t i = 0; i < ports_.size(); ++i) {
    parts.push_back({"port " + ports_[i].name, ProblemOf(states_[i])});
  }
  return parts;
}

std::vector<std::string> PortWatchdog::TakeNotes() {
  const MutexLock lock(mutex_);
  return std::exchange(notes_, {});
}

absl::Status PortWatchdog::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

}  // namespace ruvd::node
