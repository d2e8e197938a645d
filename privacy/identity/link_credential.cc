// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/link_credential.h"

#include <sodium.h>

#include <string_view>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMember("RUVDLLM-TLSM-v1\0", 16);
constexpr std::string_view kApplicant("RUVDLLM-TLSA-v1\0", 16);

std::string SignedBytes(const AdmissionCert& certificate, const Digest& tls_key) {
  ByteWriter writer;
  writer.WriteText(kMember).WriteText(certificate.Encode()).WriteBytes(tls_key);
  return writer.Take();
}

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateInvalid,
               "the credential in a TLS certificate {}; update the older program", what);
}

}  // namespace

MemberCredential MemberCredential::Sign(const AdmissionCert& certificate, const Digest& tls_key,
                                        const NodeKey& key) {
  return {.certificate = certificate,
          .proof = key.Sign(AsBytes(SignedBytes(certificate, tls_key)))};
}

absl::Status MemberCredential::Verify(const ClusterId& cluster, const Digest& tls_key,
                                      int64_t now_ms) const {
  if (ClusterIdOf(certificate.issuer.root) != cluster) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateForeign,
                 "the node {} belongs to another cluster; check the address", certificate.name);
  }
  RETURN_IF_ERROR(certificate.Verify(certificate.issuer.root, now_ms));
  if (!VerifySignature(certificate.node_key, AsBytes(SignedBytes(certificate, tls_key)), proof)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a TLS key shows the admission certificate of {}, which did not sign it; another "
                 "machine uses the certificate of that node",
                 certificate.name);
  }
  return absl::OkStatus();
}

Digest ApplicantCredential::NameOf(const Digest& token_hash) {
  constexpr std::string_view kDomain("RUVDLLM-TOKENNAME-v1\0", 21);
  return Sha256({AsBytes(kDomain), token_hash});
}

// The hash of the token is a key that both sides know. All parts have fixed lengths, so a plain
// hash is a sound authentication code here.
ApplicantCredential ApplicantCredential::Of(const Digest& token_hash, const Digest& tls_key) {
  return {.token_name = NameOf(token_hash),
          .proof = Sha256({AsBytes(kApplicant), token_hash, tls_key})};
}

bool ApplicantCredential::Proves(const Digest& token_hash, const Digest& tls_key) const {
  const ApplicantCredential expected = Of(token_hash, tls_key);
  return token_name == expected.token_name &&
         sodium_memcmp(proof.data(), expected.proof.data(), proof.size()) == 0;
}

std::string EncodeLinkCredential(const LinkCredential& credential) {
  ByteWriter writer;
  if (const auto* member = std::get_if<MemberCredential>(&credential)) {
    writer.WriteText(kMember).WriteText(member->certificate.Encode()).WriteBytes(member->proof);
  } else {
    const auto& applicant = std::get<ApplicantCredential>(credential);
    writer.WriteText(kApplicant).WriteBytes(applicant.token_name).WriteBytes(applicant.proof);
  }
  return writer.Take();
}

absl::StatusOr<LinkCredential> ParseLinkCredential(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto kind = reader.ReadBytes(kMember.size());
  if (bytes.size() == MemberCredential::kBytes && AsText(*kind) == kMember) {
    MemberCredential member;
    ASSIGN_OR_RETURN(member.certificate,
                     AdmissionCert::Parse(*reader.ReadBytes(AdmissionCert::kBytes)));
    member.proof = *reader.ReadArray<sizeof(Signature)>();
    return member;
  }
  if (bytes.size() == ApplicantCredential::kBytes && AsText(*kind) == kApplicant) {
    ApplicantCredential applicant;
    applicant.token_name = *reader.ReadArray<sizeof(Digest)>();
    applicant.proof = *reader.ReadArray<sizeof(Digest)>();
    return applicant;
  }
  return Invalid("is neither that of a member nor that of a node with a join token");
}

}  // namespace ruvd::privacy
