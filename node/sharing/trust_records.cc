// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/trust_records.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/membership/evidence.h"
#include "federation/membership/score_limits.h"
#include "node/log/log.h"
#include "privacy/reasons.h"
#include "ruvd/storage/v1/state.pb.h"

namespace ruvd::sharing {
namespace {

constexpr Duration kStaleCheck = std::chrono::minutes(10);

void LogTrustFailure(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    LogError("{}: {} [{}]", what, MessageOf(status), ReasonOf(status));
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadEvidence(const storage::StateStore& state) {
  ASSIGN_OR_RETURN(auto stored, state.Get(storage::state::EquivocationProofs()));
  return stored ? FromStored(*std::move(stored)) : std::vector<std::string>();
}

absl::StatusOr<std::vector<std::string>> FromStored(storage::v1::EquivocationProofs stored) {
  const auto fits = [](const std::string& proof) {
    return proof.size() == federation::EvidenceTable::kStoredBytes;
  };
  if (static_cast<size_t>(stored.proofs_size()) > limits::kMaxEvidence ||
      !std::ranges::all_of(stored.proofs(), fits)) {
    return Error(absl::StatusCode::kDataLoss, reasons::kEvidenceInvalid,
                 "the stored proofs of equivocations are damaged; peers send them again");
  }
  return std::vector<std::string>(std::make_move_iterator(stored.mutable_proofs()->begin()),
                                  std::make_move_iterator(stored.mutable_proofs()->end()));
}

absl::Status StoreEvidence(storage::StateStore& state, const std::vector<std::string>& proofs) {
  storage::v1::EquivocationProofs stored;
  stored.mutable_proofs()->Add(proofs.begin(), proofs.end());
  return state.Put(storage::state::EquivocationProofs(), stored);
}

absl::StatusOr<federation::KeptScores> LoadScores(const storage::StateStore& state) {
  ASSIGN_OR_RETURN(const auto stored, state.Get(storage::state::PeerScores()));
  return stored ? FromStored(*stored) : federation::KeptScores();
}

absl::StatusOr<federation::KeptScores> FromStored(const storage::v1::PeerScores& stored) {
  const auto is_id = [](const auto& row) { return row.id().size() == sizeof(privacy::NodeId); };
  const auto counts = [&is_id](const storage::v1::PeerScores::Peer& peer) {
    const auto fits = [](double count) { return std::isfinite(count) && count >= 0; };
    return is_id(peer) && fits(peer.deliveries()) && fits(peer.invalid()) &&
           fits(peer.misbehaviour()) && fits(peer.deficit());
  };
  if (std::cmp_greater(stored.peers_size(), limits::kMaxScores) ||
      std::cmp_greater(stored.graylistings_size(), limits::kMaxScores) ||
      !std::ranges::all_of(stored.peers(), counts) ||
      !std::ranges::all_of(stored.graylistings(), is_id)) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the stored scores of peers are damaged; they come about anew");
  }
  const auto id_of = [](const std::string& bytes) {
    privacy::NodeId id{};
    std::ranges::copy(AsBytes(bytes), id.begin());
    return id;
  };
  federation::KeptScores scores{.saved_ms = stored.saved_ms(), .peers = {}, .graylistings = {}};
  for (const auto& peer : stored.peers()) {
    scores.peers.push_back({.id = id_of(peer.id()),
                            .deliveries = peer.deliveries(),
                            .invalid = peer.invalid(),
                            .misbehaviour = peer.misbehaviour(),
                            .deficit = peer.deficit()});
  }
  for (const auto& sentence : stored.graylistings()) {
    scores.graylistings.push_back({.id = id_of(sentence.id()),
                                   .remaining_ms = sentence.remaining_ms(),
                                   .times = sentence.times()});
  }
  return scores;
}

storage::v1::PeerScores ToStored(const federation::KeptScores& scores) {
  storage::v1::PeerScores stored;
  stored.set_saved_ms(scores.saved_ms);
  for (const federation::KeptScores::Peer& peer : scores.peers) {
    auto* row = stored.add_peers();
    row->set_id(std::string(AsText(peer.id)));
    row->set_deliveries(peer.deliveries);
    row->set_invalid(peer.invalid);
    row->set_misbehaviour(peer.misbehaviour);
    row->set_deficit(peer.deficit);
  }
  for (const federation::KeptScores::Graylisting& sentence : scores.graylistings) {
    auto* row = stored.add_graylistings();
    row->set_id(std::string(AsText(sentence.id)));
    row->set_remaining_ms(sentence.remaining_ms);
    row->set_times(sentence.times);
  }
  return stored;
}

absl::Status StoreScores(storage::StateStore& state, const federation::KeptScores& scores) {
  return state.Put(storage::state::PeerScores(), ToStored(scores));
}

absl::StatusOr<federation::Actions> TrustRecords::Restore(federation::GossipCore& core,
                                                          federation::Instant now) const {
  ASSIGN_OR_RETURN(const privacy::RevocationList revocations, store_.load_revocations());
  federation::Actions actions;
  // Evidence comes first: what a key proved before its node replaced it stays proven.
  const auto evidence = store_.load_evidence();
  LogTrustFailure("the stored evidence could not be read", evidence.status());
  if (evidence.ok()) {
    actions = core.RestoreEvidence(*evidence, now);
  }
  if (absl::StatusOr<federation::Actions> taken = core.SetRevocations(revocations, now);
      taken.ok()) {
    std::move(taken->begin(), taken->end(), std::back_inserter(actions));
  } else {
    LogTrustFailure("the stored revocation list is not valid", taken.status());
  }
  const auto scores = store_.load_scores();
  LogTrustFailure("the stored scores of peers could not be read", scores.status());
  if (scores.ok()) {
    core.RestoreScores(*scores, now);
  }
  return actions;
}

bool TrustRecords::Store(const federation::Action& action, const federation::GossipCore& core,
                         federation::Instant now) const {
  if (const auto* revoked = std::get_if<federation::RevocationsChanged>(&action)) {
    StoreRevocations(revoked->list);
    return true;
  }
  if (std::holds_alternative<federation::EvidenceChanged>(action)) {
    LogTrustFailure("evidence of an equivocation could not be stored",
                    store_.store_evidence(core.Evidence()));
    return true;
  }
  if (std::holds_alternative<federation::ScoresChanged>(action)) {
    LogTrustFailure("the scores of peers could not be stored",
                    store_.store_scores(core.Scores(now)));
  }
  return false;
}

void TrustRecords::StoreRevocations(const privacy::RevocationList& list) const {
  const auto revoked =
      std::ranges::count(list.nodes, privacy::kEveryEpoch, &privacy::RevokedNode::least_epoch);
  // The authority signs the list again every few hours, mostly without a change.
  Log(list.nodes.empty() ? LogLevel::kInfo : LogLevel::kWarning,
      "list {} of the cluster's issuer {} revokes {} node(s), and former keys of {}",
      list.edition(), list.issuer.number, revoked,
      list.nodes.size() - static_cast<size_t>(revoked));
  LogTrustFailure("the revocation list could not be stored", store_.store_revocations(list));
}

void TrustRecords::LogIfRevocationListStale(const federation::GossipCore& core,
                                            federation::Instant now) {
  if (now.now < next_check_) {
    return;
  }
  next_check_ = now.now + kStaleCheck;
  if (const absl::Status fresh = core.RevocationsFresh(now); !fresh.ok()) {
    LogWarning("no new links: {} [{}]", MessageOf(fresh), ReasonOf(fresh));
  }
}

}  // namespace ruvd::sharing
