// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/envelope/envelope.h"

#include <algorithm>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-ENV-v1\0", 15);
// Offset of the sender's id, which follows magic, purpose and cluster id
constexpr size_t kSenderOffset = 15 + 1 + 32;

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "envelope {}; update the sending node", what);
}

absl::Status Expired(std::string_view what, int64_t millis) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kEnvelopeExpired,
               "envelope {} {} ms; check the clocks of both nodes", what, millis);
}

absl::Status CheckSizes(const Envelope& envelope) {
  // The lengths are checked one by one, because a sum of three lengths could overflow.
  if (envelope.body.size() > limits::kMaxEnvelopeBytes - kEnvelopeHeaderBytes - sizeof(Signature)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "an envelope with a body of {} bytes exceeds the limit of {} bytes in total; move "
                 "content into the payload",
                 envelope.body.size(), limits::kMaxEnvelopeBytes);
  }
  if (envelope.header.size() != kEnvelopeHeaderBytes) {
    return Malformed("header is truncated or too long");
  }
  if (envelope.signature.size() != sizeof(Signature)) {
    return Malformed("signature is truncated or too long");
  }
  return absl::OkStatus();
}

absl::Status CheckSignature(const Envelope& envelope, const AdmissionCert& cert) {
  Signature signature;
  std::memcpy(signature.data(), envelope.signature.data(), signature.size());
  if (!VerifySignature(cert.node_key, AsBytes(envelope.header), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "the envelope is not signed by {}; it was forged or altered on its way",
                 cert.name);
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const EnvelopeHeader& header, const EnvelopeRules& rules) {
  if (header.created_ms < 0 || header.expires_ms <= header.created_ms ||
      header.expires_ms - header.created_ms > limits::kMaxEnvelopeLifeMillis) {
    return Malformed("has an impossible lifetime");
  }
  if (header.expires_ms <= rules.now_ms) {
    return Expired("expired, and is late by", rules.now_ms - header.expires_ms);
  }
  if (header.created_ms > rules.now_ms + limits::kMaxEnvelopeAheadMillis) {
    return Expired("is ahead of this node's clock by", header.created_ms - rules.now_ms);
  }
  if (rules.freshness == EnvelopeRules::Freshness::kPushed &&
      header.created_ms < rules.now_ms - limits::kMaxEnvelopeAgeMillis) {
    return Expired("is too old for a push, with an age of", rules.now_ms - header.created_ms);
  }
  return absl::OkStatus();
}

absl::Status CheckMeaning(const EnvelopeHeader& header, const Envelope& envelope,
                          const AdmissionCert& cert, const EnvelopeRules& rules) {
  if (header.body_length != envelope.body.size()) {
    return Malformed("body is truncated or too long");
  }
  if (header.body_hash != Sha256(envelope.body)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "the envelope's body is not the one that was signed; it was altered on its way");
  }
  if (header.cluster_id != rules.cluster_id) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kWrongCluster,
                 "the envelope belongs to another cluster; links must not cross clusters");
  }
  if (rules.purpose.has_value() && header.purpose != *rules.purpose) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kWrongPurpose,
        "the envelope has purpose {}, but purpose {} was expected; update the sending node",
        static_cast<int>(header.purpose), static_cast<int>(*rules.purpose));
  }
  if (header.key_epoch != cert.key_epoch) {
    return Malformed("names another key than the one that signed it");
  }
  return CheckTimes(header, rules);
}

}  // namespace

BootId BootIdOf(const NodeId& node, uint64_t boot_counter) {
  constexpr std::string_view kDomain("RUVDLLM-BOOT-v1\0", 16);
  const std::string counter = ByteWriter().Write(boot_counter).Take();
  const Digest digest = Sha256({AsBytes(kDomain), node, AsBytes(counter)});
  BootId boot{};
  std::memcpy(boot.data(), counter.data(), counter.size());
  std::copy_n(digest.begin(), 8, boot.begin() + 8);
  return boot;
}

uint64_t BootCounterOf(const BootId& boot) {
  uint64_t counter;
  std::memcpy(&counter, boot.data(), sizeof(counter));
  return counter;
}

Digest MessageId(const Envelope& envelope) {
  return Sha256({AsBytes(envelope.header), AsBytes(envelope.body)});
}

std::string EncodeHeader(const EnvelopeHeader& header) {
  ByteWriter writer;
  writer.WriteText(kMagic).Write(static_cast<uint8_t>(header.purpose));
  writer.WriteBytes(header.cluster_id).WriteBytes(header.sender_id).Write(header.key_epoch);
  writer.WriteBytes(header.boot_id).Write(header.seq).Write(header.round);
  writer.Write(header.created_ms).Write(header.expires_ms).WriteBytes(header.nonce);
  writer.Write(header.body_type).Write(header.body_length).WriteBytes(header.body_hash);
  return writer.Take();
}

absl::StatusOr<EnvelopeHeader> ParseHeader(std::span<const uint8_t> bytes) {
  if (bytes.size() != kEnvelopeHeaderBytes) {
    return Malformed("header is truncated or too long");
  }
  ByteReader reader(bytes);
  if (AsText(*reader.ReadBytes(kMagic.size())) != kMagic) {
    return Malformed("is of an unknown version");
  }
  EnvelopeHeader header;
  const uint8_t purpose = *reader.Read<uint8_t>();
  if (purpose < 1 || purpose > static_cast<uint8_t>(EnvelopePurpose::kMasking)) {
    return Malformed("has an unknown purpose");
  }
  header.purpose = static_cast<EnvelopePurpose>(purpose);
  header.cluster_id = *reader.ReadArray<32>();
  header.sender_id = *reader.ReadArray<32>();
  header.key_epoch = *reader.Read<uint32_t>();
  header.boot_id = *reader.ReadArray<16>();
  header.seq = *reader.Read<uint64_t>();
  header.round = *reader.Read<uint64_t>();
  header.created_ms = *reader.Read<int64_t>();
  header.expires_ms = *reader.Read<int64_t>();
  header.nonce = *reader.ReadArray<16>();
  header.body_type = *reader.Read<uint16_t>();
  header.body_length = *reader.Read<uint32_t>();
  header.body_hash = *reader.ReadArray<32>();
  if (AsText(bytes) != EncodeHeader(header)) {
    return Malformed("header is not canonically encoded");
  }
  return header;
}

absl::StatusOr<Envelope> SealEnvelope(EnvelopeHeader fields, std::string body, const NodeKey& key) {
  fields.sender_id = key.id();
  fields.key_epoch = key.epoch();
  fields.body_length = static_cast<uint32_t>(body.size());
  fields.body_hash = Sha256(body);
  Envelope envelope;
  envelope.header = EncodeHeader(fields);
  envelope.body = std::move(body);
  envelope.signature = AsText(key.Sign(AsBytes(envelope.header)));
  RETURN_IF_ERROR(CheckSizes(envelope));
  return envelope;
}

absl::StatusOr<EnvelopeHeader> VerifyEnvelope(const Envelope& envelope,
                                              const EnvelopeRules& rules) {
  RETURN_IF_ERROR(CheckSizes(envelope));
  NodeId sender;
  std::memcpy(sender.data(), envelope.header.data() + kSenderOffset, sender.size());
  const AdmissionCert* cert = rules.certificate_of(sender);
  if (cert == nullptr || cert->node_id != sender) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kUnknownSender,
                 "there is no valid certificate for node {}, which sent an envelope; it must join "
                 "the cluster first",
                 ToHex(sender));
  }
  RETURN_IF_ERROR(CheckSignature(envelope, *cert));
  ASSIGN_OR_RETURN(EnvelopeHeader header, ParseHeader(AsBytes(envelope.header)));
  RETURN_IF_ERROR(CheckMeaning(header, envelope, *cert, rules));
  return header;
}

}  // namespace ruvd::privacy
