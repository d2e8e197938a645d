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

// What one member of a masked round said in one attempt of it.
struct MaskStatements {
  std::optional<privacy::masking::MaskPublicKey> key;
  std::optional<privacy::masking::Clique> set;  // that it adds up with
  Digest set_hash{};                            // of `set`
  std::optional<Digest> shared_with;            // hash of the set that its share is for
};

// All that the members of one group said in one round, whatever the order, however often. A member
// says each of three things once in an attempt: whoever says one of them in two ways is refused in
// the whole round, and what it said counts no more. Bounded by the group and kMaxMaskAttempts:
// shares are kept as the payloads that gossip holds. Not thread-safe.
class MaskedRoundItems {
 public:
  // `group` has at most kMaxCliqueMembers. `values` are those of a share.
  MaskedRoundItems(const privacy::masking::MaskRound& round, const Digest& layout, size_t values,
                   const std::vector<privacy::NodeId>& group);

  // What an item was.
  enum class Added { kKnown, kNew, kContradiction };
  // Notes an item of gossip, whose envelope was verified. kContradiction: its sender said something
  // else before and is refused from now on. No effect after an error: UPDATE_INVALID,
  // LIMIT_EXCEEDED, CLIQUE_INVALID for what is no item of this round and group;
  // MASK_LAYOUT_MISMATCH for another layout.
  absl::StatusOr<Added> Add(const Item& item);
  // The same for what this node says itself.
  absl::StatusOr<Added> Add(ItemKind kind, const privacy::NodeId& sender,
                            std::shared_ptr<const std::string> payload);
  // Refuses a member for another reason, such as a key that is none.
  void Refuse(const privacy::NodeId& member) { refused_.insert(member); }

  const std::vector<privacy::NodeId>& group() const { return group_; }
  bool Refused(const privacy::NodeId& member) const { return refused_.contains(member); }
  // What a member that is not refused said in an attempt below kMaxMaskAttempts; nothing of others.
  MaskStatements Of(uint8_t attempt, const privacy::NodeId& member) const;
  // The sets of an attempt that every member of them signed.
  std::vector<privacy::masking::Clique> Agreed(uint8_t attempt) const;
  // The sets named in an attempt of which every member gave its share.
  std::vector<privacy::masking::Clique> Complete(uint8_t attempt) const;
  // The sum of a complete set, in units of `layout`. UPDATE_INVALID where the masks did not cancel
  // or somebody did not clip: nobody can tell who.
  absl::StatusOr<std::vector<int32_t>> Sum(uint8_t attempt, const privacy::masking::Clique& set,
                                           const privacy::masking::MaskLayout& layout) const;

 private:
  struct Said {
    MaskStatements statements;
    // By kind; a second of a kind is the same bytes or a contradiction.
    std::map<ItemKind, std::shared_ptr<const std::string>> payloads;
  };
  // Every set that somebody signed in an attempt, by hash.
  std::map<Digest, privacy::masking::Clique> Named(uint8_t attempt) const;
  absl::StatusOr<uint8_t> Read(ItemKind kind, std::string_view payload,
                               const privacy::NodeId& sender, MaskStatements& statements) const;
  absl::Status CheckLayout(const Digest& layout) const;

  privacy::masking::MaskRound round_;
  Digest layout_;
  size_t values_;
  std::vector<privacy::NodeId> group_;
  std::array<std::map<privacy::NodeId, Said>, limits::kMaxMaskAttempts> said_;
  std::set<privacy::NodeId> refused_;
};

}  // namespace ruvd::federation
