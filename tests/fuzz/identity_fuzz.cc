// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Rotations, revocation lists, join tokens and evidence from outside: what decodes encodes to the
// same bytes, and nothing that the fuzzer made counts as signed.

#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/status.h"
#include "privacy/envelope/equivocation.h"
#include "privacy/identity/granted_keys.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/join_token.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/link_credential.h"
#include "privacy/identity/revocation_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  // Not the keys of the kept inputs, which are signed.
  static const ruvd::privacy::NodeKey key =
      ruvd::privacy::NodeKey::FromSeed(ruvd::privacy::KeySeed{0xF1});
  static const ruvd::privacy::ClusterAuthority authority =
      ruvd::privacy::ClusterAuthority::FromSeed(ruvd::privacy::KeySeed{0xF2});
  if (const auto rotation = ruvd::privacy::KeyRotation::Parse(bytes); rotation.ok()) {
    RUVD_CHECK(rotation->Encode() == AsText(bytes));
    ruvd::privacy::NodeKeys keys = ruvd::privacy::NodeKeys::Begin(key.public_key()).value();
    RUVD_CHECK(!keys.Rotate(*rotation).ok());
  }
  if (const auto keys = ruvd::privacy::NodeKeys::Through(bytes, key.public_key()); keys.ok()) {
    RUVD_CHECK(keys->epoch() == 0);
  }
  if (const auto keys = ruvd::privacy::DecodeGrantedKeys(bytes); keys.ok()) {
    RUVD_CHECK(ruvd::privacy::EncodeGrantedKeys(*keys) == AsText(bytes));
  }
  if (const auto list = ruvd::privacy::RevocationList::Parse(bytes); list.ok()) {
    RUVD_CHECK(list->Encode() == AsText(bytes) && !list->Verify(authority.public_key()).ok());
  }
  if (const auto nodes = ruvd::privacy::DecodeRevokedNodes(bytes); nodes.ok()) {
    RUVD_CHECK(ruvd::privacy::EncodeRevokedNodes(*nodes) == AsText(bytes));
  }
  if (const auto grants = ruvd::privacy::DecodeGrants(bytes); grants.ok()) {
    RUVD_CHECK(ruvd::privacy::EncodeGrants(*grants) == AsText(bytes));
  }
  if (const auto evidence = ruvd::privacy::Equivocation::Parse(bytes); evidence.ok()) {
    RUVD_CHECK(evidence->Encode() == AsText(bytes) && !evidence->Verify(key.public_key()).ok());
  }
  if (const auto invitation = ruvd::privacy::JoinInvitation::Parse(AsText(bytes));
      invitation.ok()) {
    // The text may differ: hexadecimal digits may be capitals.
    RUVD_CHECK(ruvd::privacy::JoinInvitation::Parse(invitation->Encode()).value() == *invitation);
  }
  if (const auto credential = ruvd::privacy::ParseLinkCredential(bytes); credential.ok()) {
    RUVD_CHECK(ruvd::privacy::EncodeLinkCredential(*credential) == AsText(bytes));
    const auto* member = std::get_if<ruvd::privacy::MemberCredential>(&*credential);
    RUVD_CHECK(member == nullptr || !member->Verify(authority.cluster_id(), {}, 0).ok());
  }
  ruvd::privacy::JoinTokens tokens(authority, {},
                                   [](std::string_view) { return absl::OkStatus(); });
  ruvd::privacy::JoinRequest request{.token = std::string(AsText(bytes)),
                                     .node_key = key.public_key()};
  RUVD_CHECK(!tokens.Redeem(request, 0, 1).ok());
  return 0;
}
