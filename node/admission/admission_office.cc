// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/admission_office.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/limits.h"
#include "privacy/sodium.h"

namespace ruvd {
namespace {

constexpr char kTokensFile[] = "join-tokens";

std::string PathIn(const std::string& data_dir, const char* file) {
  return std::filesystem::path(data_dir) / file;
}

absl::StatusOr<JoinGrants> LoadGrants(const std::string& data_dir) {
  const std::string path = PathIn(data_dir, kTokensFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    return JoinGrants();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxAuthorityFileBytes));
  return DecodeGrants(AsBytes(bytes));
}

uint64_t FreshSerial() {
  uint64_t serial = 0;
  std::array<uint8_t, sizeof(serial)> bytes{};
  SecureRandomBytes(bytes);
  std::memcpy(&serial, bytes.data(), sizeof(serial));
  return serial;
}

}  // namespace

AdmissionOffice::AdmissionOffice(ClusterAuthority authority, SigningKey key, JoinGrants grants,
                                 const std::string& data_dir, RevocationFile& revocations,
                                 const Clock& clock)
    : clock_(clock),
      authority_(std::move(authority)),
      key_(std::move(key)),
      tokens_(authority_, std::move(grants),
              [path = PathIn(data_dir, kTokensFile)](std::string_view bytes) {
                return WriteFileAtomically(path, bytes, 0600);
              }),
      revocations_(revocations) {}

absl::StatusOr<std::unique_ptr<AdmissionOffice>> AdmissionOffice::Open(const std::string& data_dir,
                                                                       RevocationFile& revocations,
                                                                       const Clock& clock) {
  const std::string path = PathIn(data_dir, kAuthorityKeyFile);
  ASSIGN_OR_RETURN(ClusterAuthority authority, ClusterAuthority::Load(path));
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::Load(path, KeyUse::kIssuer));
  ASSIGN_OR_RETURN(JoinGrants grants, LoadGrants(data_dir));
  return std::unique_ptr<AdmissionOffice>(new AdmissionOffice(
      std::move(authority), std::move(key), std::move(grants), data_dir, revocations, clock));
}

absl::StatusOr<Invitation> AdmissionOffice::Invite(uint32_t roles, int64_t lifetime_ms) {
  const int64_t now_ms = clock_.WallMillis();
  ASSIGN_OR_RETURN(std::string token, tokens_.Issue(roles, now_ms, lifetime_ms));
  return Invitation{.text = {.token = std::move(token), .cluster = authority_.cluster_id()},
                    .expires_ms = now_ms + lifetime_ms};
}

JoinWelcome AdmissionOffice::Welcome(const JoinWelcome::Nonce& nonce,
                                     const Digest& certificate) const {
  return JoinWelcome::Sign(key_, nonce, certificate);
}

absl::StatusOr<AdmissionCert> AdmissionOffice::Admit(const JoinRequest& request) {
  ASSIGN_OR_RETURN(const RevocationList revoked, revocations_.Load(authority_.public_key()));
  return tokens_.Redeem(request, clock_.WallMillis(), FreshSerial(), revoked);
}

absl::StatusOr<AdmissionCert> AdmissionOffice::Renew(const CertificateRenewal& renewal,
                                                     const JoinWelcome::Nonce& nonce) {
  ASSIGN_OR_RETURN(const RevocationList revoked, revocations_.Load(authority_.public_key()));
  return RenewCertificate(authority_, revoked, renewal, nonce, clock_.WallMillis(), FreshSerial());
}

absl::StatusOr<AdmissionCert> AdmissionOffice::RenewOwn(const AdmissionCert& certificate,
                                                        const NodeKey& key) {
  const JoinWelcome::Nonce nonce{};
  return Renew(CertificateRenewal::Sign(certificate, nonce, key), nonce);
}

absl::StatusOr<RevocationList> AdmissionOffice::Revoke(const NodeId& node) {
  return revocations_.Add(node, clock_.WallMillis(), key_);
}

absl::StatusOr<RevocationList> AdmissionOffice::RefreshRevocations() {
  return revocations_.Refresh(limits::kRevocationsRefreshedMillis, clock_.WallMillis(), key_);
}

}  // namespace ruvd
