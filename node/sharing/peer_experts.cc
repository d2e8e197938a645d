// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/peer_experts.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "node/log/log.h"
#include "node/serving/experts.h"
#include "node/sharing/limits.h"

namespace ruvd::sharing {
namespace {

// Returns "name@version" of a peer's expert, as trajectories name it.
std::string LabelOf(const privacy::NodeId& origin, uint32_t version) {
  return fmt::format("{}@{}", serving::NameOfExpert(origin), version);
}

// Returns the time until the next trial. A look at the texts of this node reads all of them, so it
// is made less often where it finds nothing.
int64_t WaitMillis(int misses) {
  const int doublings = std::clamp(misses - 1, 0, 10);
  return std::min(limits::kExpertLookMillis << doublings, limits::kLongestExpertLookMillis);
}

}  // namespace

PeerExperts::~PeerExperts() {
  for (const auto& [origin, held] : held_) {
    catalog_.RemoveExpert(serving::NameOfExpert(origin));
  }
}

bool PeerExperts::IsRefused(ExpertStanding standing) {
  return standing != ExpertStanding::kTrial && standing != ExpertStanding::kServing;
}

void PeerExperts::Store(const federation::Item& item) {
  if (item.kind != federation::ItemKind::kExpert || item.origin == self_) {
    return;
  }
  const auto expert = federation::DecodeSharedExpert(AsBytes(*item.payload));
  if (!expert.ok()) {
    return;  // the core checked it
  }
  const auto known = held_.find(item.origin);
  if (known != held_.end()) {
    if (known->second.created_ms >= expert->created_ms) {
      return;
    }
    Remove(known->second.item);
  }
  const std::string label = LabelOf(item.origin, expert->version);
  Held held{.item = item.id,
            .payload = item.payload,
            .version = expert->version,
            .lessons = expert->lessons,
            .created_ms = expert->created_ms,
            .file = Sha256(expert->file)};
  Recall(item.origin, &held);
  if (ratings_.AreBad(label)) {
    Stop(item.origin, ExpertStanding::kRatedBadly, &held);
  }
  held_.insert_or_assign(item.origin, std::move(held));
}

void PeerExperts::Recall(const privacy::NodeId& origin, Held* held) {
  const auto found = former_.find(origin);
  if (found == former_.end()) {
    return;
  }
  const Held former = std::move(found->second);
  former_.erase(found);
  held->due_ms = former.due_ms;
  if (held->version != former.version || held->file != former.file) {
    return;
  }
  held->why = former.why;
  held->texts = former.texts;
  held->former_texts = former.former_texts;
  held->gain = former.gain;
  held->misses = former.misses;
  if (former.standing != ExpertStanding::kServing) {
    held->standing = former.standing;
  } else if (serving() < limits::kMaxServingExperts) {
    auto adapter =
        ReadExpertPayload(*held->payload, catalog_.model(), serving::NameOfExpert(origin));
    if (adapter.ok()) {
      SetServing(*std::move(adapter), held);
    }
  }
}

void PeerExperts::Remove(const Digest& item) {
  const auto found =
      std::ranges::find_if(held_, [&item](const auto& entry) { return entry.second.item == item; });
  if (found != held_.end()) {
    catalog_.RemoveExpert(serving::NameOfExpert(found->first));
    found->second.payload = nullptr;
    former_.insert_or_assign(found->first, std::move(found->second));
    held_.erase(found);
  }
}

std::optional<PeerExperts::Trial> PeerExperts::NextTrial(int64_t now_ms) {
  const auto next = std::ranges::min_element(held_, {}, [](const auto& entry) {
    return std::pair(IsRefused(entry.second.standing), entry.second.due_ms);
  });
  if (next == held_.end() || IsRefused(next->second.standing) || next->second.due_ms > now_ms) {
    return std::nullopt;
  }
  return Trial{.origin = next->first,
               .item = next->second.item,
               .payload = next->second.payload,
               .former_texts = next->second.former_texts};
}

PeerExperts::Held* PeerExperts::Find(const Trial& trial) {
  const auto found = held_.find(trial.origin);
  return found == held_.end() || found->second.item != trial.item ? nullptr : &found->second;
}

void PeerExperts::EndTrial(const Trial& trial, const ExpertVerdict& verdict, int64_t now_ms) {
  Held* const held = Find(trial);
  if (held == nullptr || IsRefused(held->standing)) {
    return;
  }
  held->misses = verdict.scored ? 0 : held->misses + 1;
  held->due_ms = now_ms + WaitMillis(held->misses);
  held->texts = verdict.texts;
  held->why = verdict.why;
  if (IsRefused(verdict.standing)) {
    // Another version of this peer has to wait.
    held->due_ms = now_ms + limits::kLongestExpertLookMillis;
    Stop(trial.origin, verdict.standing, held);
    return;
  }
  if (!verdict.scored) {
    return;
  }
  held->gain = verdict.gain;
  held->former_texts = 2 * verdict.texts - 1;
  if (verdict.standing == ExpertStanding::kServing) {
    Serve(verdict, held);
  } else {
    Stop(trial.origin, ExpertStanding::kTrial, held);  // more texts say that it does not help
  }
}

void PeerExperts::Postpone(const Trial& trial, int64_t now_ms) {
  if (Held* const held = Find(trial); held != nullptr) {
    held->due_ms = now_ms + WaitMillis(++held->misses);
  }
}

void PeerExperts::Serve(const ExpertVerdict& verdict, Held* held) {
  if (held->standing == ExpertStanding::kServing) {
    return;
  }
  if (serving() >= limits::kMaxServingExperts) {
    const auto least = std::ranges::min_element(held_, {}, [](const auto& entry) {
      return std::pair(entry.second.standing != ExpertStanding::kServing, entry.second.gain);
    });
    if (least->second.gain >= verdict.gain) {
      return;
    }
    Stop(least->first, ExpertStanding::kTrial, &least->second);
  }
  SetServing(verdict.adapter, held);
}

void PeerExperts::SetServing(std::shared_ptr<const inference::Talora> adapter, Held* held) {
  const std::string name = adapter->name;
  const absl::Status served = catalog_.SetExpert(
      std::move(adapter), [payload = held->payload, name, &model = catalog_.model()] {
        return ReadExpertPayload(*payload, model, name);
      });
  if (!served.ok()) {
    LogError("{} cannot serve: {}", name, MessageOf(served));
    return;
  }
  held->standing = ExpertStanding::kServing;
}

void PeerExperts::Stop(const privacy::NodeId& origin, ExpertStanding standing, Held* held) {
  if (held->standing == ExpertStanding::kServing) {
    catalog_.RemoveExpert(serving::NameOfExpert(origin));
  }
  held->standing = standing;
}

void PeerExperts::OnRated(const RatedUse& use) {
  for (const std::string& adapter : use.adapters) {
    const std::string name = adapter.substr(0, adapter.find('@'));
    if (!serving::IsExpertName(name)) {
      continue;
    }
    ratings_.Add(adapter, use.response_id, use.rating);
    const auto found = std::ranges::find_if(held_, [&adapter](const auto& entry) {
      return LabelOf(entry.first, entry.second.version) == adapter;
    });
    if (found != held_.end() && !IsRefused(found->second.standing) && ratings_.AreBad(adapter)) {
      LogWarning("{} is rated badly and serves no longer", adapter);
      Stop(found->first, ExpertStanding::kRatedBadly, &found->second);
    }
  }
}

std::map<privacy::NodeId, PeerExpertView> PeerExperts::View() const {
  std::map<privacy::NodeId, PeerExpertView> view;
  for (const auto& [origin, held] : held_) {
    view[origin] = {.version = held.version,
                    .lessons = held.lessons,
                    .standing = held.standing,
                    .why = held.why,
                    .texts = held.texts,
                    .gain = held.gain};
  }
  return view;
}

size_t PeerExperts::serving() const {
  return static_cast<size_t>(std::ranges::count_if(
      held_, [](const auto& entry) { return entry.second.standing == ExpertStanding::kServing; }));
}

}  // namespace ruvd::sharing
