// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/update_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "federation/daf/bank_alignment.h"
#include "federation/daf/core_delta.h"

namespace ruvd::sharing {
namespace {

// Scales an update down to the largest norm that peers accept, which a long training run on one
// lesson can exceed. The direction, which holds what was learned, stays.
void ClipJointly(federation::AdapterUpdate* update) {
  // Rounding the scaled values to float must not exceed the bound again.
  constexpr double kMargin = 1e-6;
  const double bound = federation::UpdateRules().max_norm * (1 - kMargin);
  const double norm = federation::NormOf(*update);
  if (!(norm > bound)) {
    return;
  }
  for (federation::BankValues& bank : update->banks) {
    for (float& value : bank.values) {
      value = static_cast<float>(value * (bound / norm));
    }
  }
}

std::vector<federation::ModuleShape> ModulesOf(const inference::ProjectionFrame& frame) {
  const auto rank = static_cast<uint32_t>(frame.rank);
  return {{.target = frame.target, .rows = rank, .columns = rank}};
}

}  // namespace

federation::AdapterUpdateRules RulesOf(const UpdateLayout& layout) {
  return {.kind = federation::FactorKind::kCore,
          .model_hash = layout.model_hash,
          .frame_id = layout.frame->id,
          .modules = ModulesOf(*layout.frame),
          .max_norm = federation::UpdateRules().max_norm};
}

federation::TimestepHistogram EvenSchedule() {
  std::array<uint64_t, federation::kScheduleBins> counts{};
  counts.fill(1);
  return federation::HistogramOf(counts);
}

federation::AdapterUpdate UpdateOfBanks(const UpdateLayout& layout, federation::BankedValues banks,
                                        uint64_t examples) {
  federation::AdapterUpdate update{.kind = federation::FactorKind::kCore,
                                   .model_hash = layout.model_hash,
                                   .frame_id = layout.frame->id,
                                   .examples = examples,
                                   .schedule = EvenSchedule(),
                                   .boundaries = layout.boundaries,
                                   .modules = ModulesOf(*layout.frame),
                                   .banks = {}};
  for (std::vector<float>& values : banks) {
    update.banks.push_back(
        {.bank = static_cast<uint32_t>(update.banks.size()), .values = std::move(values)});
  }
  ClipJointly(&update);
  return update;
}

std::optional<federation::BankedValues> CoreByBank(const serving::PatternPayload& payload,
                                                   const UpdateLayout& layout) {
  const UpdateLayout trained{.frame = layout.frame, .boundaries = payload.core_boundaries};
  if (payload.core.empty() || payload.frame_id != layout.frame->id ||
      payload.core.size() != trained.values()) {
    return std::nullopt;
  }
  federation::AdapterUpdate update{.boundaries = trained.boundaries, .modules = {}, .banks = {}};
  for (size_t bank = 0; bank < trained.banks(); ++bank) {
    const auto begin =
        payload.core.begin() + static_cast<std::ptrdiff_t>(bank * layout.values_per_bank());
    update.banks.push_back(
        {.bank = static_cast<uint32_t>(bank),
         .values = {begin, begin + static_cast<std::ptrdiff_t>(layout.values_per_bank())}});
  }
  federation::BankedValues banks;
  for (federation::AlignedBank& bank : federation::AlignBanks(update, layout.boundaries)) {
    banks.push_back(std::move(bank.values));
  }
  return banks;
}

std::optional<std::vector<float>> CoreForAllT(const serving::PatternPayload& payload,
                                              const inference::ProjectionFrame& frame) {
  std::optional<federation::BankedValues> banks = CoreByBank(payload, {.frame = &frame});
  return banks ? std::optional(std::move(banks->front())) : std::nullopt;
}

}  // namespace ruvd::sharing
