// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Rotations, revocation lists, join tokens and evidence from outside: what decodes encodes to the
// same bytes, and nothing that the fuzzer made counts as signed.

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "privacy/envelope/equivocation.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/join_token.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/revocation_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  static const privacy::NodeKey key = privacy::NodeKey::FromSeed(privacy::KeySeed{1});
  static const privacy::ClusterAuthority authority =
      privacy::ClusterAuthority::FromSeed(privacy::KeySeed{2});
  if (const auto rotation = privacy::KeyRotation::Parse(bytes); rotation.ok()) {
    RUVD_CHECK(rotation->Encode() == AsText(bytes));
    privacy::NodeKeys keys = privacy::NodeKeys::Begin(key.public_key()).value();
    RUVD_CHECK(!keys.Rotate(*rotation).ok());
  }
  if (const auto list = privacy::RevocationList::Parse(bytes); list.ok()) {
    RUVD_CHECK(list->Encode() == AsText(bytes) && !list->Verify(authority.public_key()).ok());
  }
  if (const auto grants = privacy::DecodeGrants(bytes); grants.ok()) {
    RUVD_CHECK(privacy::EncodeGrants(*grants) == AsText(bytes));
  }
  if (const auto evidence = privacy::Equivocation::Parse(bytes); evidence.ok()) {
    RUVD_CHECK(evidence->Encode() == AsText(bytes) && !evidence->Verify(key.public_key()).ok());
  }
  if (const auto invitation = privacy::JoinInvitation::Parse(AsText(bytes)); invitation.ok()) {
    // The text may differ: hexadecimal digits may be capitals.
    RUVD_CHECK(privacy::JoinInvitation::Parse(invitation->Encode()).value() == *invitation);
  }
  privacy::JoinTokens tokens(authority, {}, [](std::string_view) { return absl::OkStatus(); });
  privacy::JoinRequest request{.token = std::string(AsText(bytes)), .node_key = key.public_key()};
  RUVD_CHECK(!tokens.Redeem(request, 0, 1).ok());
  return 0;
}
