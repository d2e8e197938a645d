// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/config/config.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "privacy/seal/seal.h"
#include "privacy/seal/seal_key_source.h"
#include "storage/db/database.h"

namespace ruvd::node {

// The files of a node's data folder: node.key (identity), seal.key (key of the data at rest) or
// seal.kdf (parameters of its passphrase), node.cert (admission to a cluster), store/ (RocksDB).
struct NodeFiles {
  privacy::NodeKey key;
  std::unique_ptr<privacy::SealKeySource> seal_source;
  std::string store_path;
};

// Creates the folder (mode 0700) and the keys (0600) if they are missing. Errors are CONFIG_INVALID
// if node.data_dir is not set, KEY_FILE_MODE, KEY_INVALID, and FILE_NOT_FOUND for a passphrase or
// credential.
absl::StatusOr<NodeFiles> OpenNodeFiles(const config::NodeConfig& config, const Clock& clock);

// Makes the source of the seal key only, for tools that open the store of a stopped node.
absl::StatusOr<std::unique_ptr<privacy::SealKeySource>> MakeSealKeySource(
    const config::NodeConfig& config);

// Returns the first line of a file of mode 0600. Errors are CONFIG_INVALID for an empty path,
// KEY_FILE_MODE and FILE_NOT_FOUND.
absl::StatusOr<std::string> ReadPassphraseFile(const std::string& path);

// Returns DATA_DIR/store.
absl::StatusOr<std::string> StorePathOf(const config::NodeConfig& config);

// Returns FILE_NOT_FOUND if a store exists but the file of its seal key is missing. A new key must
// not be created then: in a folder that was only partly copied or mounted it would hide the right
// key.
absl::Status CheckKeyIsThere(const std::string& store, const privacy::SealKeySource& source);

// Returns DATA_DIR/backups, where a running node puts copies of its store.
std::string BackupDirOf(const config::NodeConfig& config);

// Returns DATA_DIR/adapters, where a running node keeps imported adapters.
std::string AdapterDirOf(const config::NodeConfig& config);

// Returns DATA_DIR/link-tls.pem, the TLS key of links, which is made anew at every start.
std::string LinkTlsPathOf(const config::NodeConfig& config);

// Opens the store with the source's key, and finishes or undoes a change of that key that a crash
// interrupted. A detected loss of changes is logged. Returns FILE_NOT_FOUND if the key of a store
// is missing (it is not created), and the errors of SealKeySource::Load and Database::Open.
absl::StatusOr<std::unique_ptr<storage::Database>> OpenNodeStore(const config::NodeConfig& config,
                                                                 privacy::SealKeySource& source,
                                                                 const Clock& clock);

// Returns DATA_DIR/node.cert, the admission certificate.
std::string CertificatePath(const config::NodeConfig& config);

// Loads the admission certificate from CertificatePath and checks it against federation.authority
// (if set) and the clock. Errors are CERTIFICATE_FOREIGN, CERTIFICATE_EXPIRED, and FILE_NOT_FOUND,
// which says how to get a certificate.
absl::StatusOr<privacy::AdmissionCert> LoadCertificate(const config::NodeConfig& config,
                                                       const Clock& clock);

}  // namespace ruvd::node
