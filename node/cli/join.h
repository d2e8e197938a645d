// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/node_key.h"

namespace ruvd {

// Asks the node at `address` (its port of peers), which holds the cluster authority's key, to admit
// the node `name` with this key. The token is shown to nobody else: not before the authority has
// proven that the TLS channel ends at it. The certificate was verified. NODE_UNREACHABLE,
// CERTIFICATE_FOREIGN and SIGNATURE_INVALID for who is not the authority, what the authority says
// (TOKEN_*, CERTIFICATE_INVALID for an unusable name), CERTIFICATE_EXPIRED where the clocks differ.
absl::StatusOr<AdmissionCert> JoinCluster(const std::string& address,
                                          const JoinInvitation& invitation, const std::string& name,
                                          const NodeKey& key, const Clock& clock);

}  // namespace ruvd
