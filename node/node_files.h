// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/config/config.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "privacy/seal/seal.h"

namespace ruvd {

// What a node keeps in its data folder: node.key (identity), seal.key (the key of the data at
// rest), node.cert (admission to a cluster), store/ (RocksDB).
struct NodeFiles {
  NodeKey key;
  SealKey seal_key;
  std::string store_path;
};

// Makes the folder (mode 0700) and the keys (0600) where they are missing. CONFIG_INVALID without
// node.data_dir.
absl::StatusOr<NodeFiles> OpenNodeFiles(const NodeConfig& config);

// The admission certificate of federation.certificate or DATA_DIR/node.cert, checked against
// federation.authority (if set) and the clock. CERTIFICATE_FOREIGN, CERTIFICATE_EXPIRED,
// FILE_NOT_FOUND with the way to get one.
absl::StatusOr<AdmissionCert> LoadCertificate(const NodeConfig& config, const Clock& clock);

}  // namespace ruvd
