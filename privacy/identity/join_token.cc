// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/join_token.h"

#include <array>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kPrefix = "ruvd-join-";
constexpr std::string_view kMagic = "RUVDTOK1";
constexpr size_t kSecretBytes = 32;

absl::Status Refused(std::string_view reason, std::string_view what) {
  return Error(absl::StatusCode::kPermissionDenied, reason,
               "the join token {}; ask the cluster's operator for a new one", what);
}

// Returns the hash by which the grants name a token, or nullopt for a text that is not a token.
std::optional<Digest> HashOf(std::string_view token, const ClusterId& cluster) {
  constexpr std::string_view kDomain("RUVDLLM-TOKEN-v1\0", 17);
  if (!token.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const auto secret = FromHex(token.substr(kPrefix.size()));
  if (!secret || secret->size() != kSecretBytes) {
    return std::nullopt;
  }
  return Sha256({AsBytes(kDomain), cluster, AsBytes(*secret)});
}

// The proof covers the token's hash, so that it is valid for that token only.
std::string ProofBytes(const JoinRequest& request, const ClusterId& cluster, const Digest& token) {
  constexpr std::string_view kDomain("RUVDLLM-JOIN-v1\0", 16);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(cluster).WriteBytes(token).WriteBytes(request.node_key);
  return writer.WriteText(request.name).Take();
}

bool WellFormed(const JoinGrant& grant) {
  return grant.roles != 0 && (grant.roles & ~roles::kAll) == 0 && grant.issued_ms >= 0 &&
         grant.expires_ms > grant.issued_ms &&
         grant.expires_ms - grant.issued_ms <= limits::kMaxTokenMillis;
}

}  // namespace

std::string EncodeGrants(const JoinGrants& grants) {
  ByteWriter writer;
  writer.WriteText(kMagic).Write(static_cast<uint32_t>(grants.size()));
  for (const auto& [hash, grant] : grants) {
    writer.WriteBytes(hash).Write(grant.roles).Write(grant.issued_ms).Write(grant.expires_ms);
    writer.Write(static_cast<uint8_t>(grant.used ? 1 : 0));
  }
  return writer.Take();
}

absl::StatusOr<JoinGrants> DecodeGrants(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto count = reader.Read<uint32_t>();
  JoinGrants grants;
  bool good = !reader.failed() && AsText(*magic) == kMagic && *count <= limits::kMaxJoinTokens;
  for (uint32_t i = 0; good && i < *count; ++i) {
    const auto hash = reader.ReadArray<32>();
    const auto roles = reader.Read<uint32_t>();
    const auto issued = reader.Read<int64_t>();
    const auto expires = reader.Read<int64_t>();
    const auto used = reader.Read<uint8_t>();
    if (reader.failed()) {
      good = false;
      break;
    }
    const JoinGrant grant = {
        .roles = *roles, .issued_ms = *issued, .expires_ms = *expires, .used = *used == 1};
    good = *used <= 1 && WellFormed(grant) && (grants.empty() || grants.rbegin()->first < *hash);
    grants[*hash] = grant;
  }
  if (!good || reader.remaining() != 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kTokenInvalid,
                 "the list of join tokens does not decode; remove it and issue new tokens");
  }
  return grants;
}

JoinRequest JoinRequest::Sign(std::string token, std::string name, const ClusterId& cluster,
                              const NodeKey& key) {
  JoinRequest request{.token = std::move(token),
                      .node_key = key.public_key(),
                      .rotations = key.keys().EncodeRotations(),
                      .name = std::move(name)};
  const Digest hash = HashOf(request.token, cluster).value_or(Digest{});
  request.proof = key.Sign(AsBytes(ProofBytes(request, cluster, hash)));
  return request;
}

absl::StatusOr<ApplicantCredential> MakeApplicantCredential(const JoinInvitation& invitation,
                                                            const Digest& tls_key) {
  const std::optional<Digest> hash = HashOf(invitation.token, invitation.cluster);
  if (!hash) {
    return Refused(reasons::kTokenInvalid, "was copied with mistakes");
  }
  return ApplicantCredential::Of(*hash, tls_key);
}

JoinTokens::JoinTokens(const ClusterAuthority& authority, JoinGrants grants, Keep keep)
    : authority_(authority), keep_(std::move(keep)), grants_(std::move(grants)) {
  Name(this->grants());
}

void JoinTokens::Name(const JoinGrants& grants) {
  std::map<Digest, Named> names;
  for (const auto& [hash, grant] : grants) {
    names[ApplicantCredential::NameOf(hash)] = {.hash = hash, .expires_ms = grant.expires_ms};
  }
  const MutexLock lock(names_mutex_);
  names_ = std::move(names);
}

bool JoinTokens::Recognizes(const ApplicantCredential& credential, const Digest& tls_key,
                            int64_t now_ms) const {
  const MutexLock lock(names_mutex_);
  const auto found = names_.find(credential.token_name);
  return found != names_.end() && now_ms < found->second.expires_ms + limits::kTokenGraceMillis &&
         credential.Proves(found->second.hash, tls_key);
}

absl::StatusOr<std::string> JoinTokens::Issue(uint32_t roles, int64_t now_ms, int64_t lifetime_ms) {
  const JoinGrant grant = {.roles = roles, .issued_ms = now_ms, .expires_ms = now_ms + lifetime_ms};
  if (lifetime_ms > limits::kMaxTokenMillis || !WellFormed(grant)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot issue a join token for {:.1f} hours with roles {}; give more than 0 and "
                 "at most 24 hours, and known roles",
                 static_cast<double>(lifetime_ms) / 3.6e6, roles);
  }
  std::array<uint8_t, kSecretBytes> secret{};
  SecureRandomBytes(secret);
  std::string token = std::string(kPrefix).append(ToHex(secret));
  SecureWipe(secret);
  const MutexLock lock(mutex_);
  JoinGrants next = grants_;
  std::erase_if(next, [now_ms](const auto& entry) { return entry.second.expires_ms <= now_ms; });
  if (next.size() >= limits::kMaxJoinTokens) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{} join tokens are in use, which is the limit; wait until some expire",
                 next.size());
  }
  next[*HashOf(token, authority_.cluster_id())] = grant;
  RETURN_IF_ERROR(keep_(EncodeGrants(next)));
  grants_ = std::move(next);
  Name(grants_);
  return token;
}

absl::StatusOr<AdmissionCert> JoinTokens::Redeem(const JoinRequest& request, int64_t now_ms,
                                                 uint64_t serial, const RevokedNodes& revoked,
                                                 const MayJoin& may_join) {
  const ClusterId cluster = authority_.cluster_id();
  const std::optional<Digest> hash = HashOf(request.token, cluster);
  const MutexLock lock(mutex_);
  const auto grant = hash ? grants_.find(*hash) : grants_.end();
  if (grant == grants_.end()) {
    return Refused(reasons::kTokenInvalid, "is unknown in this cluster");
  }
  if (grant->second.used) {
    return Refused(reasons::kTokenUsed, "was already used");
  }
  if (now_ms >= grant->second.expires_ms || now_ms < grant->second.issued_ms) {
    return Refused(reasons::kTokenExpired, "has expired");
  }
  RETURN_IF_ERROR(CheckPublicKey(request.node_key));
  if (!VerifySignature(request.node_key, AsBytes(ProofBytes(request, cluster, *hash)),
                       request.proof)) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
        "the request to join is not signed by the key that it names; sign it again with that key");
  }
  ASSIGN_OR_RETURN(const NodeKeys keys,
                   NodeKeys::Through(AsBytes(request.rotations), request.node_key));
  if (may_join != nullptr) {
    RETURN_IF_ERROR(may_join(keys));
  }
  if (revoked.contains(keys.node())) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kNodeRevoked,
                 "this node's key was revoked for ever; join with an empty data folder, which "
                 "gives the node a new key");
  }
  ASSIGN_OR_RETURN(const AdmissionCert certificate,
                   authority_.Issue({.node_key = request.node_key,
                                     .node_id = keys.node(),
                                     .key_epoch = keys.epoch(),
                                     .name = request.name,
                                     .roles = grant->second.roles,
                                     .not_before_ms = now_ms,
                                     .not_after_ms = now_ms + limits::kMaxCertificateMillis,
                                     .serial = serial}));
  grant->second.used = true;
  RETURN_IF_ERROR(keep_(EncodeGrants(grants_)));
  return certificate;
}

JoinGrants JoinTokens::grants() const {
  const MutexLock lock(mutex_);
  return grants_;
}

}  // namespace ruvd::privacy
