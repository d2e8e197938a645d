// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/key_rotation.h"

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

absl::StatusOr<NodeKeys> NodeKeys::Begin(const PublicKey& first) {
  RETURN_IF_ERROR(CheckPublicKey(first));
  NodeKeys keys;
  keys.node_ = NodeIdOf(first);
  keys.present_ = first;
  return keys;
}

absl::Status NodeKeys::Rotate(const KeyRotation& rotation) {
  if (last_ && *last_ == rotation) {
    return absl::OkStatus();
  }
  if (rotation.node != node_ || rotation.former != present_ || rotation.epoch != epoch_ + 1 ||
      rotation.former == rotation.next || (last_ && rotation.rotated_ms < last_->rotated_ms)) {
    return Invalid("does not follow the present key");
  }
  RETURN_IF_ERROR(CheckPublicKey(rotation.next));
  const std::string fields = EncodeFields(rotation);
  if (!VerifySignature(rotation.former, AsBytes(fields), rotation.former_signature) ||
      !VerifySignature(rotation.next, AsBytes(fields), rotation.next_signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a key rotation is not signed by both keys; the former key stays");
  }
  epoch_ = rotation.epoch;
  present_ = rotation.next;
  last_ = rotation;
  return absl::OkStatus();
}

absl::StatusOr<PublicKey> NodeKeys::KeyOf(uint32_t epoch, int64_t now_ms) const {
  if (epoch == epoch_) {
    return present_;
  }
  if (last_ && epoch + 1 == epoch_ && now_ms < last_->rotated_ms + limits::kKeyOverlapMillis) {
    return last_->former;
  }
  return Error(
      absl::StatusCode::kPermissionDenied, reasons::kKeyEpochRefused,
      "key epoch {} is not accepted, because key epoch {} is in force; sign with the present key",
      epoch, epoch_);
}

}  // namespace ruvd::privacy
