// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "federation/daf/adapter_delta.h"
#include "federation/limits.h"
#include "federation/membership/record_set.h"
#include "federation/patterns/shared_pattern.h"
#include "privacy/identity/admission.h"

namespace ruvd::federation {

struct GossipConfig {
  // Of this node's key, from the cluster's issuer; peers of another issuer are refused.
  privacy::AdmissionCert certificate;
  // Raised and fsynced by the store before every start.
  uint64_t boot_counter = 1;
  Digest model_hash{};
  Digest frame_id{};
  std::string listen_address;      // what peers dial, host:port; empty if they cannot
  std::vector<std::string> seeds;  // addresses dialled first, this node's own may be among them
  UpdateRules update_rules;
  PatternRules pattern_rules;
  // A node whose newest revocation list is older takes no new links, but for one that brings a
  // newer list; 0: however old. A cluster that never revoked anybody has no list that could be old.
  std::chrono::milliseconds max_stale{0};
  uint32_t version_min = limits::kProtocolVersionMin;
  uint32_t version_max = limits::kProtocolVersion;
  // Carries circuits between neighbours that cannot dial each other.
  bool relay = true;
  // False: plain SWIM, whose timeouts know neither this node's own slowness nor how many suspect a
  // member. For comparison.
  bool lifeguard = true;
  // Shared by the nodes of one process, of one cluster, so that each record is verified and kept
  // once; null for a node of its own.
  std::shared_ptr<RecordPool> record_pool;
};

}  // namespace ruvd::federation
