// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/key_rotation.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-ROTATE-v1\0", 18);

std::string EncodeFields(const KeyRotation& rotation) {
  ByteWriter writer;
  writer.WriteText(kMagic).WriteBytes(rotation.node).Write(rotation.epoch);
  writer.WriteBytes(rotation.former).WriteBytes(rotation.next).Write(rotation.rotated_ms);
  return writer.Take();
}

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
               "a key rotation {}; the node must rotate from the key that it has", what);
}

absl::Status TooMany() {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "a node's key can be replaced {} times; join with an empty data folder, which gives "
               "the node a new id",
               limits::kMaxKeyRotations);
}

}  // namespace

KeyRotation KeyRotation::Sign(const NodeId& node, uint32_t epoch, int64_t now_ms,
                              const SigningKey& former, const SigningKey& next) {
  KeyRotation rotation{.node = node,
                       .epoch = epoch,
                       .former = former.public_key(),
                       .next = next.public_key(),
                       .rotated_ms = now_ms};
  const std::string fields = EncodeFields(rotation);
  rotation.former_signature = former.Sign(AsBytes(fields));
  rotation.next_signature = next.Sign(AsBytes(fields));
  return rotation;
}

std::string KeyRotation::Encode() const {
  return EncodeFields(*this).append(AsText(former_signature)).append(AsText(next_signature));
}

absl::StatusOr<KeyRotation> KeyRotation::Parse(std::span<const uint8_t> bytes) {
  if (bytes.size() != kBytes || AsText(bytes.first(kMagic.size())) != kMagic) {
    return Invalid("does not decode");
  }
  ByteReader reader(bytes.subspan(kMagic.size()));
  KeyRotation rotation;
  rotation.node = *reader.ReadArray<32>();
  rotation.epoch = *reader.Read<uint32_t>();
  rotation.former = *reader.ReadArray<32>();
  rotation.next = *reader.ReadArray<32>();
  rotation.rotated_ms = *reader.Read<int64_t>();
  rotation.former_signature = *reader.ReadArray<64>();
  rotation.next_signature = *reader.ReadArray<64>();
  if (rotation.epoch == 0 || rotation.rotated_ms < 0 || rotation.former == rotation.next) {
    return Invalid("does not lead from one key to another");
  }
  RETURN_IF_ERROR(CheckPublicKey(rotation.former));
  RETURN_IF_ERROR(CheckPublicKey(rotation.next));
  return rotation;
}

NodeId NodeIdOf(const PublicKey& first_key) {
  constexpr std::string_view kDomain("RUVDLLM-NODE-v1\0", 16);
  return Sha256({AsBytes(kDomain), first_key});
}

absl::Status KeyRotation::Verify() const {
  const std::string fields = EncodeFields(*this);
  if (!VerifySignature(former, AsBytes(fields), former_signature) ||
      !VerifySignature(next, AsBytes(fields), next_signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a key rotation is not signed by both keys; the former key stays");
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeKeys> NodeKeys::Begin(const PublicKey& first) {
  RETURN_IF_ERROR(CheckPublicKey(first));
  NodeKeys keys;
  keys.node_ = NodeIdOf(first);
  keys.keys_ = {first};
  return keys;
}

absl::StatusOr<NodeKeys> NodeKeys::Through(std::span<const uint8_t> rotations,
                                           const PublicKey& present) {
  const size_t count = rotations.size() / KeyRotation::kBytes;
  if (count > limits::kMaxKeyRotations) {
    return TooMany();
  }
  if (rotations.size() % KeyRotation::kBytes != 0) {
    return Invalid("is cut off");
  }
  std::optional<NodeKeys> keys;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(
        const KeyRotation rotation,
        KeyRotation::Parse(rotations.subspan(i * KeyRotation::kBytes, KeyRotation::kBytes)));
    if (!keys) {
      ASSIGN_OR_RETURN(keys, Begin(rotation.former));
    }
    RETURN_IF_ERROR(keys->Rotate(rotation));
  }
  if (!keys) {
    return Begin(present);
  }
  return keys->present() == present ? absl::StatusOr<NodeKeys>(*std::move(keys))
                                    : Invalid("leads to another key than the one in use");
}

absl::Status NodeKeys::Rotate(const KeyRotation& rotation) {
  if (!rotations_.empty() && rotations_.back() == rotation) {
    return absl::OkStatus();
  }
  if (rotation.node != node_ || rotation.former != present() || rotation.epoch != epoch() + 1 ||
      std::ranges::find(keys_, rotation.next) != keys_.end()) {
    return Invalid("does not follow the present key");
  }
  if (rotations_.size() >= limits::kMaxKeyRotations) {
    return TooMany();
  }
  RETURN_IF_ERROR(CheckPublicKey(rotation.next));
  RETURN_IF_ERROR(rotation.Verify());
  keys_.push_back(rotation.next);
  rotations_.push_back(rotation);
  return absl::OkStatus();
}

std::string NodeKeys::EncodeRotations() const {
  std::string bytes;
  for (const KeyRotation& rotation : rotations_) {
    bytes += rotation.Encode();
  }
  return bytes;
}

std::optional<uint32_t> NodeKeys::SignerOf(std::span<const uint8_t> message,
                                           const Signature& signature, uint32_t least) const {
  for (size_t epoch = least; epoch < keys_.size(); ++epoch) {
    if (VerifySignature(keys_[epoch], message, signature)) {
      return static_cast<uint32_t>(epoch);
    }
  }
  return std::nullopt;
}

}  // namespace ruvd::privacy
