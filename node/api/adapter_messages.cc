// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/adapter_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/merge.h"

namespace ruvd::api {
namespace {

// Returns the parts with their names; an adapter without banks has a single part without a name.
std::vector<std::pair<std::string, const inference::Adapter*>> PartsOf(
    const inference::Talora& talora) {
  std::vector<std::pair<std::string, const inference::Adapter*>> parts;
  if (talora.trunk != nullptr) {
    parts.emplace_back(talora.residuals.empty() ? "" : "trunk", talora.trunk.get());
  }
  for (size_t k = 0; k < talora.residuals.size(); ++k) {
    parts.emplace_back(fmt::format("bank {}", k), talora.residuals[k].get());
  }
  return parts;
}

double Norm(const inference::LowRank* change) {
  return change == nullptr ? 0 : std::sqrt(std::max(0.0, inference::ChangeDot(*change, *change)));
}

const inference::LowRank* ChangeOf(const inference::Adapter* adapter, const std::string& tensor) {
  if (adapter == nullptr) {
    return nullptr;
  }
  const auto found = adapter->targets.find(tensor);
  return found == adapter->targets.end() ? nullptr : &found->second;
}

void WritePartDifference(const std::string& part, const inference::Adapter* a,
                         const inference::Adapter* b, adapter::v1::DiffAdaptersResponse* response) {
  std::set<std::string> tensors;
  for (const inference::Adapter* adapter : {a, b}) {
    for (const auto& [tensor, change] :
         adapter != nullptr ? adapter->targets : inference::Adapter().targets) {
      tensors.insert(tensor);
    }
  }
  for (const std::string& tensor : tensors) {
    const inference::LowRank* x = ChangeOf(a, tensor);
    const inference::LowRank* y = ChangeOf(b, tensor);
    const double norm_a = Norm(x);
    const double norm_b = Norm(y);
    const double dot = x != nullptr && y != nullptr ? inference::ChangeDot(*x, *y) : 0;
    auto* message = response->add_targets();
    message->set_part(part);
    message->set_tensor(tensor);
    message->set_norm_a(norm_a);
    message->set_norm_b(norm_b);
    message->set_distance(std::sqrt(std::max(0.0, norm_a * norm_a + norm_b * norm_b - 2 * dot)));
    message->set_cosine(norm_a * norm_b > 0 ? dot / (norm_a * norm_b) : 0);
  }
}

// The messages number these from 1, because 0 is "not set".
adapter::v1::AdapterKind WireKind(inference::AdapterKind kind) {
  static_assert(static_cast<int>(inference::AdapterKind::kLora) + 1 ==
                adapter::v1::ADAPTER_KIND_LORA);
  static_assert(static_cast<int>(inference::AdapterKind::kCore) + 1 ==
                adapter::v1::ADAPTER_KIND_CORE);
  return static_cast<adapter::v1::AdapterKind>(static_cast<int>(kind) + 1);
}
adapter::v1::AdapterSource WireSource(serving::AdapterOrigin origin) {
  static_assert(static_cast<int>(serving::AdapterOrigin::kConfig) + 1 ==
                adapter::v1::ADAPTER_SOURCE_CONFIG);
  static_assert(static_cast<int>(serving::AdapterOrigin::kPeer) + 1 ==
                adapter::v1::ADAPTER_SOURCE_PEER);
  return static_cast<adapter::v1::AdapterSource>(static_cast<int>(origin) + 1);
}
adapter::v1::BankStrategy WireStrategy(inference::BankStrategy strategy) {
  static_assert(static_cast<int>(inference::BankStrategy::kDiscrete) + 1 ==
                adapter::v1::BANK_STRATEGY_DISCRETE);
  static_assert(static_cast<int>(inference::BankStrategy::kSoftBoundary) + 1 ==
                adapter::v1::BANK_STRATEGY_SOFT_BOUNDARY);
  return static_cast<adapter::v1::BankStrategy>(static_cast<int>(strategy) + 1);
}

void WriteBanks(const serving::AdapterSummary& summary, adapter::v1::Banks* banks) {
  const inference::BankSchedule& schedule = summary.schedule;
  banks->mutable_boundaries()->Add(schedule.boundaries.begin(), schedule.boundaries.end());
  banks->set_strategy(WireStrategy(schedule.strategy));
  banks->set_temperature(schedule.temperature);
  banks->set_trunk(summary.trunk);
  banks->set_residual_rate(summary.training.residual_rate);
  banks->set_residual_decay(summary.training.residual_decay);
}

}  // namespace

void WriteAdapter(const serving::CatalogEntry& entry, adapter::v1::Adapter* message) {
  message->set_name(entry.info.name);
  message->set_version(entry.info.version);
  message->set_id(ToHex(entry.info.id));
  message->set_bytes(entry.info.bytes);
  message->set_hot(entry.info.hot);
  message->set_pinned(entry.info.pinned);
  message->set_served(entry.info.served);
  message->set_uses(entry.info.uses);
  message->set_weight(entry.weight);
  message->set_source(WireSource(entry.origin));
  message->set_path(entry.path);
  message->set_by_words(entry.evidence != nullptr);
  const serving::AdapterSummary& summary = entry.summary;
  message->set_kind(WireKind(summary.kind));
  message->set_frame_id(inference::UsesFrame(summary.kind) ? ToHex(summary.frame_id) : "");
  message->set_rank(summary.rank);
  message->set_targets(summary.targets);
  if (summary.banks) {
    WriteBanks(summary, message->mutable_banks());
  }
}

void WriteTargets(const inference::Talora& talora, adapter::v1::GetAdapterResponse* response) {
  for (const auto& [name, part] : PartsOf(talora)) {
    for (const auto& [tensor, change] : part->targets) {
      auto* target = response->add_targets();
      target->set_part(name);
      target->set_tensor(tensor);
      target->set_rank(static_cast<uint32_t>(change.rank));
      target->set_in(static_cast<uint32_t>(change.in));
      target->set_out(static_cast<uint32_t>(change.out));
      target->set_norm(Norm(&change));
    }
  }
}

void WriteDifference(const inference::Talora& a, const inference::Talora& b,
                     adapter::v1::DiffAdaptersResponse* response) {
  response->set_equal(inference::AdapterId(a) == inference::AdapterId(b));
  const bool banks = !a.residuals.empty() || !b.residuals.empty();
  if (a.trunk != nullptr || b.trunk != nullptr) {
    WritePartDifference(banks ? "trunk" : "", a.trunk.get(), b.trunk.get(), response);
  }
  for (size_t k = 0; k < std::max(a.residuals.size(), b.residuals.size()); ++k) {
    WritePartDifference(fmt::format("bank {}", k),
                        k < a.residuals.size() ? a.residuals[k].get() : nullptr,
                        k < b.residuals.size() ? b.residuals[k].get() : nullptr, response);
  }
}

}  // namespace ruvd::api
