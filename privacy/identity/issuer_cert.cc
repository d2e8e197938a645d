// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/issuer_cert.h"

#include <string_view>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-ISSUER-v1\0", 18);

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kCertificateInvalid,
               "the statement about an issuer {}; ask the cluster's operator for a new certificate",
               what);
}

absl::Status CheckFields(const IssuerCert& issuer) {
  if (issuer.least > issuer.number || issuer.number - issuer.least > 1) {
    return Invalid("lets more than two issuers be good at a time");
  }
  return issuer.not_before_ms < 0 || issuer.not_after_ms <= issuer.not_before_ms
             ? Invalid("has a lifetime that is not above 0")
             : absl::OkStatus();
}

std::string EncodeSigned(const IssuerCert& issuer) {
  ByteWriter writer;
  writer.WriteText(kMagic).WriteBytes(issuer.root).WriteBytes(issuer.key).Write(issuer.number);
  writer.Write(issuer.least).Write(issuer.not_before_ms).Write(issuer.not_after_ms);
  return writer.Take();
}

}  // namespace

ClusterId ClusterIdOf(const PublicKey& root) {
  constexpr std::string_view kDomain("RUVDLLM-CLUSTER-v1\0", 19);
  return Sha256({AsBytes(kDomain), root});
}

absl::StatusOr<IssuerCert> IssuerCert::Sign(IssuerCert fields, const SigningKey& root) {
  fields.root = root.public_key();
  RETURN_IF_ERROR(CheckFields(fields));
  RETURN_IF_ERROR(CheckPublicKey(fields.key));
  fields.signature = root.Sign(AsBytes(EncodeSigned(fields)));
  return fields;
}

std::string IssuerCert::Encode() const {
  return EncodeSigned(*this).append(AsText(signature));
}

absl::StatusOr<IssuerCert> IssuerCert::Parse(std::span<const uint8_t> bytes) {
  if (bytes.size() != kBytes) {
    return Invalid("has the wrong length");
  }
  ByteReader reader(bytes);
  if (AsText(*reader.ReadBytes(kMagic.size())) != kMagic) {
    return Invalid("is of an unknown version");
  }
  IssuerCert issuer;
  issuer.root = *reader.ReadArray<32>();
  issuer.key = *reader.ReadArray<32>();
  issuer.number = *reader.Read<uint32_t>();
  issuer.least = *reader.Read<uint32_t>();
  issuer.not_before_ms = *reader.Read<int64_t>();
  issuer.not_after_ms = *reader.Read<int64_t>();
  issuer.signature = *reader.ReadArray<64>();
  RETURN_IF_ERROR(CheckFields(issuer));
  return issuer;
}

absl::Status IssuerCert::Verify(const PublicKey& trusted_root) const {
  if (root != trusted_root) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateForeign,
                 "an issuer belongs to another cluster");
  }
  RETURN_IF_ERROR(CheckPublicKey(root));
  RETURN_IF_ERROR(CheckPublicKey(key));
  if (!VerifySignature(root, AsBytes(EncodeSigned(*this)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "the cluster's root did not sign the statement about an issuer; it was altered");
  }
  return absl::OkStatus();
}

}  // namespace ruvd::privacy
