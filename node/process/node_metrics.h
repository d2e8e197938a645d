// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/limit_registry.h"
#include "inference/prefix/prefix_tree.h"
#include "node/http/server.h"
#include "node/learning/learning_throttle.h"
#include "node/metrics/metrics.h"
#include "node/process/node_health.h"
#include "node/process/resource_use.h"
#include "node/runtime/actor_system.h"
#include "node/serving/inference.h"
#include "node/sharing/peer_counters.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::node {

// The objects that metrics are read from. All are borrowed and must live until
// Metrics::RemoveReaders.
struct MetricSources {
  inference::PrefixTree* prefixes = nullptr;
  const storage::PatternStore* patterns = nullptr;
  const serving::InferenceActor* inference = nullptr;
  const runtime::ActorSystem* actors = nullptr;
  std::function<std::vector<PartHealth>()> parts;
  const learning::LearningThrottle* throttle = nullptr;
  const storage::PrivacyLedgerStore* ledger = nullptr;  // null: nothing with noise leaves
  double delta = 1e-6;                                  // at which epsilons are stated
  const sharing::PeerCounters* peers = nullptr;         // of what peers send
  const http::Server* http = nullptr;                   // null: there is no HTTP
  const LimitRegistry* limits = nullptr;
  std::function<ResourceUse()> resources;
};

// Adds the readers of a node's state. Events are counted where they happen.
void AddNodeMetrics(const MetricSources& sources, metrics::Metrics* metrics);

// Returns the number of messages between actors that were not handled, for any reason.
uint64_t DeadLetterTotal(const runtime::ActorSystem& actors);

}  // namespace ruvd::node
