// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/admission_controller.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/authority_files.h"
#include "node/limits.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::admission {
namespace {

constexpr char kTokensFile[] = "join-tokens";
constexpr char kGrantedFile[] = "granted-keys";

std::string PathIn(const std::string& data_dir, const char* file) {
  return std::filesystem::path(data_dir) / file;
}

// Reads a file of the authority with `decode`; returns `Contents()` if it is missing.
template <typename Contents, typename Decode>
absl::StatusOr<Contents> LoadFile(const std::string& data_dir, const char* file,
                                  const Decode& decode) {
  const std::string path = PathIn(data_dir, file);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    return Contents();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxAuthorityFileBytes));
  return decode(AsBytes(bytes));
}

uint64_t FreshSerial() {
  uint64_t serial = 0;
  std::array<uint8_t, sizeof(serial)> bytes{};
  privacy::SecureRandomBytes(bytes);
  std::memcpy(&serial, bytes.data(), sizeof(serial));
  return serial;
}

}  // namespace

absl::StatusOr<privacy::GrantedKeys> LoadGrantedKeys(const std::string& data_dir) {
  return LoadFile<privacy::GrantedKeys>(data_dir, kGrantedFile, privacy::DecodeGrantedKeys);
}

AdmissionController::AdmissionController(privacy::ClusterAuthority authority,
                                         privacy::JoinGrants grants, privacy::GrantedKeys keys,
                                         const std::string& data_dir, RevocationFile& revocations,
                                         const Clock& clock)
    : clock_(clock),
      authority_(std::move(authority)),
      tokens_(authority_, std::move(grants),
              [path = PathIn(data_dir, kTokensFile)](std::string_view bytes) {
                return WriteFileAtomically(path, bytes, 0600);
              }),
      revocations_(revocations),
      granted_path_(PathIn(data_dir, kGrantedFile)),
      granted_(std::move(keys)) {}

absl::StatusOr<std::unique_ptr<AdmissionController>> AdmissionController::Open(
    const std::string& data_dir, RevocationFile& revocations, const Clock& clock) {
  const std::string path = PathIn(data_dir, kAuthorityKeyFile);
  ASSIGN_OR_RETURN(privacy::ClusterAuthority authority, privacy::ClusterAuthority::Load(path));
  ASSIGN_OR_RETURN(privacy::JoinGrants grants,
                   LoadFile<privacy::JoinGrants>(data_dir, kTokensFile, privacy::DecodeGrants));
  ASSIGN_OR_RETURN(privacy::GrantedKeys keys, LoadGrantedKeys(data_dir));
  return std::unique_ptr<AdmissionController>(new AdmissionController(
      std::move(authority), std::move(grants), std::move(keys), data_dir, revocations, clock));
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
  const auto may_join = [this](const privacy::NodeKeys& keys) {
    const MutexLock lock(granted_mutex_);
    return RequireThroughGranted(granted_, keys);
  };
  ASSIGN_OR_RETURN(privacy::AdmissionCert certificate,
                   tokens_.Redeem(request, clock_.WallMillis(), FreshSerial(), revoked, may_join));
  if (certificate.key_epoch > 0) {  // another authority may have granted the key
    RETURN_IF_ERROR(Grant(certificate, clock_.WallMillis()));
    ASSIGN_OR_RETURN(list, RefreshRevocations());
  }
  return Membership{.certificate = std::move(certificate), .revocations = std::move(list)};
}

absl::Status AdmissionController::Grant(const privacy::AdmissionCert& certificate,
                                        int64_t former_until_ms) {
  const MutexLock granting(granting_);
  privacy::GrantedKeys keys;
  {
    const MutexLock lock(granted_mutex_);
    keys = granted_;
  }
  // Between the caller's check and now another call may have granted a key.
  RETURN_IF_ERROR(
      RequireNewest(keys, certificate.node_id, certificate.key_epoch, certificate.node_key));
  privacy::GrantedKey& kept = keys[certificate.node_id];
  const int64_t until_ms = kept.epoch == certificate.key_epoch
                               ? std::min(kept.former_until_ms, former_until_ms)
                               : former_until_ms;
  kept = {.epoch = certificate.key_epoch, .key = certificate.node_key, .former_until_ms = until_ms};
  if (keys.size() > limits::kMaxGrantedKeys ||
      EndedAt(keys, std::max(until_ms, clock_.WallMillis())).size() > limits::kMaxEndedKeys) {
    return Error(
        absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
        "this authority has replaced the keys of {} nodes; {} in all and {} within 31 days "
        "are the limits, so let the node keep its key, or join as another one",
        keys.size(), limits::kMaxGrantedKeys, limits::kMaxEndedKeys);
  }
  RETURN_IF_ERROR(WriteFileAtomically(granted_path_, EncodeGrantedKeys(keys), 0600));
  const MutexLock lock(granted_mutex_);
  granted_ = std::move(keys);
  return absl::OkStatus();
}

absl::Status AdmissionController::CheckGranted(const privacy::CertificateRenewal& renewal) const {
  const privacy::AdmissionCert& present = renewal.certificate;
  const MutexLock lock(granted_mutex_);
  const auto found = granted_.find(present.node_id);
  // A rotation is repeated if its answer was lost.
  const bool repeated = found != granted_.end() && renewal.rotation &&
                        found->second.epoch == renewal.rotation->epoch &&
                        found->second.key == renewal.rotation->next;
  return repeated ? absl::OkStatus()
                  : RequireNewest(granted_, present.node_id, present.key_epoch, present.node_key);
}

bool AdmissionController::MayEndRotation(const privacy::AdmissionCert& former) const {
  const MutexLock lock(granted_mutex_);
  const auto found = granted_.find(former.node_id);
  return found != granted_.end() && found->second.epoch == former.key_epoch + 1;
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
  ASSIGN_OR_RETURN(privacy::AdmissionCert certificate, Reissue(renewal, nonce));
  ASSIGN_OR_RETURN(privacy::RevocationList list, RefreshRevocations());
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
  const int64_t now_ms = clock_.WallMillis();
  ASSIGN_OR_RETURN(privacy::AdmissionCert renewed,
                   RenewCertificate(authority_, revoked, renewal, nonce, now_ms, FreshSerial()));
  RETURN_IF_ERROR(CheckGranted(renewal));
  if (renewal.rotation) {
    const int64_t overlap_ms = renewal.ends_former ? 0 : limits::kKeyOverlapMillis;
    RETURN_IF_ERROR(Grant(renewed, now_ms + overlap_ms));
  }
  return renewed;
}

absl::StatusOr<privacy::RevocationList> AdmissionController::Revoke(const privacy::NodeId& node) {
  return revocations_.Add(node, clock_.WallMillis(), authority_);
}

absl::StatusOr<privacy::RevocationList> AdmissionController::RefreshRevocations() {
  const int64_t now_ms = clock_.WallMillis();
  std::vector<privacy::EndedKeys> ended;
  {
    const MutexLock lock(granted_mutex_);
    ended = EndedAt(granted_, now_ms);
  }
  return revocations_.Refresh(limits::kRevocationsRefreshedMillis, now_ms, authority_, ended);
}

}  // namespace ruvd::admission
