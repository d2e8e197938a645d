// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/node_key.h"

namespace ruvd::privacy {

// A node's request to its peers to drop items that it sent and to leave them out of later merges.
// The node signs it. Deletion on other nodes cannot be enforced: nodes that honour the request drop
// the items, refuse them when they come again and rebuild without them. The privacy that was spent
// bounds what the other nodes can learn. It is a plain value; docs/wire-format.md has the bytes.
struct Withdrawal {
  using PatternName = std::array<uint8_t, 16>;

  NodeId node{};
  int64_t withdrawn_ms = 0;   // Unix time
  bool everything = false;    // everything that the node sent before; then both lists are empty
  std::vector<Digest> items;  // message ids, ascending, at most kMaxWithdrawnItems
  // Patterns of the node, ascending, at most kMaxWithdrawnItems: all versions of them that were
  // made until `withdrawn_ms`
  std::vector<PatternName> patterns;
  Signature signature{};

  // Sorts the items and signs the record. Fails with INVALID_ARGUMENT unless it names either
  // everything or at least one item or pattern, and with LIMIT_EXCEEDED.
  static absl::StatusOr<Withdrawal> Sign(std::vector<Digest> items, bool everything, int64_t now_ms,
                                         const NodeKey& key,
                                         std::vector<PatternName> patterns = {});
  std::string Encode() const;
  // Decodes a record. Fails with WITHDRAWAL_INVALID unless the bytes are exactly one encoded
  // record.
  static absl::StatusOr<Withdrawal> Parse(std::span<const uint8_t> bytes);
  // Returns SIGNATURE_INVALID unless `key`, which the caller knows to be the node's, signed the
  // record.
  absl::Status Verify(const PublicKey& key) const;
  // Signs the record of this node again, if a former key of it signed it. Returns SIGNATURE_INVALID
  // if another node did.
  absl::Status Resign(const NodeKey& key);
  // Returns whether an item that `origin` created at `created_ms` is withdrawn.
  bool Covers(const Digest& item, const NodeId& origin, int64_t created_ms) const;
  // Returns whether the version of a pattern that `origin` made at `created_ms` is withdrawn.
  bool CoversPattern(const PatternName& pattern, const NodeId& origin, int64_t created_ms) const;
  // Returns whether this record makes `other` redundant: it is of the same node, not earlier, lists
  // all that `other` lists, and either both or neither withdraw everything.
  bool Includes(const Withdrawal& other) const;
  bool operator==(const Withdrawal&) const = default;
};

// What a withdrawal cannot take back.
struct ResidualPrivacy {
  uint64_t releases = 0;  // noised releases that left or may have left
  double epsilon = 0;     // spent on them so far
  double delta = 0;
  bool plain = false;  // plain items also left or may have left; no epsilon bounds them
  bool sums = false;   // shares of masked sums may have left; they cannot be removed from the sums
};

// Returns a few sentences for the person who withdrew, with the figures.
std::string ResidualStatement(const ResidualPrivacy& residual);

}  // namespace ruvd::privacy
