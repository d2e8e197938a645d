// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/events/item.h"
#include "federation/masked/messages.h"
#include "privacy/limits.h"
#include "privacy/masking/clique.h"

namespace ruvd::federation {

// The statements of one member in one attempt of a masked round.
struct MaskStatements {
  std::optional<privacy::masking::MaskPublicKey> key;
  std::optional<privacy::masking::Clique> set;  // the set that it adds up with
  Digest set_hash{};                            // of `set`
  // Hash of the set to whose share it committed, and what it committed to
  std::optional<Digest> committed_to;
  Digest commitment{};
  // Hash of the set to which its share belongs, and the commitment that the share opens
  std::optional<Digest> shared_with;
  Digest opened{};

  // Returns whether there is a share of this set that the member committed to.
  bool HasShareOf(const Digest& set_hash_of_share) const;
};

// All statements of the members of one group in one round, in any order and with duplicates. A
// member makes each of four statements once in an attempt. A member that makes one of them in two
// versions is refused in the whole round, and its statements no longer count. Size is bounded by
// the group and kMaxMaskAttempts, because shares are kept as the payloads that gossip holds. Not
// thread-safe.
class MaskedRoundItems {
 public:
  // `group` may have at most kMaxCliqueMembers. `values` is the number of values of a share.
  MaskedRoundItems(const privacy::masking::MaskedSumId& round, const Digest& layout, size_t values,
                   const std::vector<privacy::NodeId>& group);

  // The result of adding an item.
  enum class AddResult { kKnown, kNew, kContradiction };
  // Adds an item of gossip whose envelope was verified. kContradiction: its sender made another
  // statement before, and is refused from now on. After an error the item has no effect:
  // UPDATE_INVALID, LIMIT_EXCEEDED or CLIQUE_INVALID if it is not an item of this round and group;
  // MASK_LAYOUT_MISMATCH for another layout.
  absl::StatusOr<AddResult> Add(const Item& item);
  // Adds a statement of this node itself in the same way.
  absl::StatusOr<AddResult> Add(ItemKind kind, const privacy::NodeId& sender,
                                std::shared_ptr<const std::string> payload);
  // Refuses a member for another reason, such as an invalid key.
  void Refuse(const privacy::NodeId& member) { refused_.insert(member); }

  const std::vector<privacy::NodeId>& group() const { return group_; }
  bool Refused(const privacy::NodeId& member) const { return refused_.contains(member); }
  // Returns the statements of a member in an attempt below kMaxMaskAttempts; empty for a member
  // that is refused or not in the group.
  MaskStatements Of(uint8_t attempt, const privacy::NodeId& member) const;
  // Returns the sets of an attempt that all their members signed.
  std::vector<privacy::masking::Clique> Agreed(uint8_t attempt) const;
  // Returns the sets named in an attempt for which all members gave their share.
  std::vector<privacy::masking::Clique> Complete(uint8_t attempt) const;
  // Returns the sum of a complete set, in units of `layout`. UPDATE_INVALID if the masks did not
  // cancel or a member did not clip; the member cannot be identified.
  absl::StatusOr<std::vector<int32_t>> Sum(uint8_t attempt, const privacy::masking::Clique& set,
                                           const privacy::masking::MaskLayout& layout) const;

 private:
  struct SentStatements {
    MaskStatements statements;
    // The payloads by kind. A second payload of a kind has the same bytes or is a contradiction.
    std::map<ItemKind, std::shared_ptr<const std::string>> payloads;
  };
  // Returns every set that a member signed in an attempt, by hash.
  std::map<Digest, privacy::masking::Clique> Named(uint8_t attempt) const;
  absl::StatusOr<uint8_t> Read(ItemKind kind, std::string_view payload,
                               const privacy::NodeId& sender, MaskStatements& statements) const;
  absl::Status CheckLayout(const Digest& layout) const;

  privacy::masking::MaskedSumId round_;
  Digest layout_;
  size_t values_;
  std::vector<privacy::NodeId> group_;
  std::array<std::map<privacy::NodeId, SentStatements>, limits::kMaxMaskAttempts> said_;
  std::set<privacy::NodeId> refused_;
};

}  // namespace ruvd::federation
