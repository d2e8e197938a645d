// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/envelope/envelope.h"
#include "privacy/limits.h"

namespace ruvd::privacy {

// Two different headers that one node signed with one key under the same number. They prove to
// anyone that the node told different things to different peers. The bodies are not needed, because
// the headers contain their hashes. It is a plain value; docs/wire-format.md has the bytes.
struct Equivocation {
  static constexpr size_t kBytes = 2 + 2 * (kEnvelopeHeaderBytes + sizeof(Signature));

  std::string first_header;  // the smaller of the two in byte order
  std::string first_signature;
  std::string second_header;
  std::string second_signature;

  std::string Encode() const;
  // Decodes evidence. Fails with EVIDENCE_INVALID unless the bytes are exactly two different
  // headers of one (sender, key epoch, boot, seq) in ascending order.
  static absl::StatusOr<Equivocation> Parse(std::span<const uint8_t> bytes);
  // Returns SIGNATURE_INVALID unless `key`, which the caller knows to be the sender's, signed both
  // headers.
  absl::Status Verify(const PublicKey& key) const;
  // Returns the node that signed both headers. Valid only for evidence that Parse or the detector
  // made.
  NodeId sender() const;
  bool operator==(const Equivocation&) const = default;
};

// Remembers the newest messages and detects a second, different message under the number of an
// earlier one. It is bounded and forgets the oldest messages. Call it only with verified envelopes.
// Not thread-safe.
class EquivocationDetector {
 public:
  explicit EquivocationDetector(size_t max_entries = limits::kMaxEquivocationEntries)
      : max_entries_(max_entries) {}

  // Remembers a message. Returns evidence if a different message of this sender, boot and number is
  // remembered.
  std::optional<Equivocation> Record(const EnvelopeHeader& header, const Envelope& envelope);
  // Returns whether a message of this sender, boot and number is remembered.
  bool Knows(const EnvelopeHeader& header) const { return seen_.contains(NumberOf(header)); }
  size_t size() const { return seen_.size(); }

 private:
  using Number = std::tuple<NodeId, uint32_t, BootId, uint64_t>;
  static Number NumberOf(const EnvelopeHeader& header) {
    return {header.sender_id, header.key_epoch, header.boot_id, header.seq};
  }
  struct Signed {
    std::string header;
    std::string signature;
  };
  size_t max_entries_;
  std::map<Number, Signed> seen_;
  std::deque<Number> oldest_first_;
};

}  // namespace ruvd::privacy
