// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/folder.h"
#include "privacy/identity/admission.h"

namespace ruvd::admission {

// Names of the files in a data folder.
inline constexpr char kNodeKeyFile[] = "node.key";
inline constexpr char kNodeCertificateFile[] = "node.cert";
inline constexpr char kAuthorityKeyFile[] = "authority.key";
inline constexpr char kConfigFile[] = "ruvd.toml";

// The certificate in a data folder; nothing where there is none or it is damaged.
std::optional<privacy::AdmissionCert> KeptCertificate(const std::string& data_dir);

struct CertificateRequest {
  privacy::PublicKey node_key{};
  std::string name;
  uint32_t roles = privacy::roles::kMember;
  int days = 30;  // at most limits::kMaxCertificateMillis
};

// Issues a certificate from now on with a fresh serial number and writes it to `path`.
absl::Status IssueCertificate(const privacy::ClusterAuthority& authority,
                              const CertificateRequest& request, const Clock& clock,
                              const std::string& path);

// The 64 hexadecimal digits of a public key; KEY_INVALID for anything else.
absl::StatusOr<privacy::PublicKey> ParsePublicKey(std::string_view hex);

}  // namespace ruvd::admission
