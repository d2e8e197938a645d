// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/core/gossip_core.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"

namespace ruvd::federation {
namespace {

LocalNode MakeLocal(const GossipConfig& config, const privacy::NodeKey& key) {
  return {.key = &key,
          .certificate = config.certificate,
          .cluster_id = privacy::ClusterIdOf(config.certificate.issuer.root),
          .boot_counter = config.boot_counter,
          .model_hash = config.model_hash,
          .frame_id = config.frame_id,
          .plan_id = config.plan == nullptr ? Digest{} : config.plan->Id(),
          .listen_address = config.listen_address,
          .relays = config.relay};
}

constexpr ItemKind kMaskKinds[] = {ItemKind::kMaskKey, ItemKind::kMaskSet,
                                   ItemKind::kMaskCommitment, ItemKind::kMaskShare};

// Returns the kind of a stored item for the consent tiers. Items do not state whether they are
// noised, so this assumes that they are: the kind that the most tiers allow.
privacy::ShareableKind LeastShareable(ItemKind kind) {
  if (IsMaskItem(kind)) {
    return privacy::ShareableKind::kMaskedSum;
  }
  if (kind == ItemKind::kVerdict) {
    return privacy::ShareableKind::kContribution;  // there is no noised one
  }
  if (kind == ItemKind::kPattern || kind == ItemKind::kExpert) {
    return privacy::ShareableKind::kPattern;  // there is no noised one either
  }
  return privacy::ShareableKind::kDpContribution;
}

absl::Status UnknownBytes() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "link carried bytes that are not a frame; update the sending node");
}

}  // namespace

GossipCore::State::State(GossipConfig config, const privacy::NodeKey& key, Entropy entropy,
                         uint64_t seed, TimePoint now)
    : local(MakeLocal(config, key)),
      max_stale(config.max_stale),
      clock(config.clock),
      random(seed),
      certificates(config.certificate.issuer.root),
      evidence(local, certificates),
      sealer(local, std::move(entropy)),
      members(local, certificates, sealer, outbox,
              {.lifeguard = config.lifeguard, .pool = std::move(config.record_pool)}),
      detector(config.lifeguard, outbox, random.Fork(), config.clock),
      dialer(std::move(config.seeds), config.listen_address),
      circuits(outbox, now),
      mesh(random.Fork()),
      exchange(local, {.patterns = std::move(config.pattern_rules), .plan = std::move(config.plan)},
               certificates, evidence, scores, sealer, outbox, mesh) {}

GossipCore::GossipCore(std::unique_ptr<State> state) : state_(std::move(state)) {}
GossipCore::~GossipCore() = default;

absl::StatusOr<std::unique_ptr<GossipCore>> GossipCore::Create(GossipConfig config,
                                                               const privacy::NodeKey& key,
                                                               Entropy entropy, uint64_t seed,
                                                               Instant now) {
  RETURN_IF_ERROR(config.certificate.Verify(config.certificate.issuer.root, now.wall_ms));
  if (config.certificate.node_key != key.public_key() || config.certificate.node_id != key.id() ||
      config.certificate.key_epoch != key.epoch()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
                 "certificate of {} is for another key or id than this node's; restore node.key, "
                 "node.rotations and node.cert from one backup, or join again with a token",
                 config.certificate.name);
  }
  std::vector<std::string> addresses = config.seeds;
  addresses.push_back(config.listen_address);
  const auto wrong = std::ranges::find_if_not(addresses, IsValidAddress);
  if (wrong != addresses.end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "{} is no address of the federation; give host:port", *wrong);
  }
  std::erase(config.seeds, "");
  auto state = std::make_unique<State>(std::move(config), key, std::move(entropy), seed, now.now);
  state->members.Announce(MemberState::kAlive, now);
  state->outbox.Take();
  return std::unique_ptr<GossipCore>(new GossipCore(std::move(state)));
}

Actions GossipCore::OnLinkOpened(LinkId link, const std::string& dialed_address, Instant now,
                                 LinkChannel channel) {
  state_->OpenLink(link, dialed_address, std::move(channel), now);
  return state_->TakeActions();
}

Actions GossipCore::OnDialFailed(const std::string& address, Instant now) {
  state_->dialer.OnFailed(address, /*hopeless=*/false, now.now, state_->random);
  return state_->TakeActions();
}

Actions GossipCore::OnFrame(LinkId link, const v1::WireFrame& frame, Instant now) {
  const auto found = state_->links.find(link);
  if (found == state_->links.end()) {
    return {};  // the frame was in transit when this node closed the link
  }
  if (frame.ByteSizeLong() > limits::kMaxFrameBytes) {
    return OnBadFrame(link, now);
  }
  state_->HandleFrame(found->second, frame, now);
  return state_->TakeActions();
}

Actions GossipCore::OnBadFrame(LinkId link, Instant now) {
  const auto found = state_->links.find(link);
  if (found == state_->links.end()) {
    return {};
  }
  state_->outbox.Refuse(link, UnknownBytes());
  state_->scores.Invalid(link, 1);
  state_->CloseWithGoaway(found->second, UnknownBytes(), now);
  return state_->TakeActions();
}

Actions GossipCore::OnLinkClosed(LinkId link, Instant now) {
  state_->ForgetLink(link, /*hopeless=*/false, /*lost=*/true, now);
  return state_->TakeActions();
}

Actions GossipCore::OnTick(Instant now) {
  state_->TickRelays(now);
  state_->TickGraylist(now);
  state_->TickRevocations(now);
  state_->TickMembers(now);
  state_->TickLinks(now);
  state_->TickMesh(now);
  state_->exchange.Tick(now, state_->ClockIsSettled(), state_->ClockIsCorrected());
  return state_->TakeActions();
}

Actions GossipCore::RestoreMembers(std::shared_ptr<const RecordBase> records, Instant now) {
  state_->members.Restore(std::move(records), now.now);
  return state_->TakeActions();
}

Actions GossipCore::RestoreEvidence(const std::vector<std::string>& proofs, Instant now) {
  for (const std::string& proof : proofs) {
    privacy::NodeId id{};
    if (const auto restored = state_->evidence.Restore(proof, now, &id); !restored.ok()) {
      state_->outbox.Refuse(/*link=*/0, restored.status());
    }
  }
  return state_->TakeActions();
}

void GossipCore::RestoreScores(const KeptScores& scores, Instant now) {
  state_->scores.Restore(scores, now);
  state_->scores_stored = now.now;
  state_->scores_in_store = !scores.peers.empty() || !scores.graylistings.empty();
}

Actions GossipCore::Restore(std::vector<Item> items, Instant now) {
  State& state = *state_;
  std::vector<Item> allowed;
  for (Item& item : items) {
    const bool own = item.origin == state.local.key->id();
    if (!own && StandingOf(item.origin) != MemberStanding::kGood) {
      state.outbox.Emit(ItemWithdrawn{.item = item, .own = false});
      state.outbox.Emit(ItemDropped{.id = item.id, .kind = item.kind});
    } else if (own && item.kind != ItemKind::kWithdrawal && item.kind != ItemKind::kCheckpoint &&
               !privacy::TierAllows(state.consent, LeastShareable(item.kind))) {
      state.outbox.Emit(ItemDropped{.id = item.id, .kind = item.kind});
    } else {
      allowed.push_back(std::move(item));
    }
  }
  state.exchange.Restore(std::move(allowed), now, state_->ClockIsSettled());
  return state.TakeActions();
}

absl::StatusOr<Actions> GossipCore::SetConsent(const privacy::ConsentRecord& record,
                                               Instant /*now*/) {
  RETURN_IF_ERROR(record.Verify(*state_->local.key));
  const bool had_plain =
      privacy::TierAllows(state_->consent, privacy::ShareableKind::kContribution);
  state_->consent = record.tier;
  // Items do not state whether they are noised. If the former tier allowed plain updates, some of
  // them may not be.
  if (!privacy::TierAllows(record.tier, privacy::ShareableKind::kDpContribution) ||
      (had_plain && !privacy::TierAllows(record.tier, privacy::ShareableKind::kContribution))) {
    state_->exchange.Withdraw(ItemKind::kContribution);
  }
  if (!privacy::TierAllows(record.tier, LeastShareable(ItemKind::kVerdict))) {
    state_->exchange.Withdraw(ItemKind::kVerdict);
  }
  if (!privacy::TierAllows(record.tier, LeastShareable(ItemKind::kExpert))) {
    state_->exchange.Withdraw(ItemKind::kExpert);
  }
  if (!privacy::TierAllows(record.tier, LeastShareable(ItemKind::kPattern))) {
    state_->exchange.Withdraw(ItemKind::kPattern);
  }
  for (const ItemKind kind : kMaskKinds) {
    if (!privacy::TierAllows(record.tier, privacy::ShareableKind::kMaskedSum)) {
      state_->exchange.Withdraw(kind);
    }
  }
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::SetRevocations(const privacy::RevocationList& list,
                                                   Instant now) {
  RETURN_IF_ERROR(state_->ApplyRevocationList(list, /*from=*/0, now));
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::LearnIssuer(const privacy::IssuerCert& issuer, Instant now) {
  RETURN_IF_ERROR(state_->LearnIssuer(issuer, now));
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferContribution(uint64_t round, std::string payload,
                                                      Instant now, privacy::ShareableKind kind) {
  RETURN_IF_ERROR(privacy::RequireConsent(state_->consent, kind));
  RETURN_IF_ERROR(
      state_->exchange.Offer(ItemKind::kContribution, round, std::move(payload), now).status());
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferVerdict(uint64_t round, std::string payload, Instant now) {
  RETURN_IF_ERROR(privacy::RequireConsent(state_->consent, LeastShareable(ItemKind::kVerdict)));
  RETURN_IF_ERROR(
      state_->exchange.Offer(ItemKind::kVerdict, round, std::move(payload), now).status());
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferCheckpoint(uint64_t round, std::string payload,
                                                    Instant now) {
  RETURN_IF_ERROR(
      state_->exchange.Offer(ItemKind::kCheckpoint, round, std::move(payload), now).status());
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferMasked(ItemKind kind, uint64_t round, std::string payload,
                                                Instant now) {
  RUVD_CHECK(IsMaskItem(kind));
  RETURN_IF_ERROR(privacy::RequireConsent(state_->consent, privacy::ShareableKind::kMaskedSum));
  auto offered = state_->exchange.Offer(kind, round, std::move(payload), now);
  RETURN_IF_ERROR(offered.status());
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferPattern(const SharedPattern& pattern, Instant now) {
  RETURN_IF_ERROR(privacy::RequireConsent(state_->consent, LeastShareable(ItemKind::kPattern)));
  SharedPattern sorted = pattern;
  SortCores(sorted.cores);
  auto offered = state_->exchange.Offer(ItemKind::kPattern, 0, EncodeSharedPattern(sorted), now);
  RETURN_IF_ERROR(offered.status());
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferExpert(const SharedExpert& expert, Instant now) {
  RETURN_IF_ERROR(privacy::RequireConsent(state_->consent, LeastShareable(ItemKind::kExpert)));
  RETURN_IF_ERROR(
      state_->exchange.Offer(ItemKind::kExpert, 0, EncodeSharedExpert(expert), now).status());
  return state_->TakeActions();
}

Actions GossipCore::WithdrawPattern(const std::array<uint8_t, 16>& id) {
  state_->exchange.Withdraw(ItemKind::kPattern, [&](const Item& item) {
    const auto offered = DecodeSharedPattern(AsBytes(*item.payload));
    return offered.ok() && offered->id == id;
  });
  return state_->TakeActions();
}

Actions GossipCore::WithdrawContributions() {
  state_->exchange.Withdraw(ItemKind::kContribution);
  state_->exchange.Withdraw(ItemKind::kVerdict);
  return state_->TakeActions();
}

Actions GossipCore::WithdrawItems(std::span<const Digest> ids) {
  const std::set<Digest> named(ids.begin(), ids.end());
  for (const ItemKind kind :
       {ItemKind::kPattern, ItemKind::kContribution, ItemKind::kVerdict, ItemKind::kExpert}) {
    state_->exchange.Withdraw(kind, [&named](const Item& item) { return named.contains(item.id); });
  }
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::OfferWithdrawal(const privacy::Withdrawal& withdrawal,
                                                    Instant now) {
  if (state_->exchange.Knows(withdrawal)) {
    return Actions();
  }
  auto offered = state_->exchange.Offer(ItemKind::kWithdrawal, 0, withdrawal.Encode(), now);
  RETURN_IF_ERROR(offered.status());
  return state_->TakeActions();
}

void GossipCore::SetStateDigest(uint64_t round, const Digest& digest) {
  const StateDigest own{.round = round, .digest = digest};
  state_->states.SetOwn(own);
  state_->detector.NameState(own);
}

Actions GossipCore::Leave(Instant now) {
  State& state = *state_;
  state.leaving = true;
  state.AnnounceDeparture(now);
  state.StoreScores(now);
  while (!state.links.empty()) {
    state.CloseDraining(state.links.rbegin()->second, now);  // links that others carry come first
  }
  return state.TakeActions();
}

Actions GossipCore::Drain(Duration deadline, Instant now) {
  state_->leaving = true;
  state_->AnnounceDeparture(now);
  state_->StoreScores(now);
  state_->BeginDrain(deadline, now);
  return state_->TakeActions();
}

absl::StatusOr<Actions> GossipCore::SetCertificate(const privacy::AdmissionCert& certificate,
                                                   Instant now) {
  privacy::AdmissionCert& present = state_->local.certificate;
  RETURN_IF_ERROR(certificate.Verify(present.issuer.root, now.wall_ms));
  if (certificate.node_key != present.node_key || certificate.name != present.name) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
        "the new certificate is for {}, with another key or name than the one in use; issue "
        "one for {}",
        certificate.name, present.name);
  }
  if (!certificate.Supersedes(present)) {
    return Actions();  // the certificate in use is as good
  }
  present = certificate;
  if (!state_->leaving) {
    state_->AnnounceSelf(now);
  }
  return state_->TakeActions();
}

const privacy::AdmissionCert& GossipCore::certificate() const {
  return state_->local.certificate;
}

bool GossipCore::drained() const {
  return state_->leaving && state_->links.empty();
}

std::vector<Member> GossipCore::Members() const {
  std::vector<Member> members = state_->members.Members();
  for (Member& member : members) {
    member.standing = StandingOf(member.id);
    member.rounds = state_->states.Of(member.id);
  }
  return members;
}

MemberStanding GossipCore::StandingOf(const privacy::NodeId& id) const {
  if (state_->certificates.revocations().Revokes(id)) {
    return MemberStanding::kRevoked;
  }
  return state_->evidence.IsConvicted(id) ? MemberStanding::kEquivocated : MemberStanding::kGood;
}

std::vector<Item> GossipCore::Items() const {
  std::vector<Item> items;
  for (const auto& [id, item] : state_->exchange.items()) {
    items.push_back(item);
  }
  return items;
}

std::vector<IncomingItem> GossipCore::Incoming() const {
  return state_->exchange.Incoming();
}

const GossipCounters& GossipCore::counters() const {
  return state_->outbox.counters();
}
privacy::ConsentTier GossipCore::consent() const {
  return state_->consent;
}

size_t GossipCore::active_links() const {
  return state_->link_of.size();
}

size_t GossipCore::relayed_links() const {
  return static_cast<size_t>(std::ranges::count_if(
      state_->link_of, [](const auto& entry) { return RelayedLinks::IsRelayed(entry.second); }));
}

std::optional<privacy::NodeId> GossipCore::RelayTo(const privacy::NodeId& peer) const {
  return state_->IsLinkedByRelay(peer)
             ? std::optional(state_->links.at(state_->link_of.at(peer)).relay)
             : std::nullopt;
}

size_t GossipCore::circuits() const {
  return state_->circuits.size();
}

std::optional<int64_t> GossipCore::PatternWithdrawn(const privacy::NodeId& origin,
                                                    const std::array<uint8_t, 16>& pattern) const {
  return state_->exchange.PatternWithdrawn(origin, pattern);
}

std::vector<privacy::NodeId> GossipCore::MeshPeers() const {
  std::vector<privacy::NodeId> peers;
  for (const LinkId id : state_->mesh.links()) {
    peers.push_back(state_->links.at(id).peer);
  }
  return peers;
}

std::vector<privacy::NodeId> GossipCore::Graylisted() const {
  std::set<privacy::NodeId> members;
  for (const privacy::NodeId& id : state_->evidence.Members()) {
    members.insert(id);
  }
  for (const privacy::NodeId& id : state_->scores.Graylisted()) {
    members.insert(id);
  }
  return {members.begin(), members.end()};
}

absl::Status GossipCore::RevocationsFresh(Instant now) const {
  return state_->certificates.RequireFresh(state_->max_stale, now.wall_ms);
}

std::vector<std::string> GossipCore::Evidence() const {
  return state_->evidence.Stored();
}

KeptScores GossipCore::Scores(Instant now) const {
  return state_->scores.Keep(now, state_->OwnWallMillis(now));
}

double GossipCore::ScoreOf(const privacy::NodeId& peer) const {
  const auto link = state_->link_of.find(peer);
  return link == state_->link_of.end() ? state_->scores.Of(peer)
                                       : state_->scores.ScoreOfLink(link->second);
}

std::shared_ptr<const SignedRecord> GossipCore::OwnRecord() const {
  return *state_->members.records().Find(state_->local.key->id());
}

}  // namespace ruvd::federation
