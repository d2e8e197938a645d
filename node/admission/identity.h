// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/folder.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::admission {

// Names of the files in a data folder.
inline constexpr char kNodeKeyFile[] = "node.key";
inline constexpr char kNodeCertificateFile[] = "node.cert";
inline constexpr char kConfigFile[] = "ruvd.toml";

// Returns the certificate in a data folder; nullopt if it is missing or damaged.
std::optional<privacy::AdmissionCert> LoadStoredCertificate(const std::string& data_dir);

// What the authority gives to a node that joins or renews its certificate.
struct Membership {
  privacy::AdmissionCert certificate;
  privacy::RevocationList revocations;  // the newest list, number 1 or higher
};

struct CertificateRequest {
  privacy::PublicKey node_key{};
  std::optional<privacy::NodeId> node_id;  // must be given for a key of a later epoch
  uint32_t key_epoch = 0;
  std::string name;
  uint32_t roles = privacy::roles::kMember;
  int days = 30;  // at most limits::kMaxCertificateMillis
};

// Issues a certificate that is valid from now on, with a new serial number, and writes it to
// `path`.
absl::Status IssueCertificate(const privacy::ClusterAuthority& authority,
                              const CertificateRequest& request, const Clock& clock,
                              const std::string& path);

// Reads a public key from its 64 hexadecimal digits. Any other text is KEY_INVALID.
absl::StatusOr<privacy::PublicKey> ParsePublicKey(std::string_view hex);

}  // namespace ruvd::admission
