// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "tests/federation/fixture.h"
#include "tests/sim/identities.h"

namespace ruvd::test {
namespace {

// One cause violates an invariant on every node; the first violations show what is wrong.
constexpr size_t kMaxViolations = 20;
// By this much clocks may differ when an item expires: kClockDrift, a step and a tick.
constexpr int64_t kExpiryMillis = 60'000;

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void AddTo(std::map<std::string, uint64_t>& sum, const std::map<std::string, uint64_t>& terms) {
  for (const auto& [key, value] : terms) {
    sum[key] += value;
  }
}

std::string Short(const Digest& id) {
  return ToHex(id).substr(0, 16);
}

}  // namespace

void Measures::Merge(const Measures& other) {
  offered += other.offered;
  acknowledged += other.acknowledged;
  deliveries += other.deliveries;
  due_deliveries += other.due_deliveries;
  delivered_bytes += other.delivered_bytes;
  payload_bytes_received += other.payload_bytes_received;
  accepted_byzantine += other.accepted_byzantine;
  withdrawn += other.withdrawn;
  withdrawn_lessons += other.withdrawn_lessons;
  states_settled += other.states_settled;
  states_taken += other.states_taken;
  noised += other.noised;
  masked_shares += other.masked_shares;
  masked_in_sums += other.masked_in_sums;
  masked_sums += other.masked_sums;
  false_suspicions += other.false_suspicions;
  false_deaths += other.false_deaths;
  graylisted += other.graylisted;
  delivery.Merge(other.delivery);
  suspicion.Merge(other.suspicion);
  death.Merge(other.death);
  heal.Merge(other.heal);
  adapter_error.Merge(other.adapter_error);
  AddTo(refused, other.refused);
  AddTo(refused_honest, other.refused_honest);
  refused_honest_first.insert(other.refused_honest_first.begin(), other.refused_honest_first.end());
}

Audit::Audit(const EventQueue& queue, const SimNetwork& network, size_t nodes)
    : queue_(&queue), network_(&network), nodes_(nodes) {}

std::string Audit::Where(size_t node) const {
  return fmt::format("at {:.3f} s on node {}", Seconds(queue_->now().time_since_epoch()), node);
}

void Audit::Violate(std::string invariant, std::string detail) {
  if (violations_.size() < kMaxViolations) {
    violations_.push_back({.invariant = std::move(invariant), .detail = std::move(detail)});
  }
}

void Audit::Started(size_t node, uint64_t boot_counter) {
  Node& entry = nodes_[node];
  if (boot_counter <= entry.boot_counter) {
    Violate("boot_counter_reused",
            fmt::format("{}: boot {} after {}", Where(node), boot_counter, entry.boot_counter));
  }
  entry.up = true;
  entry.boot_counter = boot_counter;
  entry.since = queue_->now();
}

void Audit::Crashed(size_t node) {
  nodes_[node].up = false;
  nodes_[node].crash = ++crashes_;
  nodes_[node].since = queue_->now();
}

void Audit::Signed(size_t node, const Digest& id, const std::string& payload, int64_t expires_ms) {
  SignedItem item{.origin = node, .payload_hash = Sha256(payload), .at = queue_->now()};
  item.number = static_cast<uint32_t>(signed_.size());
  item.expires_ms = expires_ms;
  signed_.emplace(id, item);
  measures_.offered += nodes_[node].byzantine ? 0 : 1;
}

void Audit::Acknowledged(const Digest& id) {
  SignedItem& item = signed_.at(id);
  item.acknowledged = true;
  ++measures_.acknowledged;
}

void Audit::Withdrawn(const Digest& id) {
  SignedItem& item = signed_.at(id);
  measures_.withdrawn += item.withdrawn || nodes_[item.origin].byzantine ? 0 : 1;
  item.withdrawn = true;
}

void Audit::Replaced(size_t node, const Digest& id) {
  const auto found = signed_.find(id);
  if (found != signed_.end() && found->second.origin == node) {
    found->second.replaced = true;
  }
}

void Audit::KeyReplaced(size_t node) {
  for (auto& [id, item] : signed_) {
    item.of_former_key = item.of_former_key || item.origin == node;
  }
}

void Audit::KeyEnded(size_t node) {
  for (auto& [id, item] : signed_) {
    item.replaced = item.replaced || (item.of_former_key && item.origin == node);
  }
}

void Audit::Released(size_t node, const Digest& id, std::string_view kind, bool charged) {
  ++nodes_[node].releases;
  if (!charged && !std::exchange(nodes_[node].uncharged, true)) {
    Violate("released_uncharged", fmt::format("{}: {} {} leaves before its charge is on the disk",
                                              Where(node), kind, Short(id)));
  }
}

void Audit::LeftUnderOtherTier(size_t node, const Digest& id, std::string_view kind) {
  Violate("left_under_other_tier",
          fmt::format("{}: {} {} leaves, which its operator's tier does not allow", Where(node),
                      kind, Short(id)));
}

void Audit::ChargedTwice(size_t node, const std::string& subject) {
  if (!std::exchange(nodes_[node].charged_twice, true)) {
    Violate("charged_twice", fmt::format("{}: {} is charged twice", Where(node), subject));
  }
}

void Audit::ReleasedInRound(size_t node, uint64_t round, const Digest& id, std::string_view kind,
                            bool charged) {
  Released(node, id, kind, charged);
  if (std::exchange(nodes_[node].shared_in, round) >= round) {
    Violate("second_release",
            fmt::format("{}: {} {} is another release of round {} or of an earlier one",
                        Where(node), kind, Short(id), round));
  }
}

void Audit::LessonWithdrawn(size_t node, const std::string& lesson) {
  nodes_[node].withdrawn_lessons.insert(lesson);
  ++measures_.withdrawn_lessons;
}

void Audit::MadeFrom(size_t node, const Digest& id, std::string_view kind,
                     const std::vector<std::string>& lessons) {
  nodes_[node].lessons_of[id] = lessons;
  for (const std::string& lesson : lessons) {
    if (nodes_[node].withdrawn_lessons.contains(lesson)) {
      Violate("withdrawn_lesson_trained",
              fmt::format("{}: {} {} is made from {}, which was withdrawn", Where(node), kind,
                          Short(id), lesson));
      return;
    }
  }
}

void Audit::CheckTakenBack(size_t node, const std::string& lesson,
                           const std::vector<Digest>& plain) {
  for (const Digest& id : plain) {
    const auto lessons = nodes_[node].lessons_of.find(id);
    if (lessons != nodes_[node].lessons_of.end() &&
        std::ranges::count(lessons->second, lesson) > 0) {
      Violate("withdrawn_lesson_kept",
              fmt::format("{}: contribution {} is still offered, although {} was withdrawn",
                          Where(node), Short(id), lesson));
    }
  }
}

bool Audit::Expires(const SignedItem& item) const {
  return item.expires_ms <= At(queue_->now().time_since_epoch()).wall_ms + kExpiryMillis;
}

bool Audit::IsDue(const SignedItem& item) const {
  return item.acknowledged && !item.withdrawn && !item.replaced && !Expires(item);
}

void Audit::Accepted(size_t node, const federation::Item& item, bool own) {
  if (nodes_[node].byzantine) {
    return;
  }
  const auto found = signed_.find(item.id);
  if (found == signed_.end() || found->second.payload_hash != Sha256(*item.payload) ||
      NumberOf(item.origin) != found->second.origin) {
    Violate("forged_item",
            fmt::format("{}: {} that its origin never signed", Where(node), Short(item.id)));
    return;
  }
  SignedItem& known = found->second;
  const uint64_t delivery = uint64_t{known.number} << 32 | node;
  measures_.delivered_bytes += own ? 0 : item.payload->size();
  if (nodes_[known.origin].byzantine) {
    ++measures_.accepted_byzantine;
  } else if (!own && delivered_.insert(delivery).second) {
    ++measures_.deliveries;
    ++known.deliveries;
    measures_.delivery.Add(Seconds(queue_->now() - known.at));
  }
}

void Audit::CheckMember(size_t node, const federation::Member& member, size_t subject) {
  const federation::GossipConfig& truth = IdentityOf(subject).config;
  if (member.address != truth.listen_address || member.name != truth.certificate.name ||
      member.model_hash != truth.model_hash || member.state == federation::MemberState::kLeft ||
      member.incarnation >> 32 > nodes_[subject].boot_counter) {
    Violate("forged_member",
            fmt::format("{}: believes what node {} never said (address {}, state {}, boot {})",
                        Where(node), subject, member.address, MemberStateName(member.state),
                        member.incarnation >> 32));
  }
}

void Audit::NoteState(size_t node, const federation::Member& member, size_t subject) {
  if (member.state == federation::MemberState::kAlive ||
      member.state == federation::MemberState::kLeft) {
    return;
  }
  const bool dead = member.state != federation::MemberState::kSuspect;
  const Node& entry = nodes_[subject];
  if (!entry.up) {
    const uint64_t notice = entry.crash << 33 | node << 1 | (dead ? 1 : 0);
    if (noticed_.insert(notice).second) {
      (dead ? measures_.death : measures_.suspicion).Add(Seconds(queue_->now() - entry.since));
    }
    return;
  }
  const TimePoint now = queue_->now();
  if (now - entry.since > kQuiet && now - entry.disturbed > kQuiet &&
      now - nodes_[node].disturbed > kQuiet && now - nodes_[node].since > kQuiet) {
    ++(dead ? measures_.false_deaths : measures_.false_suspicions);
  }
}

void Audit::MemberSeen(size_t node, const federation::Member& member) {
  if (nodes_[node].byzantine || member.self) {
    return;
  }
  const auto subject = NumberOf(member.id);
  if (!subject || *subject >= nodes_.size()) {
    Violate("forged_member", fmt::format("{}: a member that does not exist", Where(node)));
  } else if (!nodes_[*subject].byzantine) {
    CheckMember(node, member, *subject);
    NoteState(node, member, *subject);
  }
}

void Audit::Refused(size_t node, federation::LinkId link, const absl::Status& status) {
  if (nodes_[node].byzantine) {
    return;
  }
  const auto peer = network_->PeerOf(link);
  const std::string reason = ReasonOf(status);
  if (!peer || nodes_[*peer].byzantine) {
    ++measures_.refused[reason];
    return;
  }
  ++measures_.refused_honest[reason];
  measures_.refused_honest_first.try_emplace(
      reason, fmt::format("{} from node {}: {}", Where(node), *peer, MessageOf(status)));
}

void Audit::Graylisted(size_t node, const privacy::NodeId& member) {
  const auto subject = NumberOf(member);
  if (subject && *subject < nodes_.size() && nodes_[*subject].byzantine) {
    ++measures_.graylisted;
  } else {
    Violate("honest_member_graylisted",
            fmt::format("{}: keeps out {}", Where(node),
                        subject ? "node " + std::to_string(*subject) : "who does not exist"));
  }
}

void Audit::LedgerRead(size_t node, uint64_t spent, bool whole, size_t charges) {
  if (!whole || spent < nodes_[node].spent) {
    Violate("ledger_not_monotone", fmt::format("{}: {} spent after {}{}", Where(node), spent,
                                               nodes_[node].spent, whole ? "" : ", with a gap"));
  }
  if (charges < nodes_[node].releases) {
    Violate("released_uncharged", fmt::format("{}: {} charges for {} contributions that left",
                                              Where(node), charges, nodes_[node].releases));
  }
}

size_t Audit::due() const {
  return static_cast<size_t>(
      std::ranges::count_if(signed_, [&](const auto& entry) { return IsDue(entry.second); }));
}

uint64_t Audit::DueDeliveries() const {
  const auto honest = static_cast<uint64_t>(
      std::ranges::count_if(nodes_, [](const Node& node) { return !node.byzantine; }));
  uint64_t due = 0;
  for (const auto& [id, item] : signed_) {
    if (item.acknowledged) {
      due += IsDue(item) ? honest - 1 : item.deliveries;
    }
  }
  return due;
}

std::set<Digest> Audit::WithoutExpiring(const std::set<Digest>& held) const {
  std::set<Digest> rest;
  for (const Digest& id : held) {
    const auto found = signed_.find(id);
    const bool of_ended_key =
        found != signed_.end() && found->second.of_former_key && found->second.replaced;
    if (found == signed_.end() || (!Expires(found->second) && !of_ended_key &&
                                   !nodes_[found->second.origin].spreads_too_much)) {
      rest.insert(rest.end(), id);
    }
  }
  return rest;
}

void Audit::CheckItems(size_t node, const std::set<Digest>& held,
                       const std::set<Digest>& expected) {
  for (const auto& [id, item] : signed_) {
    if (item.withdrawn && held.contains(id)) {
      Violate("withdrawn_item_kept",
              fmt::format("{}: {} that node {} took back", Where(node), Short(id), item.origin));
      return;
    }
    if (IsDue(item) && !held.contains(id)) {
      Violate("acknowledged_item_lost",
              fmt::format("{}: {} of node {}, offered at {:.3f} s", Where(node), Short(id),
                          item.origin, Seconds(item.at.time_since_epoch())));
      return;
    }
  }
  for (const Digest& id : expected) {
    if (!held.contains(id)) {
      Violate("items_differ",
              fmt::format("{}: lacks {} that another honest node has, of node {}", Where(node),
                          Short(id), signed_.contains(id) ? signed_.at(id).origin : node));
      return;
    }
  }
}

void Audit::CheckMembers(size_t node, const std::vector<federation::Member>& members,
                         const std::vector<size_t>& honest) {
  std::map<privacy::NodeId, federation::MemberState> states;
  for (const federation::Member& member : members) {
    states[member.id] = member.state;
  }
  for (const size_t other : honest) {
    const auto found = states.find(IdentityOf(other).key.id());
    if (found == states.end() || found->second != federation::MemberState::kAlive) {
      Violate("honest_member_not_alive",
              fmt::format("{}: sees node {} as {}", Where(node), other,
                          found == states.end() ? std::string_view("unknown")
                                                : MemberStateName(found->second)));
      return;
    }
  }
}

}  // namespace ruvd::test
