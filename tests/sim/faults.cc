// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<std::pair<Fault, std::string_view>, 17> kNames = {
    {{Fault::kKill, "kill"},
     {Fault::kPowerCut, "power-cut"},
     {Fault::kPause, "pause"},
     {Fault::kPartition, "partition"},
     {Fault::kAsymmetricPartition, "asymmetric-partition"},
     {Fault::kClog, "clog"},
     {Fault::kLinkBreak, "link-break"},
     {Fault::kClockStep, "clock-step"},
     {Fault::kClockLeap, "clock-leap"},
     {Fault::kClockLost, "clock-lost"},
     {Fault::kSlowDisk, "slow-disk"},
     {Fault::kKeyRotation, "key-rotation"},
     {Fault::kClockDrift, "clock-drift"},
     {Fault::kDuplication, "duplication"},
     {Fault::kWithdrawal, "withdrawal"},
     {Fault::kRevocation, "revocation"},
     {Fault::kNewcomer, "newcomer"}}};

constexpr std::array<Fault, 17> kFaults = {Fault::kKill,
                                           Fault::kPowerCut,
                                           Fault::kPause,
                                           Fault::kPartition,
                                           Fault::kAsymmetricPartition,
                                           Fault::kClog,
                                           Fault::kLinkBreak,
                                           Fault::kClockStep,
                                           Fault::kClockLeap,
                                           Fault::kClockLost,
                                           Fault::kSlowDisk,
                                           Fault::kKeyRotation,
                                           Fault::kClockDrift,
                                           Fault::kDuplication,
                                           Fault::kWithdrawal,
                                           Fault::kRevocation,
                                           Fault::kNewcomer};

constexpr double kMaxDownShare = 0.3;
constexpr int64_t kMaxBesideMillis = 5000;  // of a clock that jumps
constexpr int64_t kDayMillis = 24LL * 3600 * 1000;
constexpr double kLeapOfAll = 0.2;  // because their time server was wrong

// Whether this file makes a fault happen again and again.
bool Recurs(Fault fault) {
  switch (fault) {
    case Fault::kClockDrift:
    case Fault::kDuplication:
    case Fault::kWithdrawal:
    case Fault::kRevocation:
    case Fault::kNewcomer:
      return false;
    default:
      return true;
  }
}

// Returns the mean time between two faults of a kind in a world of `nodes`.
double MeanSeconds(Fault fault, size_t nodes) {
  const double n = static_cast<double>(nodes);
  switch (fault) {
    case Fault::kKill:
    case Fault::kPowerCut:
    case Fault::kPause:
      return 60 / std::clamp(0.05 * n, 2.0, 20.0);
    case Fault::kClockStep:
    case Fault::kClockLeap:
    case Fault::kClockLost:
    case Fault::kSlowDisk:
    case Fault::kKeyRotation:
      return 60 / std::clamp(0.02 * n, 2.0, 10.0);
    case Fault::kLinkBreak:
      return std::clamp(20 / n, 0.2, 5.0);
    default:
      return 30;
  }
}

}  // namespace

std::string_view FaultName(Fault fault) {
  return std::ranges::find(kNames, fault, &decltype(kNames)::value_type::first)->second;
}

std::optional<Fault> FaultByName(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

std::span<const Fault> AllFaults() {
  return kFaults;
}

FaultInjector::FaultInjector(Target target, std::set<Fault> faults, uint64_t seed)
    : target_(target), faults_(std::move(faults)), random_(seed) {}

void FaultInjector::Begin(TimePoint end) {
  end_ = end;
  for (const Fault fault : faults_) {
    if (Recurs(fault)) {
      Schedule(fault);
    }
  }
}

void FaultInjector::Schedule(Fault fault) {
  const double mean = MeanSeconds(fault, target_.nodes->size());
  const double wait = -mean * std::log(1 - random_.Uniform());
  const auto after = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(wait));
  if (target_.queue->now() + after >= end_) {
    return;
  }
  target_.queue->After(after, [this, fault] {
    Happen(fault);
    Schedule(fault);
  });
}

void FaultInjector::Happen(Fault fault) {
  switch (fault) {
    case Fault::kKill:
      return Crash(/*power_cut=*/false);
    case Fault::kPowerCut:
      return Crash(/*power_cut=*/true);
    case Fault::kPause:
      return PauseOne();
    case Fault::kPartition:
      return CutNetwork(/*symmetric=*/true);
    case Fault::kAsymmetricPartition:
      return CutNetwork(/*symmetric=*/false);
    case Fault::kClog:
      return ClogSome();
    case Fault::kLinkBreak:
      counts_["link-break"] += target_.network->BreakRandomLink() ? 1 : 0;
      return;
    case Fault::kClockStep:
      return StepOneClock();
    case Fault::kClockLeap:
      return LeapClocks();
    case Fault::kClockLost:
      return LoseOneClock();
    case Fault::kSlowDisk:
      return SlowOneDisk();
    case Fault::kKeyRotation:
      return ReplaceOneKey();
    default:
      return;
  }
}

Duration FaultInjector::Between(Duration least, Duration most) {
  return least + Duration(static_cast<int64_t>(
                     random_.Below(static_cast<uint64_t>((most - least).count()))));
}

SimNode* FaultInjector::Victim() {
  auto& nodes = *target_.nodes;
  const auto limit = static_cast<size_t>(kMaxDownShare * static_cast<double>(nodes.size()));
  if (down_.size() >= std::max<size_t>(limit, 1)) {
    return nullptr;
  }
  SimNode& node = *nodes[random_.Below(nodes.size())];
  const bool fit = !node.byzantine() && node.up() && !node.paused();
  return fit && !down_.contains(node.number()) ? &node : nullptr;
}

void FaultInjector::Crash(bool power_cut) {
  SimNode* node = Victim();
  if (node == nullptr) {
    return;
  }
  ++counts_[power_cut ? "power-cut" : "kill"];
  down_.insert(node->number());
  // The process dies within an input if one comes that is long enough, otherwise soon after.
  if (random_.Bernoulli(0.5)) {
    node->DieAfterActions(random_.Below(20), power_cut);
  }
  target_.queue->After(milliseconds(300), [this, node, power_cut, process = node->process()] {
    if (ended_ || node->process() != process) {
      return;
    }
    if (power_cut) {
      node->CutPower();
    } else {
      node->Kill();
    }
  });
  RestartLater(*node, Between(seconds(1), seconds(40)));
}

void FaultInjector::RestartLater(SimNode& node, Duration after) {
  target_.queue->After(after, [this, &node] {
    if (!node.up()) {
      node.Start();
    }
    down_.erase(node.number());
  });
}

void FaultInjector::PauseOne() {
  SimNode* node = Victim();
  if (node == nullptr) {
    return;
  }
  ++counts_["pause"];
  down_.insert(node->number());
  node->Pause();
  target_.queue->After(Between(milliseconds(500), seconds(30)), [this, node] {
    node->Resume();
    down_.erase(node->number());
  });
}

void FaultInjector::DisturbAll() {
  for (size_t i = 0; i < target_.nodes->size(); ++i) {
    target_.audit->Disturbed(i);
  }
}

void FaultInjector::CutNetwork(bool symmetric) {
  if (cut_) {
    return;
  }
  Cut cut;
  cut.second_side.resize(target_.nodes->size());
  const double share = random_.Bernoulli(0.5) ? 0.5 : random_.Uniform();
  for (size_t i = 0; i < cut.second_side.size(); ++i) {
    cut.second_side[i] = random_.Bernoulli(share);
  }
  if (!symmetric) {
    (random_.Bernoulli(0.5) ? cut.first_to_second : cut.second_to_first) = false;
  }
  ++counts_[symmetric ? "partition" : "asymmetric-partition"];
  cut_ = true;
  DisturbAll();
  target_.network->SetCut(std::move(cut));
  target_.queue->After(Between(seconds(5), seconds(25)), [this, number = ++cuts_] {
    if (cut_ && number == cuts_) {
      Heal();
    }
  });
}

void FaultInjector::Heal() {
  cut_ = false;
  healed_at_ = target_.queue->now();
  DisturbAll();
  target_.network->SetCut(std::nullopt);
}

void FaultInjector::ClogSome() {
  const size_t nodes = target_.nodes->size();
  const size_t count = 1 + random_.Below(std::max<size_t>(nodes / 5, 1));
  Duration after{};
  for (size_t i = 0; i < count; ++i) {
    const size_t node = random_.Below(nodes);
    if (!clogged_.insert(node).second) {
      continue;
    }
    ++counts_["clog"];
    after += Between(milliseconds(10), seconds(1));
    target_.queue->After(after, [this, node] {
      if (clogged_.contains(node)) {
        target_.audit->Disturbed(node);
        target_.network->SetClogged(node, true);
      }
    });
    target_.queue->After(after + Between(milliseconds(500), seconds(15)), [this, node] {
      if (clogged_.erase(node) > 0) {
        target_.audit->Disturbed(node);
        target_.network->SetClogged(node, false);
      }
    });
  }
}

void FaultInjector::StepOneClock() {
  SimNode& node = *(*target_.nodes)[random_.Below(target_.nodes->size())];
  ++counts_["clock-step"];
  StepClock(node, static_cast<int64_t>(random_.Below(2 * kMaxBesideMillis + 1)) - kMaxBesideMillis);
}

void FaultInjector::LeapClocks() {
  std::vector<SimNode*> leaping;
  if (random_.Bernoulli(kLeapOfAll)) {
    for (const auto& node : *target_.nodes) {
      leaping.push_back(node.get());
    }
  } else {
    leaping.push_back((*target_.nodes)[random_.Below(target_.nodes->size())].get());
  }
  ++counts_["clock-leap"];
  const int64_t ahead_ms = 1 + static_cast<int64_t>(random_.Below(kMaxLeapMillis));
  for (SimNode* node : leaping) {
    StepClock(*node, ahead_ms);
  }
  target_.queue->After(Between(milliseconds(100), seconds(20)), [this, leaping] {
    for (SimNode* node : leaping) {
      if (!ended_) {
        StepClock(*node, 0);
      }
    }
  });
}

void FaultInjector::LoseOneClock() {
  SimNode* const node = Victim();
  if (node == nullptr || !lost_clocks_.insert(node->number()).second) {
    return;
  }
  ++counts_["clock-lost"];
  target_.audit->Disturbed(node->number());
  const int64_t wall_ms = node->OwnTime().wall_ms;
  const std::array<int64_t, 3> beside_ms = {-wall_ms, -kDayMillis, kDayMillis};
  StepClock(*node, beside_ms.at(random_.Below(beside_ms.size())));
  target_.queue->After(Between(seconds(5), seconds(40)), [this, node] {
    lost_clocks_.erase(node->number());
    if (!ended_) {
      target_.audit->Disturbed(node->number());
      StepClock(*node, 0);
    }
  });
}

void FaultInjector::ReplaceOneKey() {
  SimNode* const node = Victim();
  if (node == nullptr || node->key_replaced()) {
    return;
  }
  ++counts_["key-rotation"];
  down_.insert(node->number());
  node->Kill();
  node->ReplaceKey();
  target_.audit->KeyReplaced(node->number());
  RestartLater(*node, Between(seconds(1), seconds(10)));
  former_keys_.insert(node->number());
  target_.queue->After(Between(milliseconds(1), seconds(60)),
                       [this, node] { EndFormerKey(node->number()); });
}

void FaultInjector::EndFormerKey(size_t node) {
  if (former_keys_.erase(node) > 0) {
    target_.end_former_key(node);
  }
}

void FaultInjector::SlowOneDisk() {
  SimNode* const node = Victim();
  if (node == nullptr) {
    return;
  }
  ++counts_["slow-disk"];
  node->SlowDisk(seconds(2));
  target_.queue->After(Between(seconds(5), seconds(30)), [node] { node->SlowDisk({}); });
}

void FaultInjector::StepClock(SimNode& node, int64_t beside_ms) {
  int64_t& before = beside_ms_[node.number()];
  node.StepClock(beside_ms - before);
  before = beside_ms;
}

void FaultInjector::EndAll() {
  while (!former_keys_.empty()) {
    EndFormerKey(*former_keys_.begin());
  }
  ended_ = true;
  if (cut_) {
    Heal();
  }
  for (const size_t node : std::exchange(clogged_, {})) {
    target_.audit->Disturbed(node);
    target_.network->SetClogged(node, false);
  }
  for (const auto& node : *target_.nodes) {
    StepClock(*node, 0);
    node->SlowDisk({});
    node->LiveOn();
    if (!node->up()) {
      node->Start();
    } else if (node->paused()) {
      node->Resume();
    }
  }
  down_.clear();
}

}  // namespace ruvd::test
