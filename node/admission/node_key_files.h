// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/admission/identity.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/node_key.h"

namespace ruvd::admission {

// Reads the node's key in a data folder, or creates it, after completing what a crash has cut off
// of ReplaceNodeKey. Returns the errors of NodeKey::LoadOrCreate and of ReplaceNodeKey's files.
absl::StatusOr<privacy::NodeKey> LoadNodeKey(const std::string& data_dir, const Clock& clock);

// Asks the authority for a certificate of the key that a rotation leads to (RotateAt).
using AskForKey = std::function<absl::StatusOr<Membership>(const privacy::AdmissionCert& present,
                                                           const privacy::NodeKey& key,
                                                           const privacy::KeyRotation& rotation)>;

// Replaces the key and the certificate in a data folder, and returns the new certificate. A node
// that runs meanwhile uses the former ones until it starts again. The next key is kept in
// node.key.next before anybody hears of it, and its certificate in node.cert.next once it is there:
// from then on LoadNodeKey completes the replacement, and until then the node keeps its key and
// calling again goes on with the same next key. If it completes one that was cut off, it makes no
// other one, unless `always_asks`. Errors: those of `ask`, of reading and writing the files,
// STORE_LOCKED while another process does this, and FILE_NOT_FOUND without a key or certificate.
absl::StatusOr<privacy::AdmissionCert> ReplaceNodeKey(const std::string& data_dir,
                                                      const AskForKey& ask, const Clock& clock,
                                                      bool always_asks = false);

// Joins with a token by a key (JoinCluster).
using JoinWithKey = std::function<absl::StatusOr<Membership>(const privacy::NodeKey& key)>;

// Gets a certificate with `join` for the key in a data folder, which is created if it is missing,
// and stores the certificate and the revocation list. Where the authority has granted the node's
// next key, and the answer of ReplaceNodeKey was lost, it joins with that one and puts it in place.
// Returns the errors of `join` and of ReplaceNodeKey's files.
absl::StatusOr<Membership> JoinWithNodeKey(const std::string& data_dir, const JoinWithKey& join,
                                           const Clock& clock);

}  // namespace ruvd::admission
