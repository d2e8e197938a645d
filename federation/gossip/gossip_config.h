// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "federation/learner/plan.h"
#include "federation/link/cluster_clock.h"
#include "federation/membership/record_set.h"
#include "federation/patterns/shared_pattern.h"
#include "privacy/identity/admission.h"

namespace ruvd::federation {

struct GossipConfig {
  // Certificate of this node's key by the cluster's issuer; peers of another issuer are refused
  privacy::AdmissionCert certificate;
  // Incremented and synced to disk by the store before every start
  uint64_t boot_counter = 1;
  Digest model_hash{};
  Digest frame_id{};
  std::string listen_address;      // the address that peers dial, host:port; empty if they cannot
  std::vector<std::string> seeds;  // addresses that are dialled first; may include this node's own
  PatternRules pattern_rules;
  // The cluster's plan of rounds, which passed Check; null: this node runs no rounds and refuses
  // their items
  std::shared_ptr<const LearnerPlan> plan;
  // A node that has no revocation list, or whose newest one is older than this, takes no new links,
  // except one that brings a newer list; 0: any age, and no list
  std::chrono::milliseconds max_stale{0};
  // The clock whose times the core is given, which learns from pings how other clocks go; borrowed.
  // Null: it is not corrected
  ClusterClock* clock = nullptr;
  // Whether this node carries circuits between neighbours that cannot dial each other
  bool relay = true;
  // False selects plain SWIM, for comparison. Its timeouts consider neither this node's own
  // slowness nor the number of accusers
  bool lifeguard = true;
  // Shared by nodes of one cluster in one process, so that each record is verified and stored once;
  // null for a node that runs alone
  std::shared_ptr<RecordPool> record_pool;
};

}  // namespace ruvd::federation
