// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/revocation_list.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-REVOKE-v1\0", 18);

std::string EncodeFields(const RevocationList& list) {
  ByteWriter writer;
  writer.WriteText(kMagic).WriteBytes(list.cluster).Write(list.number).Write(list.issued_ms);
  writer.Write(static_cast<uint32_t>(list.nodes.size()));
  for (const NodeId& node : list.nodes) {
    writer.WriteBytes(node);
  }
  return writer.Take();
}

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kRevocationInvalid,
               "a revocation list {}; ask the cluster's operator for the newest one", what);
}

absl::Status TooMany(size_t nodes) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
               "a revocation list has {} nodes, more than the limit of {}; begin a new cluster "
               "with a new issuer",
               nodes, limits::kMaxRevokedNodes);
}

bool Ascending(const std::vector<NodeId>& nodes) {
  return std::ranges::adjacent_find(nodes, std::ranges::greater_equal{}) == nodes.end();
}

}  // namespace

std::string RevocationList::Encode() const {
  return EncodeFields(*this).append(AsText(signature));
}

absl::StatusOr<RevocationList> RevocationList::Parse(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto cluster = reader.ReadArray<32>();
  const auto number = reader.Read<uint64_t>();
  const auto issued = reader.Read<int64_t>();
  const auto count = reader.Read<uint32_t>();
  if (reader.failed() || AsText(*magic) != kMagic || *number == 0 || *issued < 0) {
    return Invalid("does not decode");
  }
  if (*count > limits::kMaxRevokedNodes) {
    return TooMany(*count);
  }
  if (reader.remaining() != *count * sizeof(NodeId) + sizeof(Signature)) {
    return Invalid("does not decode");
  }
  RevocationList list{.cluster = *cluster, .number = *number, .issued_ms = *issued, .nodes = {}};
  for (uint32_t i = 0; i < *count; ++i) {
    list.nodes.push_back(*reader.ReadArray<32>());
  }
  list.signature = *reader.ReadArray<64>();
  return Ascending(list.nodes) ? absl::StatusOr<RevocationList>(std::move(list))
                               : Invalid("names nodes twice or out of order");
}

absl::Status RevocationList::Verify(const PublicKey& issuer) const {
  if (cluster != ClusterIdOf(issuer)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateForeign,
                 "a revocation list belongs to another cluster; it has no effect here");
  }
  if (!Ascending(nodes) || !VerifySignature(issuer, AsBytes(EncodeFields(*this)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a revocation list is not signed by the cluster's issuer; it has no effect");
  }
  return absl::OkStatus();
}

bool RevocationList::Revokes(const NodeId& node) const {
  return std::ranges::binary_search(nodes, node);
}

absl::StatusOr<RevocationList> RevokeNodes(const RevocationList& former, std::vector<NodeId> nodes,
                                           int64_t now_ms, const SigningKey& issuer) {
  nodes.insert(nodes.end(), former.nodes.begin(), former.nodes.end());
  std::ranges::sort(nodes);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
  if (nodes.size() > limits::kMaxRevokedNodes) {
    return TooMany(nodes.size());
  }
  RevocationList list{.cluster = ClusterIdOf(issuer.public_key()),
                      .number = former.number + 1,
                      .issued_ms = std::max(now_ms, former.issued_ms),
                      .nodes = std::move(nodes)};
  list.signature = issuer.Sign(AsBytes(EncodeFields(list)));
  return list;
}

absl::Status Revocations::Take(const RevocationList& list) {
  if (list == list_) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(list.Verify(issuer_));
  if (list.number <= list_.number || list.issued_ms < list_.issued_ms) {
    return Invalid("is not newer than the known one");
  }
  if (!std::ranges::includes(list.nodes, list_.nodes)) {
    return Invalid("leaves out a revoked node");
  }
  list_ = list;
  return absl::OkStatus();
}

absl::Status Revocations::Require(const NodeId& node, int64_t now_ms, int64_t max_stale_ms) const {
  if (list_.Revokes(node)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kNodeRevoked,
                 "node {} was revoked; it needs a new identity and a new certificate",
                 ToHex(node).substr(0, 16));
  }
  return RequireFresh(now_ms, max_stale_ms);
}

absl::Status Revocations::RequireFresh(int64_t now_ms, int64_t max_stale_ms) const {
  if (max_stale_ms > 0 && list_.number > 0 && now_ms - list_.issued_ms > max_stale_ms) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kRevocationStale,
                 "the newest revocation list is {} h old; start the node with the authority's key, "
                 "which signs the list again, or raise federation.max_stale_hours",
                 (now_ms - list_.issued_ms) / 3'600'000);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::privacy
