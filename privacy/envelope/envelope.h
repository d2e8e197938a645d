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

// What a signed message is about. It is part of the signed bytes, so that a message cannot be taken
// for one of another kind.
enum class EnvelopePurpose : uint8_t {
  kMember = 1,
  kLearning = 2,  // contributions to rounds, and checkpoints of their states
  kPattern = 3,
  kRevocation = 4,
  kEvidence = 5,
  kAdmission = 6,
  kMasking = 7,
};

// Names one boot of a sender: the boot counter (u64, little endian), then 8 bytes that tie it to
// the sender.
using BootId = std::array<uint8_t, 16>;

// Returns the boot's id. The caller must have stored `boot_counter` with fsync before the first
// send of the boot, so that no sequence number is ever used twice.
BootId BootIdOf(const NodeId& node, uint64_t boot_counter);
uint64_t BootCounterOf(const BootId& boot);

// The signed part of an envelope. Its encoding has kEnvelopeHeaderBytes bytes, which
// docs/wire-format.md lists.
struct EnvelopeHeader {
  EnvelopePurpose purpose = EnvelopePurpose::kMember;
  ClusterId cluster_id{};
  NodeId sender_id{};
  uint32_t key_epoch = 0;  // of the key that signed
  BootId boot_id{};
  uint64_t seq = 0;  // starts at 1 in every boot
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

// An envelope as it travels and as it is stored. It keeps the bytes that were signed and is never
// encoded again.
struct Envelope {
  std::string header;
  std::string body;
  std::string signature;

  bool operator==(const Envelope&) const = default;
};

// Returns the name of a message: SHA-256(header || body). The signature is left out, so that a
// second valid signature does not make a second message.
Digest MessageId(const Envelope& envelope);

std::string EncodeHeader(const EnvelopeHeader& header);
// Decodes a header. Fails with ENVELOPE_MALFORMED unless the bytes are exactly one encoded header
// with a known purpose.
absl::StatusOr<EnvelopeHeader> ParseHeader(std::span<const uint8_t> bytes);

// Fills in the sender, its key epoch, body length and body hash of `fields` and signs the envelope.
// Fails with LIMIT_EXCEEDED if the envelope would be larger than kMaxEnvelopeBytes.
absl::StatusOr<Envelope> SealEnvelope(EnvelopeHeader fields, std::string body, const NodeKey& key);

// What the verifier of an envelope knows and expects.
struct EnvelopeRules {
  // Whether the creation time must be near the verifier's time. Only expires_ms bounds stored
  // items, which travel by anti-entropy: otherwise they would expire after ten minutes.
  enum class Freshness { kPushed, kStored };

  ClusterId cluster_id{};
  std::optional<EnvelopePurpose> purpose;  // nullopt accepts any known purpose
  int64_t now_ms = 0;
  Freshness freshness = Freshness::kPushed;
  // Returns the verified, unexpired certificate of a sender, or nullptr. It is called at most once,
  // and the pointer is not kept.
  std::function<const AdmissionCert*(const NodeId&)> certificate_of;
};

// Checks everything except replay, in this order: sizes (LIMIT_EXCEEDED, ENVELOPE_MALFORMED),
// sender (UNKNOWN_SENDER), signature over the received header bytes (SIGNATURE_INVALID), header
// (ENVELOPE_MALFORMED), body hash (SIGNATURE_INVALID), cluster, purpose, time (WRONG_CLUSTER,
// WRONG_PURPOSE, ENVELOPE_EXPIRED). The function is pure and thread-safe.
absl::StatusOr<EnvelopeHeader> VerifyEnvelope(const Envelope& envelope, const EnvelopeRules& rules);

}  // namespace ruvd::privacy
