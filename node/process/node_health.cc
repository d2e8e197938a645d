// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::node {
namespace {

// The services of the node with the parts that each needs. Inference goes on without the store, and
// with whatever certificate the node has.
const std::map<std::string, std::vector<std::string_view>>& NeedsOfServices() {
  static const auto* const needs = new std::map<std::string, std::vector<std::string_view>>{
      {"ruvd.inference.v1.InferenceService", {"inference"}},
      {"ruvd.learning.v1.LearningService", {"background", "deep", "memory", kStorePart}},
      {"ruvd.pattern.v1.PatternService", {kStorePart}},
      {"ruvd.federation.v1.FederationService", {kFederationPart, kMembershipPart}}};
  return *needs;
}

std::string ProblemOf(storage::StoreHealth store) {
  switch (store) {
    case storage::StoreHealth::kOk:
    case storage::StoreHealth::kRecoveredWithLoss:
      return "";
    case storage::StoreHealth::kPatternsStopped:
      return "little disk space is left, so new patterns and adapters are refused; free some";
    case storage::StoreHealth::kReadOnly:
      return "the disk is full, so nothing is stored any more; free disk space";
    case storage::StoreHealth::kFailed:
      return "the database failed, so nothing is stored any more; see the log, and restart the "
             "node";
  }
  return "";
}

// Returns for each service whether it serves: for those with a part here, and the whole node.
std::map<std::string, bool> ServingOf(const std::vector<PartHealth>& parts) {
  std::map<std::string, bool> serving{{"", true}};
  for (const PartHealth& part : parts) {
    const bool works = part.problem.empty();
    serving[""] = serving[""] && (works || part.name == kSocketPart);
    for (const auto& [service, needs] : NeedsOfServices()) {
      if (std::ranges::find(needs, part.name) != needs.end()) {
        const auto known = serving.try_emplace(service, true).first;
        known->second = known->second && works;
      }
    }
  }
  return serving;
}

}  // namespace

std::vector<PartHealth> PartsOf(const std::vector<runtime::ActorStats>& actors,
                                storage::StoreHealth store, const absl::Status& federation,
                                const absl::Status& clock) {
  std::vector<PartHealth> parts;
  for (const runtime::ActorStats& actor : actors) {
    parts.push_back({actor.name, actor.failing
                                     ? fmt::format("it failed {} time(s) and is started again and "
                                                   "again; its last failure: {}",
                                                   actor.failures, MessageOf(actor.last_failure))
                                     : ""});
  }
  parts.push_back({kStorePart, ProblemOf(store)});
  if (!federation.ok()) {
    parts.push_back({kFederationPart, fmt::format("this node makes no links: {} [{}]",
                                                  MessageOf(federation), ReasonOf(federation))});
  }
  if (!clock.ok()) {
    parts.push_back({kClockPart, fmt::format("{} [{}]", MessageOf(clock), ReasonOf(clock))});
  }
  return parts;
}

void HealthReport::Update() {
  const MutexLock lock(mutex_);
  if (draining_) {
    return;
  }
  const std::vector<PartHealth> parts = look_();
  LogChanges(parts);
  std::map<std::string, bool> serving = ServingOf(parts);
  for (const auto& [service, serves] : serving) {
    const auto former = serving_.find(service);
    if (former == serving_.end() || former->second != serves) {
      set_serving_(service, serves);
    }
  }
  serving_ = std::move(serving);
}

void HealthReport::LogChanges(const std::vector<PartHealth>& parts) {
  for (const PartHealth& part : parts) {
    if (part.problem.empty()) {
      if (broken_.erase(part.name) != 0) {
        LogInfo("the node's part {} works again", part.name);
      }
    } else if (broken_.insert(part.name).second) {
      LogError("the node's part {} does not work: {}", part.name, part.problem);
    }
  }
}

void HealthReport::Drain() {
  const MutexLock lock(mutex_);
  if (std::exchange(draining_, true)) {
    return;
  }
  for (const auto& [service, serves] : serving_) {
    set_serving_(service, false);
  }
}

}  // namespace ruvd::node
