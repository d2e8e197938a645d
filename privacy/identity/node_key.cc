// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/node_key.h"

#include "base/status.h"

namespace ruvd::privacy {

NodeId NodeIdOf(const PublicKey& key) {
  constexpr std::string_view kDomain("RUVDLLM-NODE-v1\0", 16);
  return Sha256({AsBytes(kDomain), key});
}

absl::StatusOr<NodeKey> NodeKey::LoadOrCreate(const std::string& path) {
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::LoadOrCreate(path, KeyUse::kNode));
  return NodeKey(std::move(key));
}

}  // namespace ruvd::privacy
