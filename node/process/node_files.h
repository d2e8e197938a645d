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

// What a node keeps in its data folder: node.key (identity), seal.key (the key of the data at rest)
// or seal.kdf (of its passphrase), node.cert (admission to a cluster), store/ (RocksDB).
struct NodeFiles {
  privacy::NodeKey key;
  std::unique_ptr<privacy::SealKeySource> seal_source;
  std::string store_path;
};

// Makes the folder (mode 0700) and the keys (0600) where they are missing. CONFIG_INVALID without
// node.data_dir. KEY_FILE_MODE, KEY_INVALID, FILE_NOT_FOUND for a passphrase or credential.
absl::StatusOr<NodeFiles> OpenNodeFiles(const config::NodeConfig& config);

// The source of the seal key alone, for tools that open the store of a node that does not run.
absl::StatusOr<std::unique_ptr<privacy::SealKeySource>> MakeSealKeySource(
    const config::NodeConfig& config);

// The first line of a file of mode 0600. CONFIG_INVALID for no path, KEY_FILE_MODE, FILE_NOT_FOUND.
absl::StatusOr<std::string> ReadPassphraseFile(const std::string& path);

// DATA_DIR/store.
absl::StatusOr<std::string> StorePathOf(const config::NodeConfig& config);

// FILE_NOT_FOUND for a store whose seal key's file is missing. No key may be made there: a copied
// or half mounted folder would keep the new one in the way of the right one.
absl::Status CheckKeyIsThere(const std::string& store, const privacy::SealKeySource& source);

// DATA_DIR/backups: where a running node puts copies of its store.
std::string BackupDirOf(const config::NodeConfig& config);

// DATA_DIR/adapters: where a running node keeps imported adapters.
std::string AdapterDirOf(const config::NodeConfig& config);

// DATA_DIR/learned: where it keeps adapters that deep rounds published, and the checkpoint of one
// that runs.
std::string LearnedDirOf(const config::NodeConfig& config);

// DATA_DIR/link-tls.pem: the TLS key of links, a new one at every start.
std::string LinkTlsPathOf(const config::NodeConfig& config);

// Opens the store with the source's key, and finishes or cancels a change of that key which a crash
// interrupted. A loss that opening found is logged. FILE_NOT_FOUND for a store whose key is
// missing: none is made then. The errors of SealKeySource::Load and Database::Open.
absl::StatusOr<std::unique_ptr<storage::Database>> OpenNodeStore(const config::NodeConfig& config,
                                                                 privacy::SealKeySource& source,
                                                                 const Clock& clock);

// federation.certificate, or DATA_DIR/node.cert.
std::string CertificatePath(const config::NodeConfig& config);

// The admission certificate of federation.certificate or DATA_DIR/node.cert, checked against
// federation.authority (if set) and the clock. CERTIFICATE_FOREIGN, CERTIFICATE_EXPIRED,
// FILE_NOT_FOUND with the way to get one.
absl::StatusOr<privacy::AdmissionCert> LoadCertificate(const config::NodeConfig& config,
                                                       const Clock& clock);

}  // namespace ruvd::node
