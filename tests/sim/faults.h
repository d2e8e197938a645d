// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "tests/sim/audit.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_node.h"

namespace ruvd::test {

// The longest leap of a clock
inline constexpr int64_t kMaxLeapMillis = 60'000;

enum class Fault : uint8_t {
  kKill,                 // a process ends, in half of the cases between two actions of one input
  kPowerCut,             // a machine stops: unsynced writes are lost, its links die silently
  kPause,                // a process stops for 0.5 to 30 s
  kPartition,            // two sides do not hear each other for 5 to 25 s
  kAsymmetricPartition,  // one side hears the other, which does not hear it
  kClog,         // the links of some nodes stop one node after another, and run again at random
  kLinkBreak,    // one link ends
  kClockStep,    // a wall clock jumps to up to 5 s beside its course
  kClockLeap,    // a wall clock, or all of them, leap ahead by up to a minute for at most 20 s
  kClockLost,    // a wall clock shows 1970, or a day more or less, for 5 to 40 s: a board without a
                 // battery, or a wrong time server
  kSlowDisk,     // for 5 to 30 s each fsync of a node takes two seconds, and the node with it
  kKeyRotation,  // a node stops, replaces its key and starts again; within a minute the revocation
                 // list ends the former key
  kClockDrift,   // wall clocks differ by up to 50 s, or 2.5 s where nodes learn, and run up to 200
                 // ppm apart
  kDuplication,  // one frame in 2000 arrives twice
  // What happens to members; the world does it
  kWithdrawal,  // nodes take contributions back
  kRevocation,  // where nodes learn, one of them is revoked
  kNewcomer,    // some nodes start for the first time when the others have run for long
};

std::string_view FaultName(Fault fault);
std::optional<Fault> FaultByName(std::string_view name);
std::span<const Fault> AllFaults();

// Applies the chosen faults to random nodes at random times. At most three tenths of the honest
// nodes are down or paused at a time, and there is at most one cut. Not thread-safe.
class FaultInjector {
 public:
  // What the faults are applied to; it must outlive the injector.
  struct Target {
    EventQueue* queue = nullptr;
    SimNetwork* network = nullptr;
    Audit* audit = nullptr;
    std::vector<std::unique_ptr<SimNode>>* nodes = nullptr;
    // The authority ends the former key of a node.
    std::function<void(size_t node)> end_former_key = {};
  };
  FaultInjector(Target target, std::set<Fault> faults, uint64_t seed);

  // Faults happen from now until `end`.
  void Begin(TimePoint end);
  // Ends every fault: heals the network, sets clocks right and starts the nodes that are down.
  void EndAll();

  const std::map<std::string, uint64_t>& counts() const { return counts_; }
  // Whether the network is cut now.
  bool cut() const { return cut_; }
  // The time at which the last cut ended.
  std::optional<TimePoint> healed_at() const { return healed_at_; }

 private:
  void Schedule(Fault fault);
  void Happen(Fault fault);
  // Returns a running honest node; nullptr if too many are down.
  SimNode* Victim();
  void Crash(bool power_cut);
  void RestartLater(SimNode& node, Duration after);
  void PauseOne();
  void CutNetwork(bool symmetric);
  void Heal();
  void ClogSome();
  void StepOneClock();
  void LeapClocks();
  void LoseOneClock();
  void SlowOneDisk();
  void ReplaceOneKey();
  void EndFormerKey(size_t node);
  void StepClock(SimNode& node, int64_t beside_ms);
  Duration Between(Duration least, Duration most);
  void DisturbAll();

  Target target_;
  std::set<Fault> faults_;
  Random random_;
  TimePoint end_{};
  std::set<size_t> former_keys_;  // of these nodes, which the list has not ended yet
  bool ended_ = false;
  std::map<std::string, uint64_t> counts_;
  std::set<size_t> down_;  // down, or about to be
  bool cut_ = false;
  uint64_t cuts_ = 0;
  std::set<size_t> clogged_;
  std::map<size_t, int64_t> beside_ms_;  // wall clocks that jumped
  std::set<size_t> lost_clocks_;
  std::optional<TimePoint> healed_at_;
};

}  // namespace ruvd::test
