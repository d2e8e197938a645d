// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_node.h"

#include <cstring>
#include <utility>

#include "base/status.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

// Items from other nodes are synced later: a power cut may take them, and anti-entropy brings them
// again.
constexpr Duration kSyncPeriod = std::chrono::milliseconds(500);

// Solved only once, because every start of every node has the same budget.
const privacy::UnitBudget& Budget() {
  static const privacy::UnitBudget budget = [] {
    auto solved = privacy::UnitBudget::Within(privacy::PrivacyUnit::kLesson, 8, 1e-6);
    RUVD_CHECK(solved.ok());
    return *solved;
  }();
  return budget;
}

uint64_t PrefixOf(const Digest& id) {
  uint64_t prefix;
  std::memcpy(&prefix, id.data(), sizeof(prefix));
  return prefix;
}

}  // namespace

SimNode::SimNode(NodeSetup setup, EventQueue& queue, SimNetwork& network, Audit& audit,
                 std::unique_ptr<Adversary> adversary)
    : setup_(std::move(setup)),
      queue_(&queue),
      network_(&network),
      audit_(&audit),
      adversary_(std::move(adversary)),
      random_(setup_.seed) {
  network_->AddNode(identity().config.listen_address, this);
  if (setup_.learning != nullptr) {
    rounds_check_.emplace(
        setup_.learning->model(), [this](std::string invariant, const std::string& detail) {
          if (!byzantine()) {
            audit_->Violate(std::move(invariant), audit_->Where(setup_.number) + " " + detail);
          }
        });
  }
}

federation::Instant SimNode::now() const {
  return clock_ ? federation::Instant::Of(*clock_) : OwnTime();
}

federation::Instant SimNode::OwnTime() const {
  const auto real = queue_->now().time_since_epoch();
  const auto seen =
      real + Duration(static_cast<int64_t>(static_cast<double>(real.count()) * setup_.clock_drift));
  federation::Instant now = At(seen);
  now.wall_ms += setup_.clock_offset_ms;
  return now;
}

void SimNode::Start() {
  RUVD_CHECK(core_ == nullptr);
  network_->MachineBack(setup_.number);
  if (!identity().config.certificate.CheckTime(OwnTime().wall_ms).ok()) {
    // Its clock is wrong, so that it serves alone until it is started again.
    queue_->After(std::chrono::seconds(1), [this] {
      if (core_ == nullptr) {
        Start();
      }
    });
    return;
  }
  clock_.emplace(own_clock_);
  boot_counter_ = disk_.Read().boot_counter + 1;
  disk_.PutBootCounter(boot_counter_);
  if (!disk_.Read().consent) {
    disk_.PutConsent(privacy::ConsentRecord::Sign(setup_.tier, now().wall_ms, identity().key));
  }
  disk_.Sync();
  consent_ = *disk_.Read().consent;
  ledger_.emplace(disk_, Budget(), setup_.syncs_ledger);
  audit_->LedgerRead(setup_.number, ledger_->spent(), ledger_->whole(), ledger_->charges());
  if (!ledger_->charged_twice().empty()) {
    audit_->ChargedTwice(setup_.number, ledger_->charged_twice());
  }
  audit_->Started(setup_.number, boot_counter_);

  federation::GossipConfig config = identity().config;
  config.boot_counter = boot_counter_;
  config.seeds = setup_.contacts;
  config.record_pool = setup_.record_pool;
  config.plan = setup_.plan;
  config.clock = &*clock_;
  if (adversary_) {
    adversary_->Configure(config);
  }
  auto core = federation::GossipCore::Create(std::move(config), identity().key,
                                             EntropyOf(random_.Next()), random_.Next(), now());
  RUVD_CHECK(core.ok());
  core_ = *std::move(core);
  if (rounds_check_) {
    rounds_.emplace(*rounds_check_, RoundsOptions(), disk_.Read().rounds, now());
  }
  RestoreTrust();
  auto consented = core_->SetConsent(consent_, now());
  RUVD_CHECK(consented.ok());
  Apply(*std::move(consented));
  RestoreItems();
  ScheduleTick();
}

void SimNode::RestoreTrust() {
  Apply(core_->RestoreEvidence(disk_.Read().evidence, now()));
  auto revoked = core_->SetRevocations(disk_.Read().revocations, now());
  RUVD_CHECK(revoked.ok());
  Apply(*std::move(revoked));
  core_->RestoreScores(disk_.Read().scores, now());
  if (established_) {
    Apply(core_->RestoreMembers(established_, now()));
  }
  if (rounds_) {
    rounds_->ExcludeExpelled(*core_);
  }
}

void SimNode::RestoreItems() {
  std::vector<federation::Item> items;
  std::vector<federation::Item> former;
  for (const auto& [id, stored] : disk_.Read().items) {
    auto item = federation::MakeItem(*stored.envelope, *stored.payload);
    RUVD_CHECK(item.ok());  // the simulated disk does not alter what it keeps
    const auto header = privacy::ParseHeader(AsBytes(item->envelope->header));
    if (item->origin == identity().key.id() && header->key_epoch < identity().key.epoch()) {
      former.push_back(*item);
    }
    items.push_back(*std::move(item));
  }
  Apply(core_->Restore(std::move(items), now()));
  held_.clear();
  heads_ = 0;
  OfferAgain(former);
  for (privacy::Withdrawal withdrawal : std::vector(disk_.Read().withdrawals)) {
    RUVD_CHECK(withdrawal.Resign(identity().key).ok());
    auto offered = core_->OfferWithdrawal(withdrawal, now());
    RUVD_CHECK(offered.ok());
    Apply(*std::move(offered));
  }
  for (const federation::Item& item : core_->Items()) {
    Hold(item.id, true);
    if (rounds_) {
      rounds_->OnItem(item);
    }
  }
  if (rounds_) {
    rounds_->OnDefect(withdrawn_);
  }
}

void SimNode::OfferAgain(const std::vector<federation::Item>& former) {
  for (const federation::Item& item : former) {
    if (item.kind == federation::ItemKind::kWithdrawal) {
      audit_->Replaced(setup_.number, item.id);
    } else if (item.kind == federation::ItemKind::kPattern) {
      audit_->Replaced(setup_.number, item.id);
      const auto pattern = federation::DecodeSharedPattern(AsBytes(*item.payload));
      auto offered = core_->OfferPattern(pattern.value(), now());
      RUVD_CHECK(offered.ok());
      Apply(*std::move(offered));
    }
  }
}

void SimNode::Establish(std::shared_ptr<const federation::RecordBase> members) {
  established_ = std::move(members);
  Apply(core_->RestoreMembers(established_, now()));
}

void SimNode::EndProcess() {
  earlier_payload_bytes_ += core_->counters().payload_bytes_received;
  core_.reset();
  clock_.reset();
  rounds_.reset();
  made_from_.clear();
  put_in_.reset();
  false_share_.reset();
  doomed_ = false;
  ledger_.reset();
  paused_ = false;
  inbox_.clear();
  open_links_.clear();
  actions_to_live_.reset();
  audit_->Crashed(setup_.number);
}

void SimNode::Kill() {
  EndProcess();
  network_->ProcessEnded(setup_.number);
}

SimDisk::Loss SimNode::CutPower() {
  EndProcess();
  network_->MachineLost(setup_.number);
  const SimDisk::Loss loss = disk_.CutPower(random_);
  lost_.dropped += loss.dropped;
  lost_.torn = lost_.torn || loss.torn;
  return loss;
}

void SimNode::DieAfterActions(size_t actions, bool power_cut) {
  actions_to_live_ = actions;
  dies_by_power_cut_ = power_cut;
}

bool SimNode::Survives() {
  if (core_ == nullptr) {
    return false;
  }
  if (!actions_to_live_ || (*actions_to_live_)-- > 0) {
    return true;
  }
  Die();
  return false;
}

void SimNode::Die() {
  if (dies_by_power_cut_) {
    CutPower();
  } else {
    Kill();
  }
}

void SimNode::Pause() {
  paused_ = true;
}

void SimNode::Resume() {
  paused_ = false;
  std::vector<Input> waiting = std::exchange(inbox_, {});
  for (Input& input : waiting) {
    Take(std::move(input));  // a slow disk may stop it again
  }
}

void SimNode::Take(Input input) {
  if (core_ == nullptr) {
    return;
  }
  if (paused_) {
    inbox_.push_back(std::move(input));
    return;
  }
  const uint64_t syncs = disk_.syncs();
  input();
  WaitForDisk(syncs);
}

void SimNode::WaitForDisk(uint64_t syncs_before) {
  if (core_ == nullptr || slow_sync_ == Duration{} || disk_.syncs() == syncs_before) {
    return;
  }
  Pause();
  const Duration wait = slow_sync_ * static_cast<int64_t>(disk_.syncs() - syncs_before);
  queue_->After(wait, [this, boot = boot_counter_] {
    if (core_ && boot_counter_ == boot && paused_) {
      Resume();
    }
  });
}

void SimNode::ScheduleTick() {
  // Nodes do not tick in step, and no node ticks quite evenly.
  const auto span = static_cast<uint64_t>(setup_.tick.count());
  const Duration after(static_cast<int64_t>(span / 2 + random_.Below(span)));
  queue_->After(after, [this, boot = boot_counter_] { Tick(boot); });
}

void SimNode::Tick(uint64_t boot) {
  if (core_ == nullptr || boot_counter_ != boot) {
    return;
  }
  Take([this] {
    Apply(core_->OnTick(now()));
    if (core_ && rounds_) {
      TickRounds();
    }
    if (core_ && adversary_) {
      adversary_->OnTick(*this);
    }
  });
  if (core_ && setup_.syncs_items && disk_.dirty() && !paused_ &&
      queue_->now() - last_sync_ >= kSyncPeriod) {
    disk_.Sync();
    last_sync_ = queue_->now();
  }
  if (core_) {
    ScheduleTick();
  }
}

void SimNode::LinkOpened(federation::LinkId link, const std::string& dialed_address) {
  federation::LinkChannel channel;
  channel.source = network_->SourceOf(link);
  Take([this, link, dialed_address, channel] {
    Apply(core_->OnLinkOpened(link, dialed_address, now(), channel));
  });
}

void SimNode::DialFailed(const std::string& address) {
  Take([this, address] { Apply(core_->OnDialFailed(address, now())); });
}

void SimNode::FrameArrived(federation::LinkId link, const Wire& wire) {
  if (paused_) {
    Take([this, link, wire] { TakeFrame(link, wire); });
  } else if (core_) {
    TakeFrame(link, wire);
  }
}

void SimNode::TakeFrame(federation::LinkId link, const Wire& wire) {
  if (adversary_ && wire.frame) {
    NoteHandshake(link, *wire.frame);
    if (!adversary_->OnReceive(*this, link, wire.frame)) {
      return;
    }
  }
  Apply(wire.frame ? core_->OnFrame(link, *wire.frame, now()) : core_->OnBadFrame(link, now()));
}

void SimNode::LinkClosed(federation::LinkId link) {
  open_links_.erase(link);
  Take([this, link] { Apply(core_->OnLinkClosed(link, now())); });
}

void SimNode::NoteHandshake(federation::LinkId link, const federation::v1::WireFrame& frame) {
  if (frame.has_hello_proof()) {
    open_links_.insert(link);
  }
}

void SimNode::Apply(federation::Actions actions) {
  const std::vector<privacy::Withdrawal> withdrawals = SignWithdrawals(actions);
  for (federation::Action& action : actions) {
    if (!Survives()) {
      return;
    }
    Do(action);
  }
  for (const privacy::Withdrawal& withdrawal : withdrawals) {
    if (!Survives()) {
      return;
    }
    auto told = core_->OfferWithdrawal(withdrawal, now());
    RUVD_CHECK(told.ok());
    Apply(*std::move(told));
  }
}

void SimNode::Do(federation::Action& action) {
  if (auto* send = std::get_if<ruvd::federation::SendFrame>(&action)) {
    if (adversary_) {
      NoteHandshake(send->link, *send->frame);
      adversary_->OnSend(*this, send->link, send->frame);
    } else {
      SendFrame(send->link, std::move(send->frame));
    }
  } else if (auto* close = std::get_if<federation::CloseLink>(&action)) {
    open_links_.erase(close->link);
    network_->Close(close->link);
  } else if (auto* dial = std::get_if<federation::Dial>(&action)) {
    network_->Dial(setup_.number, dial->address);
  } else if (auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
    Keep(accepted->item, accepted->own);
  } else if (auto* withdrawn = std::get_if<federation::ItemWithdrawn>(&action)) {
    if (!setup_.forgets_withdrawn) {
      withdrawn_.push_back(withdrawn->item);
    }
    if (rounds_) {
      rounds_->OnWithdrawn(withdrawn->item);
    }
  } else if (auto* dropped = std::get_if<federation::ItemDropped>(&action)) {
    Drop(*dropped);
  } else if (auto* revoked = std::get_if<federation::RevocationsChanged>(&action)) {
    disk_.PutRevocations(revoked->list);
    disk_.Sync();
    if (rounds_) {
      rounds_->ExcludeExpelled(*core_);
    }
  } else if (std::holds_alternative<federation::EvidenceChanged>(action)) {
    disk_.PutEvidence(core_->Evidence());
    if (rounds_) {
      rounds_->ExcludeExpelled(*core_);
    }
  } else if (std::holds_alternative<federation::ScoresChanged>(action)) {
    disk_.PutScores(core_->Scores(now()));
  } else if (auto* refused = std::get_if<federation::MessageRefused>(&action)) {
    audit_->Refused(setup_.number, refused->link, refused->status);
  } else if (auto* changed = std::get_if<federation::MemberChanged>(&action)) {
    audit_->MemberSeen(setup_.number, changed->member);
  }
}

void SimNode::Keep(const federation::Item& item, bool own) {
  if (own) {
    audit_->Signed(setup_.number, item.id, *item.payload, item.expires_ms);
    if (!adversary_) {
      CheckTier(item);
    }
    if (item.kind == federation::ItemKind::kContribution && !adversary_) {
      NoteContribution(item);
    } else if (item.kind == federation::ItemKind::kMaskShare) {
      NoteShare(item);
    }
  }
  audit_->Accepted(setup_.number, item, own);
  disk_.PutItem(item);
  Hold(item.id, true);
  if (rounds_) {
    rounds_->OnItem(item);
  }
  if (own && setup_.syncs_items) {
    disk_.Sync();
  }
  if (own && !adversary_) {
    audit_->Acknowledged(item.id);
  }
}

void SimNode::Drop(const federation::ItemDropped& dropped) {
  disk_.DeleteItem(dropped.id);
  Hold(dropped.id, false);
  if (rounds_) {
    rounds_->OnDropped(dropped);
  }
  if (dropped.kind == federation::ItemKind::kCheckpoint ||
      dropped.kind == federation::ItemKind::kWithdrawal) {
    audit_->Replaced(setup_.number, dropped.id);
  }
}

void SimNode::Hold(const Digest& id, bool held) {
  if (held ? held_.insert(id).second : held_.erase(id) > 0) {
    heads_ ^= PrefixOf(id);
  }
}

absl::Status SimNode::OfferPattern(const federation::SharedPattern& pattern) {
  if (core_ == nullptr || paused_) {
    return absl::UnavailableError("process does not run");
  }
  ASSIGN_OR_RETURN(federation::Actions actions, core_->OfferPattern(pattern, now()));
  Apply(std::move(actions));
  return absl::OkStatus();
}

federation::SharedPattern SimNode::SomePattern() {
  return PatternOf(random_.Next());
}

std::optional<std::string> SimNode::SomeAddress() {
  const size_t other = random_.Below(audit_->nodes());
  return other == setup_.number ? std::nullopt
                                : std::optional(IdentityOf(other).config.listen_address);
}

uint64_t SimNode::payload_bytes_received() const {
  return earlier_payload_bytes_ + (core_ ? core_->counters().payload_bytes_received : 0);
}

void SimNode::SendFrame(federation::LinkId link,
                        std::shared_ptr<const federation::v1::WireFrame> frame) {
  network_->Send(link, network_->WireOf(std::move(frame)));
}

void SimNode::SendBytes(federation::LinkId link, const std::string& bytes) {
  auto frame = std::make_shared<federation::v1::WireFrame>();
  Wire wire{.hash = HashOfBytes(bytes), .bytes = static_cast<uint32_t>(bytes.size())};
  if (frame->ParseFromString(bytes)) {
    wire.frame = std::move(frame);
  }
  network_->Send(link, std::move(wire));
}

}  // namespace ruvd::test
