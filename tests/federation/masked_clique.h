// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The items that a clique of nodes says in one attempt of a masked round, without a protocol.

#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "federation/masked/messages.h"
#include "privacy/masking/masking_session.h"
#include "tests/federation/masked_bus.h"

namespace ruvd::test {

struct CliqueItems {
  std::vector<federation::Item> items;  // keys, sets, commitments and shares of all members
  privacy::masking::Clique set;
  std::vector<int32_t> sum;  // of what went in
};

inline federation::Item MaskItemOf(const privacy::NodeId& origin, federation::ItemKind kind,
                                   uint64_t round, std::string payload) {
  federation::Item item = MaskedBus::ItemOf(origin, kind, std::move(payload));
  item.round = round;
  return item;
}

// Returns the payload by which the sender of a share commits to it.
inline std::string CommitmentOf(const std::string& share) {
  const auto item = federation::DecodeMaskShareHead(AsBytes(share)).value();
  return federation::EncodeMaskCommitment({.attempt = item.attempt,
                                           .round = item.update.round,
                                           .set = item.update.set,
                                           .layout = item.update.layout,
                                           .share = federation::CommitmentTo(share)});
}

// Lets `members`, sorted by id, add up inputs at random.
inline CliqueItems ItemsOfClique(const std::vector<privacy::NodeId>& members, uint64_t round,
                                 uint8_t attempt, const privacy::masking::MaskLayout& layout,
                                 Random& random) {
  using federation::ItemKind;
  CliqueItems made;
  made.sum.resize(layout.Values());
  std::vector<privacy::masking::MaskingSession> sessions;
  for (const privacy::NodeId& id : members) {
    sessions.push_back(privacy::masking::MaskingSession::Begin(
                           {.cluster = {5}, .round = round}, layout, id, MaskEntropy(random.Next()))
                           .value());
  }
  for (privacy::masking::MaskingSession& to : sessions) {
    for (size_t from = 0; from < members.size(); ++from) {
      RUVD_CHECK(to.AddOffer(members[from], sessions[from].offer()).ok());
    }
  }
  made.set = sessions[0].CliqueOf(std::span(members).subspan(1)).value();
  for (size_t i = 0; i < members.size(); ++i) {
    const std::vector<int32_t> units = UnitsOf(layout, random);
    std::ranges::transform(made.sum, units, made.sum.begin(), std::plus<>());
    const auto share = sessions[i].Mask(
        made.set, {.contributors = static_cast<uint32_t>(members.size()), .units = units});
    const auto say = [&](ItemKind kind, std::string payload) {
      made.items.push_back(MaskItemOf(members[i], kind, round, std::move(payload)));
    };
    say(ItemKind::kMaskKey,
        federation::EncodeMaskKey({.attempt = attempt, .offer = sessions[i].offer()}));
    say(ItemKind::kMaskSet, federation::EncodeMaskSet({.attempt = attempt, .clique = made.set}));
    const std::string payload = federation::EncodeMaskShare(
        {.attempt = attempt, .salt = {static_cast<uint8_t>(i)}, .update = share.value()});
    say(ItemKind::kMaskCommitment, CommitmentOf(payload));
    say(ItemKind::kMaskShare, payload);
  }
  return made;
}

}  // namespace ruvd::test
