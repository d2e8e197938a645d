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

// Two headers that one node signed under one number: whoever has them can show anybody that the
// node told different things to different peers. The bodies are not needed, their hashes are in
// the headers. A plain value; docs/wire-format.md has the bytes.
struct Equivocation {
  static constexpr size_t kBytes = 2 + 2 * (kEnvelopeHeaderBytes + sizeof(Signature));

  std::string first_header;  // the lesser of the two
  std::string first_signature;
  std::string second_header;
  std::string second_signature;

  std::string Encode() const;
  // EVIDENCE_INVALID unless the bytes are exactly two headers of one (sender, boot, seq) that
  // differ, in their order.
  static absl::StatusOr<Equivocation> Parse(std::span<const uint8_t> bytes);
  // SIGNATURE_INVALID unless `key`, which the caller knows to be the sender's, signed both.
  absl::Status Verify(const PublicKey& key) const;
  // Of whom it is evidence. Of one that Parse or the detector made.
  NodeId sender() const;
  bool operator==(const Equivocation&) const = default;
};

// Remembers the newest messages and finds a second one under the number of a first. Bounded: the
// oldest are forgotten. Call only with verified envelopes. Not thread-safe.
class EquivocationDetector {
 public:
  explicit EquivocationDetector(size_t max_entries = limits::kMaxEquivocationEntries)
      : max_entries_(max_entries) {}

  // Evidence where another message of this sender, boot and number was noted.
  std::optional<Equivocation> Note(const EnvelopeHeader& header, const Envelope& envelope);
  // Whether a message of this sender, boot and number was noted and is not forgotten.
  bool Knows(const EnvelopeHeader& header) const {
    return seen_.contains(Number(header.sender_id, header.boot_id, header.seq));
  }
  size_t size() const { return seen_.size(); }

 private:
  using Number = std::tuple<NodeId, BootId, uint64_t>;
  struct Signed {
    std::string header;
    std::string signature;
  };
  size_t max_entries_;
  std::map<Number, Signed> seen_;
  std::deque<Number> oldest_first_;
};

}  // namespace ruvd::privacy
