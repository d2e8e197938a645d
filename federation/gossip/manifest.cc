// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/manifest.h"

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/merkle.h"
#include "federation/limits.h"
#include "federation/masked/messages.h"

namespace ruvd::federation {
namespace {

constexpr size_t kManifestBytes = privacy::AdmissionCert::kBytes + 1 + 8 + 3 * 32;

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "manifest {}; update the sending node", what);
}

uint64_t MaxPayloadBytesOf(ItemKind kind) {
  if (kind == ItemKind::kWithdrawal) {
    return limits::kMaxWithdrawalBytes;
  }
  return IsMaskItem(kind) ? MaxMaskPayloadBytes(kind) : limits::kMaxPayloadBytes;
}

}  // namespace

std::string_view ItemKindName(ItemKind kind) {
  switch (kind) {
    case ItemKind::kPattern:
      return "pattern";
    case ItemKind::kWithdrawal:
      return "withdrawal";
    case ItemKind::kMaskKey:
      return "mask_key";
    case ItemKind::kMaskSet:
      return "mask_set";
    case ItemKind::kMaskCommitment:
      return "mask_commitment";
    case ItemKind::kMaskShare:
      return "mask_share";
    case ItemKind::kContribution:
      return "contribution";
    case ItemKind::kCheckpoint:
      return "checkpoint";
    case ItemKind::kExpert:
      return "expert";
    case ItemKind::kVerdict:
      break;
  }
  return "verdict";
}

privacy::EnvelopePurpose PurposeOf(ItemKind kind) {
  switch (kind) {
    case ItemKind::kPattern:
    case ItemKind::kExpert:
      return privacy::EnvelopePurpose::kPattern;
    case ItemKind::kWithdrawal:
      return privacy::EnvelopePurpose::kRevocation;
    case ItemKind::kMaskKey:
    case ItemKind::kMaskSet:
    case ItemKind::kMaskCommitment:
    case ItemKind::kMaskShare:
      return privacy::EnvelopePurpose::kMasking;
    case ItemKind::kContribution:
    case ItemKind::kCheckpoint:
    case ItemKind::kVerdict:
      break;
  }
  return privacy::EnvelopePurpose::kLearning;
}

bool IsMaskItem(ItemKind kind) {
  return kind == ItemKind::kMaskKey || kind == ItemKind::kMaskSet ||
         kind == ItemKind::kMaskCommitment || kind == ItemKind::kMaskShare;
}

bool IsLearnerItem(ItemKind kind) {
  return kind == ItemKind::kContribution || kind == ItemKind::kCheckpoint ||
         kind == ItemKind::kVerdict;
}

std::string EncodeManifest(const Manifest& manifest) {
  ByteWriter writer;
  writer.WriteText(manifest.certificate.Encode()).Write(static_cast<uint8_t>(manifest.kind));
  writer.Write(manifest.payload_bytes).WriteBytes(manifest.payload_root);
  writer.WriteBytes(manifest.model_hash).WriteBytes(manifest.frame_id);
  return writer.Take();
}

absl::StatusOr<Manifest> DecodeManifest(std::span<const uint8_t> body) {
  if (body.size() != kManifestBytes) {
    return Malformed("has the wrong length");
  }
  Manifest manifest;
  ASSIGN_OR_RETURN(manifest.certificate,
                   privacy::AdmissionCert::Parse(body.first(privacy::AdmissionCert::kBytes)));
  ByteReader reader(body.subspan(privacy::AdmissionCert::kBytes));
  const uint8_t kind = *reader.Read<uint8_t>();
  if (kind < static_cast<uint8_t>(ItemKind::kPattern) ||
      kind > static_cast<uint8_t>(ItemKind::kMaskCommitment)) {
    return Malformed("is of an unknown kind");
  }
  manifest.kind = static_cast<ItemKind>(kind);
  manifest.payload_bytes = *reader.Read<uint64_t>();
  manifest.payload_root = *reader.ReadArray<32>();
  manifest.model_hash = *reader.ReadArray<32>();
  manifest.frame_id = *reader.ReadArray<32>();
  const uint64_t most = MaxPayloadBytesOf(manifest.kind);
  if (manifest.payload_bytes == 0 || manifest.payload_bytes > most) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "payload of {} bytes is empty or above the limit of {}; send a smaller update",
                 manifest.payload_bytes, most);
  }
  return manifest;
}

absl::StatusOr<Item> MakeItem(privacy::Envelope envelope, std::string payload) {
  ASSIGN_OR_RETURN(const privacy::EnvelopeHeader header,
                   privacy::ParseHeader(AsBytes(envelope.header)));
  ASSIGN_OR_RETURN(const Manifest manifest, DecodeManifest(AsBytes(envelope.body)));
  if (payload.size() != manifest.payload_bytes ||
      MerkleTree(payload).root() != manifest.payload_root) {
    return Error(absl::StatusCode::kDataLoss, reasons::kUpdateInvalid,
                 "stored payload does not match its manifest; it will be fetched again");
  }
  Item item;
  item.id = privacy::MessageId(envelope);
  item.kind = manifest.kind;
  item.origin = header.sender_id;
  item.round = header.round;
  item.created_ms = header.created_ms;
  item.expires_ms = header.expires_ms;
  item.envelope = std::make_shared<const privacy::Envelope>(std::move(envelope));
  item.payload = std::make_shared<const std::string>(std::move(payload));
  return item;
}

}  // namespace ruvd::federation
