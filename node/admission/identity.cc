// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/identity.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/sodium.h"

namespace ruvd::admission {

std::optional<privacy::AdmissionCert> LoadStoredCertificate(const std::string& data_dir) {
  const auto bytes = ReadFile(std::filesystem::path(data_dir) / kNodeCertificateFile,
                              privacy::AdmissionCert::kBytes);
  if (!bytes.ok()) {
    return std::nullopt;
  }
  auto certificate = privacy::AdmissionCert::Parse(AsBytes(*bytes));
  return certificate.ok() ? std::make_optional(*std::move(certificate)) : std::nullopt;
}

absl::Status IssueCertificate(const privacy::ClusterAuthority& authority,
                              const CertificateRequest& request, const Clock& clock,
                              const std::string& path) {
  constexpr int64_t kMillisPerDay = 24LL * 3600 * 1000;
  privacy::ClusterAuthority::Request issue;
  issue.node_key = request.node_key;
  issue.node_id = request.node_id;
  issue.key_epoch = request.key_epoch;
  issue.name = request.name;
  issue.roles = request.roles;
  issue.not_before_ms = clock.WallMillis();
  issue.not_after_ms = issue.not_before_ms + request.days * kMillisPerDay;
  std::array<uint8_t, sizeof(issue.serial)> serial{};
  privacy::SecureRandomBytes(serial);
  std::memcpy(&issue.serial, serial.data(), sizeof(issue.serial));
  ASSIGN_OR_RETURN(const privacy::AdmissionCert certificate, authority.Issue(issue));
  return WriteFileAtomically(path, certificate.Encode());
}

absl::StatusOr<privacy::PublicKey> ParsePublicKey(std::string_view hex) {
  const auto bytes = FromHex(hex);
  privacy::PublicKey key{};
  if (!bytes || bytes->size() != key.size()) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
        "a public key has 64 hexadecimal digits; `ruvd init` prints the node's public key");
  }
  std::copy(bytes->begin(), bytes->end(), key.begin());
  RETURN_IF_ERROR(privacy::CheckPublicKey(key));
  return key;
}

}  // namespace ruvd::admission
