// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// What the parts of the room know about this node. It must outlive them. It is fixed after
// construction, except for the certificate, which is renewed.
struct LocalNode {
  const privacy::NodeKey* key = nullptr;
  privacy::AdmissionCert certificate;
  privacy::ClusterId cluster_id{};
  uint64_t boot_counter = 1;
  Digest model_hash{};
  Digest frame_id{};
  Digest plan_id{};  // of the learner's plan; zeros: this node runs no rounds
  std::string listen_address;
  bool relays = false;
};

}  // namespace ruvd::federation
