// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/node_key.h"

#include <filesystem>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy {

NodeKey::NodeKey(SigningKey key)
    : key_(std::move(key)), keys_(NodeKeys::Begin(key_.public_key()).value()) {}

absl::StatusOr<NodeKey> NodeKey::Create(SigningKey key, NodeKeys keys) {
  if (keys.present() != key.public_key()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "the node's key is not the one that its rotations lead to; restore both files "
                 "from one backup");
  }
  return NodeKey(std::move(key), std::move(keys));
}

std::string NodeKey::RotationsPathOf(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".rotations");
}

absl::StatusOr<NodeKey> NodeKey::LoadOrCreate(const std::string& path) {
  ASSIGN_OR_RETURN(SigningKey key, SigningKey::LoadOrCreate(path, KeyUse::kNode));
  const std::string beside = RotationsPathOf(path);
  const absl::StatusOr<std::string> rotations =
      ReadFile(beside, limits::kMaxKeyRotations * KeyRotation::kBytes);
  if (absl::IsNotFound(rotations.status())) {
    return NodeKey(std::move(key));
  }
  RETURN_IF_ERROR(rotations.status());
  absl::StatusOr<NodeKeys> keys = NodeKeys::Through(AsBytes(*rotations), key.public_key());
  if (!keys.ok()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
        "{} does not belong to {} ({}); if a replacement of the key was cut off, run `ruvd "
        "cert rotate` again, else restore both from one backup",
        beside, path, MessageOf(keys.status()));
  }
  return NodeKey(std::move(key), *std::move(keys));
}

}  // namespace ruvd::privacy
