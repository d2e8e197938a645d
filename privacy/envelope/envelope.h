// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::privacy {

// What a signed message is about. In the signed bytes, so that no message passes for another kind.
enum class EnvelopePurpose : uint8_t {
  kMember = 1,
  kAdapterDelta = 2,
  kPattern = 3,
  kRevocation = 4,
  kEvidence = 5,
  kAdmission = 6,
  kMasking = 7,
};

// The boot of a sender: u64 boot counter (little endian), then 8 bytes that tie it to the sender.
using BootId = std::array<uint8_t, 16>;

// `boot_counter` is persisted with fsync before the first send of a boot, so that a sequence number
// is never used twice.
BootId BootIdOf(const NodeId& node, uint64_t boot_counter);
uint64_t BootCounterOf(const BootId& boot);

// The signed part of an envelope, kHeaderBytes in its encoding (reliability-gossip section 2.5).
struct EnvelopeHeader {
  EnvelopePurpose purpose = EnvelopePurpose::kMember;
  ClusterId cluster_id{};
  NodeId sender_id{};
  uint32_t key_epoch = 0;  // 0: the first key of the sender; other epochs are refused in version 1
  BootId boot_id{};
  uint64_t seq = 0;  // from 1 in every boot
  uint64_t round = 0;
  int64_t created_ms = 0;  // Unix time
  int64_t expires_ms = 0;  // exclusive
  std::array<uint8_t, 16> nonce{};
  uint16_t body_type = 0;
  uint32_t body_length = 0;
  Digest body_hash{};

  bool operator==(const EnvelopeHeader&) const = default;
};

inline constexpr size_t kEnvelopeHeaderBytes = 186;

// An envelope as it travels and as it is stored: the bytes that were signed, never re-encoded.
struct Envelope {
  std::string header;
  std::string body;
  std::string signature;

  bool operator==(const Envelope&) const = default;
};

// Names a message: SHA-256(header || body). Without the signature, so that a second valid signature
// is not a second message.
Digest MessageId(const Envelope& envelope);

std::string EncodeHeader(const EnvelopeHeader& header);
// ENVELOPE_MALFORMED unless the bytes are exactly one encoded header with a known purpose.
absl::StatusOr<EnvelopeHeader> ParseHeader(std::span<const uint8_t> bytes);

// Completes `fields` (sender, body length, body hash) and signs. LIMIT_EXCEEDED for a body that
// makes the envelope larger than kMaxEnvelopeBytes.
absl::StatusOr<Envelope> SealEnvelope(EnvelopeHeader fields, std::string body, const NodeKey& key);

// What a verifier knows and expects.
struct EnvelopeRules {
  // Whether the creation time must be near ours. Stored items that travel by anti-entropy are
  // bounded by expires_ms alone: else they would die after ten minutes.
  enum class Freshness { kPushed, kStored };

  ClusterId cluster_id{};
  std::optional<EnvelopePurpose> purpose;  // nullopt: any known
  int64_t now_ms = 0;
  Freshness freshness = Freshness::kPushed;
  // The verified, unexpired certificate of a sender, or nullptr. Called at most once, not kept.
  std::function<const AdmissionCert*(const NodeId&)> certificate_of;
};

// Checks everything but replay, in this order: sizes (LIMIT_EXCEEDED, ENVELOPE_MALFORMED), sender
// (UNKNOWN_SENDER), signature over the received header bytes (SIGNATURE_INVALID), header
// (ENVELOPE_MALFORMED), body hash (SIGNATURE_INVALID), cluster, purpose, time (WRONG_CLUSTER,
// WRONG_PURPOSE, ENVELOPE_EXPIRED). Pure; thread-safe.
absl::StatusOr<EnvelopeHeader> VerifyEnvelope(const Envelope& envelope, const EnvelopeRules& rules);

}  // namespace ruvd::privacy
