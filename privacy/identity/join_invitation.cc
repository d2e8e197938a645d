// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/join_invitation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

// JoinTokens makes tokens of "ruvd-join-" and 64 hexadecimal digits.
constexpr size_t kTokenChars = 10 + 64;
constexpr size_t kInvitationChars = kTokenChars + 1 + 2 * sizeof(ClusterId) + 8;

std::string WelcomeBytes(const PublicKey& root, const JoinWelcome::Nonce& nonce,
                         const Digest& certificate) {
  constexpr std::string_view kDomain("RUVDLLM-WELCOME-v1\0", 19);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(ClusterIdOf(root)).WriteBytes(nonce);
  return writer.WriteBytes(certificate).Take();
}

}  // namespace

std::string JoinInvitation::Encode() const {
  return token + "-" + ToHex(cluster) + fmt::format("{:08x}", issuer);
}

absl::StatusOr<JoinInvitation> JoinInvitation::Parse(std::string_view text) {
  const auto bytes = text.size() == kInvitationChars && text[kTokenChars] == '-'
                         ? FromHex(text.substr(kTokenChars + 1))
                         : std::nullopt;
  if (!bytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kTokenInvalid,
                 "the join token is incomplete; copy all {} characters that `ruvd token create` "
                 "printed, beginning with ruvd-join-",
                 kInvitationChars);
  }
  JoinInvitation invitation{.token = std::string(text.substr(0, kTokenChars))};
  std::copy_n(bytes->begin(), sizeof(ClusterId), invitation.cluster.begin());
  for (const char byte : bytes->substr(sizeof(ClusterId))) {
    invitation.issuer = invitation.issuer << 8 | static_cast<uint8_t>(byte);
  }
  return invitation;
}

JoinWelcome JoinWelcome::Sign(const ClusterAuthority& authority, const Nonce& nonce,
                              const Digest& certificate) {
  return {
      .issuer = authority.issuer(),
      .proof = authority.Sign(AsBytes(WelcomeBytes(authority.public_key(), nonce, certificate)))};
}

absl::Status JoinWelcome::Verify(const ClusterId& cluster, const Nonce& nonce,
                                 const Digest& certificate, int64_t now_ms) const {
  if (ClusterIdOf(issuer.root) != cluster) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kCertificateForeign,
        "the node that answers belongs to another cluster than the join token; check the address");
  }
  RETURN_IF_ERROR(issuer.Verify(issuer.root));
  if (!VerifySignature(issuer.key, AsBytes(WelcomeBytes(issuer.root, nonce, certificate)), proof)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "the node that answers is not the cluster's authority, or a machine in between "
                 "ends the TLS connection; the join token was not shown to it. Check the address, "
                 "and dial it directly");
  }
  if (!issuer.IsValidAt(now_ms)) {
    return Error(
        absl::StatusCode::kPermissionDenied, reasons::kIssuerEnded,
        "the time of the cluster's issuer {} is over or has not begun; ask the operator to "
        "make the next one with `ruvd cert issuer`, or check the clock",
        issuer.number);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::privacy
