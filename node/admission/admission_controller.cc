// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/admission_controller.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "node/admission/authority_files.h"
#include "node/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::admission {
namespace {

constexpr char kTokensFile[] = "join-tokens";

std::string PathIn(const std::string& data_dir, const char* file) {
  return std::filesystem::path(data_dir) / file;
}

absl::StatusOr<privacy::JoinGrants> LoadGrants(const std::string& data_dir) {
  const std::string path = PathIn(data_dir, kTokensFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    return privacy::JoinGrants();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxAuthorityFileBytes));
  return privacy::DecodeGrants(AsBytes(bytes));
}

uint64_t FreshSerial() {
  uint64_t serial = 0;
  std::array<uint8_t, sizeof(serial)> bytes{};
  privacy::SecureRandomBytes(bytes);
  std::memcpy(&serial, bytes.data(), sizeof(serial));
  return serial;
}

}  // namespace

AdmissionController::AdmissionController(privacy::ClusterAuthority authority,
                                         privacy::JoinGrants grants, const std::string& data_dir,
                                         RevocationFile& revocations, const Clock& clock)
    : clock_(clock),
      authority_(std::move(authority)),
      tokens_(authority_, std::move(grants),
              [path = PathIn(data_dir, kTokensFile)](std::string_view bytes) {
                return WriteFileAtomically(path, bytes, 0600);
              }),
      revocations_(revocations) {}

absl::StatusOr<std::unique_ptr<AdmissionController>> AdmissionController::Open(
    const std::string& data_dir, RevocationFile& revocations, const Clock& clock) {
  const std::string path = PathIn(data_dir, kAuthorityKeyFile);
  ASSIGN_OR_RETURN(privacy::ClusterAuthority authority, privacy::ClusterAuthority::Load(path));
  ASSIGN_OR_RETURN(privacy::JoinGrants grants, LoadGrants(data_dir));
  return std::unique_ptr<AdmissionController>(new AdmissionController(
      std::move(authority), std::move(grants), data_dir, revocations, clock));
}

absl::StatusOr<Invitation> AdmissionController::Invite(uint32_t roles, int64_t lifetime_ms) {
  const int64_t now_ms = clock_.WallMillis();
  ASSIGN_OR_RETURN(std::string token, tokens_.Issue(roles, now_ms, lifetime_ms));
  return Invitation{.text = {.token = std::move(token),
                             .cluster = authority_.cluster_id(),
                             .issuer = authority_.issuer().number},
                    .expires_ms = now_ms + lifetime_ms};
}

privacy::JoinWelcome AdmissionController::Welcome(const privacy::JoinWelcome::Nonce& nonce,
                                                  const Digest& certificate) const {
  return privacy::JoinWelcome::Sign(authority_, nonce, certificate);
}

absl::StatusOr<Membership> AdmissionController::Admit(const privacy::JoinRequest& request) {
  ASSIGN_OR_RETURN(const privacy::RevokedNodes revoked, revocations_.EverRevoked(authority_));
  ASSIGN_OR_RETURN(privacy::RevocationList list, RefreshRevocations());
  ASSIGN_OR_RETURN(privacy::AdmissionCert certificate,
                   tokens_.Redeem(request, clock_.WallMillis(), FreshSerial(), revoked));
  return Membership{.certificate = std::move(certificate), .revocations = std::move(list)};
}

absl::StatusOr<Membership> AdmissionController::Renew(const privacy::CertificateRenewal& renewal,
                                                      const privacy::JoinWelcome::Nonce& nonce) {
  const privacy::AdmissionCert& present = renewal.certificate;
  if (present.issuer.number < authority_.issuer().least) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kIssuerEnded,
        "the certificate of {} is of issuer {}, which the cluster's root ended; join again "
        "with a token",
        present.name, present.issuer.number);
  }
  ASSIGN_OR_RETURN(privacy::RevocationList list, RefreshRevocations());
  ASSIGN_OR_RETURN(privacy::AdmissionCert certificate, Reissue(renewal, nonce));
  return Membership{.certificate = std::move(certificate), .revocations = std::move(list)};
}

absl::StatusOr<privacy::AdmissionCert> AdmissionController::RenewOwn(
    const privacy::AdmissionCert& certificate, const privacy::NodeKey& key) {
  const privacy::JoinWelcome::Nonce nonce{};
  return Reissue(privacy::CertificateRenewal::Sign(certificate, nonce, key), nonce);
}

absl::StatusOr<privacy::AdmissionCert> AdmissionController::Reissue(
    const privacy::CertificateRenewal& renewal, const privacy::JoinWelcome::Nonce& nonce) {
  ASSIGN_OR_RETURN(const privacy::RevokedNodes revoked, revocations_.EverRevoked(authority_));
  return RenewCertificate(authority_, revoked, renewal, nonce, clock_.WallMillis(), FreshSerial());
}

absl::StatusOr<privacy::RevocationList> AdmissionController::Revoke(const privacy::NodeId& node) {
  return revocations_.Add(node, clock_.WallMillis(), authority_);
}

absl::StatusOr<privacy::RevocationList> AdmissionController::RefreshRevocations() {
  return revocations_.Refresh(limits::kRevocationsRefreshedMillis, clock_.WallMillis(), authority_);
}

}  // namespace ruvd::admission
