// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/admission/identity.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/node_key.h"

namespace ruvd::admission {

// Asks the node at `address` (its link port), which holds the cluster authority's key, to admit the
// node `name` with this key. The token is sent only after the authority has proven that the TLS
// channel ends at it. The returned certificate and revocation list are verified. Errors:
// NODE_UNREACHABLE; CERTIFICATE_FOREIGN and SIGNATURE_INVALID if the other node is not the
// authority; the authority's refusal (TOKEN_*, CERTIFICATE_INVALID for an unusable name);
// CERTIFICATE_EXPIRED if the clocks differ.
absl::StatusOr<Membership> JoinCluster(const std::string& address,
                                       const privacy::JoinInvitation& invitation,
                                       const std::string& name, const privacy::NodeKey& key,
                                       const Clock& clock);

// Asks the authority's node for a new certificate that replaces one that is still valid, and waits
// for at most `patience`. Errors: NODE_UNREACHABLE; NOT_FOUND for a node without the authority's
// key; the authority's refusal (NODE_REVOKED, CERTIFICATE_EXPIRED).
absl::StatusOr<Membership> RenewAt(const std::string& address,
                                   const privacy::AdmissionCert& certificate,
                                   const privacy::NodeKey& key, std::chrono::milliseconds patience,
                                   const Clock& clock);

// Asks the authority's node to replace the key of a member: the certificate that it returns is for
// the key that `rotation` leads to. With `ends_former` the present key ends at once. The errors are
// those of RenewAt, KEY_EPOCH_REFUSED if the node has another next key already, and KEY_INVALID.
absl::StatusOr<Membership> RotateAt(const std::string& address,
                                    const privacy::AdmissionCert& certificate,
                                    const privacy::NodeKey& key,
                                    const privacy::KeyRotation& rotation, bool ends_former,
                                    std::chrono::milliseconds patience, const Clock& clock);

}  // namespace ruvd::admission
