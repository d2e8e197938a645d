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

// "Drop what I sent, and leave it out of what you merge from now on." Signed by the node that sent
// it. Deletion on other nodes cannot be enforced: those that keep to it drop the items, refuse them
// when they come again and build anew without them, and the privacy that was spent bounds what
// remains with the others. A plain value; docs/wire-format.md has the bytes.
struct Withdrawal {
  using PatternName = std::array<uint8_t, 16>;

  NodeId node{};
  int64_t withdrawn_ms = 0;   // Unix time
  bool everything = false;    // all that the node sent until then; then the lists are empty
  std::vector<Digest> items;  // message ids, ascending, at most kMaxWithdrawnItems
  // Patterns of the node, ascending, as many: whatever versions of them were made until then.
  std::vector<PatternName> patterns;
  Signature signature{};

  // Sorts the items and signs. INVALID_ARGUMENT for neither everything nor anything named,
  // LIMIT_EXCEEDED.
  static absl::StatusOr<Withdrawal> Sign(std::vector<Digest> items, bool everything, int64_t now_ms,
                                         const NodeKey& key,
                                         std::vector<PatternName> patterns = {});
  std::string Encode() const;
  // WITHDRAWAL_INVALID unless the bytes are exactly one encoded record.
  static absl::StatusOr<Withdrawal> Parse(std::span<const uint8_t> bytes);
  // SIGNATURE_INVALID unless `key`, which the caller knows to be the node's, signed it.
  absl::Status Verify(const PublicKey& key) const;
  // Whether an item that `origin` created at `created_ms` is withdrawn.
  bool Covers(const Digest& item, const NodeId& origin, int64_t created_ms) const;
  // Whether the version of a pattern is withdrawn that `origin` made at `created_ms`.
  bool CoversPattern(const PatternName& pattern, const NodeId& origin, int64_t created_ms) const;
  // Whether it says all that `other` says.
  bool Includes(const Withdrawal& other) const;
  bool operator==(const Withdrawal&) const = default;
};

// What a withdrawal cannot take back.
struct ResidualPrivacy {
  uint64_t releases = 0;  // noised, that left or may have left
  double epsilon = 0;     // spent on them so far
  double delta = 0;
  bool plain = false;  // plain items left or may have left, too: no epsilon bounds those
  bool sums = false;   // shares of masked sums may have left, which cannot be taken out of these
};

// One sentence for whoever withdrew, with the figures.
std::string ResidualStatement(const ResidualPrivacy& residual);

}  // namespace ruvd::privacy
