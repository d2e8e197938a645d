// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/masking/masking_session.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::privacy::masking {
namespace {

absl::Status Reused(std::string_view what) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskReused,
               "{}; a node that saw both could subtract them", what);
}

absl::Status WrongClique(std::string_view what) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kCliqueInvalid,
               "the participants of a masked sum {}; wait for the next round", what);
}

absl::Status WrongLayout() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskLayoutMismatch,
               "a participant of the masked sum adds values of another model, frame or grid, or "
               "another number of values; give all participants the same configuration");
}

void Wipe(std::vector<int32_t>& units) {
  SecureWipe({reinterpret_cast<uint8_t*>(units.data()), units.size() * sizeof(int32_t)});
}

}  // namespace

MaskingSession::MaskingSession(const MaskedSumId& round, const MaskLayout& layout,
                               const NodeId& self, MaskKey key)
    : round_(round),
      layout_(layout),
      layout_hash_(layout.Hash()),
      self_(self),
      key_(std::move(key)) {
  offers_[self_] = key_.public_key();
}

absl::StatusOr<MaskingSession> MaskingSession::Begin(const MaskedSumId& round,
                                                     const MaskLayout& layout, const NodeId& self,
                                                     const dp::RandomBytes& random) {
  RETURN_IF_ERROR(layout.Check());
  return MaskingSession(round, layout, self, MaskKey::Generate(random));
}

MaskOffer MaskingSession::offer() const {
  return {.round = round_.round, .layout = layout_hash_, .key = key_.public_key()};
}

absl::Status MaskingSession::AddOffer(const NodeId& sender, const MaskOffer& offer) {
  if (offer.round != round_.round) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "an offer for round {} arrived in round {}; send it earlier", offer.round,
                 round_.round);
  }
  if (offer.layout != layout_hash_) {
    return WrongLayout();
  }
  if (const auto known = offers_.find(sender); known != offers_.end()) {
    return known->second == offer.key ? absl::OkStatus()
                                      : WrongClique("include a node that offered two keys");
  }
  if (offers_.size() >= limits::kMaxMaskOffers) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "more than {} nodes offered to take part in a masked sum; split them",
                 limits::kMaxMaskOffers);
  }
  for (const auto& [id, key] : offers_) {
    if (key == offer.key) {
      return WrongClique(
          fmt::format("include {} and {}, which offered the same key", ToHex(id), ToHex(sender)));
    }
  }
  RETURN_IF_ERROR(key_.CheckPeer(offer.key));
  offers_[sender] = offer.key;
  return absl::OkStatus();
}

absl::StatusOr<Clique> MaskingSession::CliqueOf(std::span<const NodeId> others) const {
  Clique clique{.round = round_, .layout = layout_hash_, .members = {{self_, key_.public_key()}}};
  for (const NodeId& id : others) {
    const auto offered = offers_.find(id);
    if (offered == offers_.end() || id == self_) {
      return WrongClique("include a node that did not offer to take part");
    }
    clique.members.push_back({id, offered->second});
  }
  std::ranges::sort(clique.members, {}, &CliqueMember::id);
  RETURN_IF_ERROR(clique.Check());
  return clique;
}

// If an attacker replaced a member's key by its own, it could compute the mask.
absl::Status MaskingSession::CheckClique(const Clique& clique) const {
  RETURN_IF_ERROR(clique.Check());
  if (clique.round != round_) {
    return WrongClique("belong to another round");
  }
  if (clique.layout != layout_hash_) {
    return WrongLayout();
  }
  if (clique.Find(self_) == nullptr) {
    return WrongClique("do not include this node");
  }
  for (const CliqueMember& member : clique.members) {
    const auto offered = offers_.find(member.id);
    if (offered == offers_.end() || offered->second != member.key) {
      return WrongClique("include a node whose own offer is unknown or names another key");
    }
  }
  return absl::OkStatus();
}

absl::Status MaskingSession::CheckFresh(const Clique& clique) const {
  if (std::ranges::find(masked_, clique) != masked_.end()) {
    return Reused("this set of participants already has this node's share");
  }
  if (!masked_.empty() && !clique.IsRestartOf(masked_.back())) {
    return Reused("a set of participants that is not the former one without its drop-outs");
  }
  if (masked_.size() >= limits::kMaxMaskAttempts) {
    return Reused("a round with too many drop-outs; wait for the next one");
  }
  return absl::OkStatus();
}

absl::Status MaskingSession::CheckInput(const Clique& clique, const MaskInput& input) const {
  if (input.units.size() != layout_.Values()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "an update has {} values in a masked sum of {}; give all banks of the layout",
                 input.units.size(), layout_.Values());
  }
  if (input.contributors != clique.members.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "an update has noise for {} participants in a masked sum of {}; noise a new one",
                 input.contributors, clique.members.size());
  }
  ASSIGN_OR_RETURN(const int64_t most, layout_.MaxUnitsPerMember(clique.members.size()));
  const bool fits = std::ranges::all_of(
      input.units, [most](int64_t unit) { return -most <= unit && unit <= most; });
  return fits ? absl::OkStatus()
              : Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                      "an update has a value above the {} units that its clip norm and noise "
                      "allow; clip it to the layout's grid before adding noise",
                      most);
}

absl::StatusOr<MaskedUpdate> MaskingSession::Mask(const Clique& clique, MaskInput input) {
  absl::Status checked = CheckClique(clique);
  if (checked.ok()) {
    checked = CheckFresh(clique);
  }
  if (checked.ok()) {
    checked = CheckInput(clique, input);
  }
  MaskedUpdate update{.round = round_.round,
                      .sender = self_,
                      .set = clique.SetHash(),
                      .layout = layout_hash_,
                      .values = {}};
  if (checked.ok()) {
    update.values.assign(input.units.begin(), input.units.end());
    checked = key_.AddMasks(clique, self_, update.values);
  }
  Wipe(input.units);
  RETURN_IF_ERROR(checked);
  masked_.push_back(clique);
  return update;
}

}  // namespace ruvd::privacy::masking
