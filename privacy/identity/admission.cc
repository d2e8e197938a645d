// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/admission.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-CERT-v1\0", 16);
constexpr uint16_t kVersion = 1;
// Offset of the node's id, which follows magic, version and key
constexpr size_t kNodeIdOffset = 16 + 2 + 32;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kCertificateInvalid,
               "admission certificate {}; ask the cluster's operator for a new one", what);
}

absl::Status CheckFields(const AdmissionCert& cert) {
  if (!CheckNodeName(cert.name).ok()) {
    return Invalid("has a name that is not 1 to 32 printable characters");
  }
  if (cert.roles == 0 || (cert.roles & ~roles::kAll) != 0) {
    return Invalid("grants no role or an unknown one");
  }
  if (cert.not_before_ms < 0 || cert.not_after_ms <= cert.not_before_ms ||
      cert.not_after_ms - cert.not_before_ms > limits::kMaxCertificateMillis) {
    return Invalid("has a lifetime that is not above 0 and at most 30 days");
  }
  if (cert.not_before_ms < cert.issuer.not_before_ms ||
      cert.not_after_ms > cert.issuer.not_after_ms) {
    return Invalid("is valid at a time at which its issuer is not");
  }
  if (cert.key_epoch > limits::kMaxKeyRotations) {
    return Invalid("is for a key that was replaced more often than a node can");
  }
  if ((cert.key_epoch == 0) != (cert.node_id == NodeIdOf(cert.node_key))) {
    return Invalid("has an id that does not belong to its key");
  }
  return absl::OkStatus();
}

std::string EncodeSigned(const AdmissionCert& cert) {
  std::array<uint8_t, limits::kMaxNodeNameBytes> name{};
  std::copy_n(cert.name.begin(), std::min(cert.name.size(), name.size()), name.begin());
  ByteWriter writer;
  writer.WriteText(kMagic).Write(kVersion).WriteBytes(cert.node_key).WriteBytes(cert.node_id);
  writer.Write(cert.key_epoch);
  writer.Write(static_cast<uint8_t>(cert.name.size())).WriteBytes(name).Write(cert.roles);
  writer.Write(cert.not_before_ms).Write(cert.not_after_ms);
  writer.WriteText(cert.issuer.Encode()).Write(cert.serial);
  return writer.Take();
}

}  // namespace

absl::Status CheckNodeName(std::string_view name) {
  if (!name.empty() && name.size() <= limits::kMaxNodeNameBytes &&
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; })) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a node's name must be 1 to {} printable characters without spaces; give another "
               "one with --name",
               limits::kMaxNodeNameBytes);
}

std::string AdmissionCert::Encode() const {
  return EncodeSigned(*this).append(AsText(signature));
}

absl::StatusOr<AdmissionCert> AdmissionCert::Parse(std::span<const uint8_t> bytes) {
  if (bytes.size() != kBytes) {
    return Invalid("has the wrong length");
  }
  ByteReader reader(bytes);
  const auto magic = *reader.ReadBytes(kMagic.size());
  const uint16_t version = *reader.Read<uint16_t>();
  if (AsText(magic) != kMagic || version != kVersion) {
    return Invalid("is of an unknown version");
  }
  AdmissionCert cert;
  cert.node_key = *reader.ReadArray<32>();
  cert.node_id = *reader.ReadArray<32>();
  cert.key_epoch = *reader.Read<uint32_t>();
  const uint8_t name_length = *reader.Read<uint8_t>();
  const auto name = *reader.ReadBytes(limits::kMaxNodeNameBytes);
  cert.name = AsText(name.first(std::min<size_t>(name_length, name.size())));
  cert.roles = *reader.Read<uint32_t>();
  cert.not_before_ms = *reader.Read<int64_t>();
  cert.not_after_ms = *reader.Read<int64_t>();
  ASSIGN_OR_RETURN(cert.issuer, IssuerCert::Parse(*reader.ReadBytes(IssuerCert::kBytes)));
  cert.serial = *reader.Read<uint64_t>();
  cert.signature = *reader.ReadArray<64>();
  RETURN_IF_ERROR(CheckFields(cert));
  // A certificate has only one encoding: this refuses bytes after the end of the name.
  if (AsText(bytes) != cert.Encode()) {
    return Invalid("is not canonically encoded");
  }
  return cert;
}

NodeId AdmissionCert::ClaimedNodeId(std::span<const uint8_t> bytes) {
  RUVD_CHECK(bytes.size() >= kBytes);
  NodeId id;
  std::memcpy(id.data(), bytes.data() + kNodeIdOffset, id.size());
  return id;
}

absl::Status AdmissionCert::CheckTime(int64_t now_ms) const {
  if (now_ms >= not_after_ms) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kCertificateExpired,
        "admission certificate of {} expired {} s ago; get a new one with `ruvd token create` and "
        "`ruvd join`, or check the clocks",
        name, (now_ms - not_after_ms) / 1000);
  }
  if (now_ms < not_before_ms - limits::kCertificateClockSkewMillis) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateExpired,
                 "admission certificate of {} is valid only in {} s; check the clocks", name,
                 (not_before_ms - now_ms) / 1000);
  }
  return absl::OkStatus();
}

bool AdmissionCert::Supersedes(const AdmissionCert& former) const {
  return std::tie(key_epoch, issuer.number, not_after_ms) >
         std::tie(former.key_epoch, former.issuer.number, former.not_after_ms);
}

absl::Status AdmissionCert::Verify(const PublicKey& trusted_root, int64_t now_ms) const {
  if (issuer.root != trusted_root) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateForeign,
                 "admission certificate of {} was issued by another cluster; "
                 "join this cluster with a certificate of its own issuer",
                 name);
  }
  RETURN_IF_ERROR(issuer.Verify(trusted_root));
  RETURN_IF_ERROR(CheckPublicKey(node_key));
  if (!VerifySignature(issuer.key, AsBytes(EncodeSigned(*this)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "admission certificate of {} is not signed by its issuer; it was altered", name);
  }
  return CheckTime(now_ms);
}

ClusterAuthority ClusterAuthority::OwnRoot(SigningKey key) {
  IssuerCert issuer{.key = key.public_key(), .not_after_ms = std::numeric_limits<int64_t>::max()};
  issuer = IssuerCert::Sign(std::move(issuer), key).value();
  return {std::move(issuer), std::move(key)};
}

absl::StatusOr<ClusterAuthority> ClusterAuthority::Create(const IssuerCert& issuer,
                                                          SigningKey key) {
  RETURN_IF_ERROR(issuer.Verify(issuer.root));
  if (issuer.key != key.public_key()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
                 "the authority's key and the root's statement about it do not belong together; "
                 "put both files in place that `ruvd cert issuer` wrote");
  }
  return ClusterAuthority(issuer, std::move(key));
}

absl::StatusOr<ClusterAuthority> ClusterAuthority::Load(const std::string& path) {
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::Load(path, KeyUse::kIssuer));
  const std::string beside = std::filesystem::path(path).replace_extension(".cert");
  const absl::StatusOr<std::string> bytes = ReadFile(beside, IssuerCert::kBytes);
  if (!bytes.ok()) {
    return Annotate(bytes.status(),
                    "the authority's key needs the root's statement about it beside it");
  }
  const absl::StatusOr<IssuerCert> issuer = IssuerCert::Parse(AsBytes(*bytes));
  if (!issuer.ok()) {
    return Annotate(issuer.status(), beside);
  }
  return Create(*issuer, std::move(key));
}

absl::StatusOr<AdmissionCert> ClusterAuthority::Issue(const Request& request) const {
  AdmissionCert cert;
  cert.node_key = request.node_key;
  cert.node_id = request.node_id.value_or(NodeIdOf(request.node_key));
  cert.key_epoch = request.key_epoch;
  cert.name = request.name;
  cert.roles = request.roles;
  cert.not_before_ms = request.not_before_ms;
  if (!issuer_.IsValidAt(request.not_before_ms)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kIssuerEnded,
                 "issuer {} of this cluster may sign no certificate that begins now; make the next "
                 "issuer with `ruvd cert issuer` and the root's key, or check the clock",
                 issuer_.number);
  }
  cert.not_after_ms = std::min(request.not_after_ms, issuer_.not_after_ms);
  cert.issuer = issuer_;
  cert.serial = request.serial;
  RETURN_IF_ERROR(CheckFields(cert));
  RETURN_IF_ERROR(CheckPublicKey(cert.node_key));
  cert.signature = key_.Sign(AsBytes(EncodeSigned(cert)));
  return cert;
}

}  // namespace ruvd::privacy
