// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/revocation_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-REVOKE-v1\0", 18);
constexpr std::string_view kRevokedNodesMagic = "RUVDREV1";
constexpr int kEditionBits = 32;  // of a list's number
constexpr size_t kRevokedNodeBytes = sizeof(NodeId) + sizeof(int64_t) + sizeof(uint32_t);

std::string EncodeFields(const RevocationList& list) {
  ByteWriter writer;
  writer.WriteText(kMagic).WriteText(list.issuer.Encode());
  writer.Write(list.number).Write(list.issued_ms);
  writer.Write(list.covers_from_ms).Write(static_cast<uint32_t>(list.nodes.size()));
  for (const RevokedNode& node : list.nodes) {
    writer.WriteBytes(node.id).Write(node.ends_ms).Write(node.least_epoch);
  }
  return writer.Take();
}

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kRevocationInvalid,
               "a revocation list {}; ask the cluster's operator for the newest one", what);
}

absl::Status TooMany(size_t nodes) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
               "a revocation list has {} nodes, more than the limit of {}; revoke more once the "
               "certificates of the first have ended, 31 days after their revocation, or found a "
               "new cluster",
               nodes, limits::kMaxRevokedNodes);
}

absl::Status NotInItsTime(const IssuerCert& issuer) {
  return Error(
      absl::StatusCode::kFailedPrecondition, reasons::kIssuerEnded,
      "a revocation list is dated outside the time of issuer {}; make the next issuer with "
      "`ruvd cert issuer` and the root's key, or check the clock",
      issuer.number);
}

// Returns whether the nodes are in order, and covered: others are left out.
bool WellFormed(const RevocationList& list) {
  const auto covered = [&list](const RevokedNode& node) {
    return node.ends_ms > list.covers_from_ms && node.least_epoch > 0;
  };
  return list.covers_from_ms <= list.issued_ms && std::ranges::all_of(list.nodes, covered) &&
         std::ranges::adjacent_find(list.nodes, std::ranges::greater_equal{}, &RevokedNode::id) ==
             list.nodes.end();
}

const RevokedNode* Find(const RevocationList& list, const NodeId& id) {
  const auto found = std::ranges::lower_bound(list.nodes, id, {}, &RevokedNode::id);
  return found != list.nodes.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

std::string RevocationList::Encode() const {
  return EncodeFields(*this).append(AsText(signature));
}

absl::StatusOr<RevocationList> RevocationList::Parse(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto issuer_bytes = reader.ReadBytes(IssuerCert::kBytes);
  const auto number = reader.Read<uint64_t>();
  const auto issued = reader.Read<int64_t>();
  const auto covers_from = reader.Read<int64_t>();
  const auto count = reader.Read<uint32_t>();
  if (reader.failed() || AsText(*magic) != kMagic || *number == 0 || *issued < 0) {
    return Invalid("does not decode");
  }
  if (*count > limits::kMaxRevokedNodes) {
    return TooMany(*count);
  }
  if (reader.remaining() != *count * kRevokedNodeBytes + sizeof(Signature)) {
    return Invalid("does not decode");
  }
  const absl::StatusOr<IssuerCert> issuer = IssuerCert::Parse(*issuer_bytes);
  if (!issuer.ok() || *number >> kEditionBits != issuer->number) {
    return Invalid("does not name its issuer");
  }
  RevocationList list{.issuer = *issuer,
                      .number = *number,
                      .issued_ms = *issued,
                      .covers_from_ms = *covers_from,
                      .nodes = {}};
  list.nodes.reserve(*count);
  for (uint32_t i = 0; i < *count; ++i) {
    const auto id = reader.ReadArray<32>();
    const auto ends_ms = reader.Read<int64_t>();
    list.nodes.push_back({.id = *id, .ends_ms = *ends_ms, .least_epoch = *reader.Read<uint32_t>()});
  }
  list.signature = *reader.ReadArray<64>();
  return WellFormed(list) ? absl::StatusOr<RevocationList>(std::move(list))
                          : Invalid("names nodes twice, out of order or outside its time");
}

absl::Status RevocationList::Verify(const PublicKey& trusted_root) const {
  if (issuer.root != trusted_root) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateForeign,
                 "a revocation list belongs to another cluster; it has no effect here");
  }
  RETURN_IF_ERROR(issuer.Verify(trusted_root));
  if (!WellFormed(*this) || !VerifySignature(issuer.key, AsBytes(EncodeFields(*this)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a revocation list is not signed by the cluster's issuer; it has no effect");
  }
  return issuer.IsValidAt(issued_ms) ? absl::OkStatus() : NotInItsTime(issuer);
}

uint32_t RevocationList::LeastEpoch(const NodeId& node) const {
  const RevokedNode* const found = Find(*this, node);
  return found == nullptr ? 0 : found->least_epoch;
}

absl::StatusOr<RevocationList> RevokeNodes(const RevocationList& former,
                                           const std::vector<NodeId>& nodes, int64_t now_ms,
                                           const ClusterAuthority& authority,
                                           const std::vector<EndedKeys>& keys) {
  const IssuerCert& issuer = authority.issuer();
  const uint64_t number = std::max(former.number, uint64_t{issuer.number} << kEditionBits) + 1;
  if (former.issuer.number > issuer.number) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kIssuerEnded,
                 "issuer {} of this cluster has signed revocation lists already, so issuer {} may "
                 "sign no other one; put the files of the later issuer in place",
                 former.issuer.number, issuer.number);
  }
  if (number >> kEditionBits != issuer.number) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kIssuerEnded,
                 "issuer {} has no numbers of revocation lists left, so somebody else has its key; "
                 "make the next issuer with `ruvd cert issuer --end-former`",
                 issuer.number);
  }
  // What an issuer signed that was ended is void, and so are the certificates of those that it
  // names.
  const RevocationList none;
  const RevocationList& kept = former.issuer.number >= issuer.least ? former : none;
  RevocationList list{.issuer = issuer,
                      .number = number,
                      .issued_ms = std::max(now_ms, kept.issued_ms),
                      .nodes = {}};
  if (!issuer.IsValidAt(list.issued_ms)) {
    return NotInItsTime(issuer);
  }
  list.covers_from_ms =
      std::max(kept.covers_from_ms, list.issued_ms - limits::kCertificateClockSkewMillis);
  std::ranges::copy_if(
      kept.nodes, std::back_inserter(list.nodes),
      [&list](const RevokedNode& node) { return node.ends_ms > list.covers_from_ms; });
  const auto add = [&](const NodeId& id, uint32_t least_epoch) {
    if (kept.LeastEpoch(id) < least_epoch) {
      list.nodes.push_back({.id = id,
                            .ends_ms = list.issued_ms + limits::kRevocationLifeMillis,
                            .least_epoch = least_epoch});
    }
  };
  for (const NodeId& id : nodes) {
    add(id, kEveryEpoch);
  }
  for (const EndedKeys& ended : keys) {
    add(ended.id, ended.least_epoch);
  }
  // The entry of a node that revokes the most comes first, and is the one that stays.
  std::ranges::sort(list.nodes, [](const RevokedNode& a, const RevokedNode& b) {
    return a.id != b.id ? a.id < b.id : a.least_epoch > b.least_epoch;
  });
  const auto repeated = std::ranges::unique(list.nodes, {}, &RevokedNode::id);
  list.nodes.erase(repeated.begin(), repeated.end());
  if (list.nodes.size() > limits::kMaxRevokedNodes) {
    return TooMany(list.nodes.size());
  }
  list.signature = authority.Sign(AsBytes(EncodeFields(list)));
  return list;
}

absl::Status Revocations::Take(const RevocationList& list) {
  if (list == list_) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(list.Verify(root_));
  // An authority that lost its list begins again with an empty list 1 of a later date, and then
  // hears from its members what it had signed before.
  const bool founding = list_.edition() <= 1 && list_.nodes.empty();
  const bool ends_former = list.issuer.least > list_.issuer.number;
  const bool earlier =
      list.issued_ms < list_.issued_ms || list.covers_from_ms < list_.covers_from_ms;
  if (list.number <= list_.number || list.issuer.number < least_issuer_ ||
      (earlier && !founding && !ends_former)) {
    return Invalid("is not newer than the known one");
  }
  const bool complete = std::ranges::all_of(list_.nodes, [&list](const RevokedNode& node) {
    const RevokedNode* kept = Find(list, node.id);
    return kept != nullptr ? kept->ends_ms >= node.ends_ms && kept->least_epoch >= node.least_epoch
                           : node.ends_ms <= list.covers_from_ms;
  });
  if (!complete && !ends_former) {
    return Invalid("leaves out a node or key that was revoked");
  }
  list_ = list;
  Learn(list.issuer);
  return absl::OkStatus();
}

bool Revocations::Learn(const IssuerCert& issuer) {
  if (issuer.least <= least_issuer_) {
    return false;
  }
  least_issuer_ = issuer.least;
  return true;
}

absl::Status Revocations::Require(const AdmissionCert& certificate) const {
  if (list_.Revokes(certificate.node_id)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kNodeRevoked,
                 "node {} was revoked; it needs a new identity and a new certificate",
                 ToHex(certificate.node_id).substr(0, 16));
  }
  if (certificate.issuer.number < least_issuer_) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kIssuerEnded,
                 "the cluster's root ended issuer {}, which issued the certificate of {}; join "
                 "again with a token, which keeps the node's data",
                 certificate.issuer.number, certificate.name);
  }
  if (list_.IsUncovered(certificate)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateExpired,
                 "the certificate of {} had ended when the cluster's authority signed revocation "
                 "list {}; renew it, and check the clock of this node if it says otherwise",
                 certificate.name, list_.edition());
  }
  if (certificate.key_epoch < list_.LeastEpoch(certificate.node_id)) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kKeyEpochRefused,
        "key {} of {} was replaced by a later one; if this is your node, start it again with "
        "the later key, or, if `ruvd cert rotate` was cut off, run that again",
        certificate.key_epoch, certificate.name);
  }
  return absl::OkStatus();
}

absl::Status Revocations::RequireFresh(int64_t now_ms, int64_t max_stale_ms) const {
  if (max_stale_ms <= 0) {
    return absl::OkStatus();
  }
  if (list_.number == 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kRevocationStale,
                 "this node has no revocation list of its cluster, so only a member that brings "
                 "one can link to it; start the node with the authority's key, which signs one, or "
                 "set federation.max_stale_hours = 0");
  }
  if (now_ms - list_.issued_ms > max_stale_ms) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kRevocationStale,
                 "the newest revocation list is {} h old; start the node with the authority's key, "
                 "which signs the list again, or raise federation.max_stale_hours",
                 (now_ms - list_.issued_ms) / 3'600'000);
  }
  return absl::OkStatus();
}

std::string EncodeRevokedNodes(const RevokedNodes& nodes) {
  ByteWriter writer;
  writer.WriteText(kRevokedNodesMagic).Write(static_cast<uint32_t>(nodes.size()));
  for (const NodeId& node : nodes) {
    writer.WriteBytes(node);
  }
  return writer.Take();
}

absl::StatusOr<RevokedNodes> DecodeRevokedNodes(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kRevokedNodesMagic.size());
  const auto count = reader.Read<uint32_t>();
  RevokedNodes nodes;
  bool good = !reader.failed() && AsText(*magic) == kRevokedNodesMagic &&
              *count <= limits::kMaxRevokedEver &&
              reader.remaining() == uint64_t{*count} * sizeof(NodeId);
  for (uint32_t i = 0; good && i < *count; ++i) {
    const auto id = reader.ReadArray<32>();
    good = nodes.empty() || *nodes.rbegin() < *id;
    nodes.insert(nodes.end(), *id);
  }
  if (!good) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kRevocationInvalid,
                 "the authority's list of all revoked nodes does not decode; restore it from a "
                 "backup, because without it a revoked node could join again");
  }
  return nodes;
}

}  // namespace ruvd::privacy
