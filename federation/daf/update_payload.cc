// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/update_payload.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/bank_alignment.h"

namespace ruvd::federation {
namespace {

// `delta` is decoded, so its cores are sorted and unique.
absl::StatusOr<AdapterUpdate> FromVersion1(const AdapterDelta& delta,
                                           const AdapterUpdateRules& rules) {
  AdapterUpdate update{.kind = FactorKind::kCore,
                       .model_hash = rules.model_hash,
                       .frame_id = rules.frame_id,
                       .modules = {},
                       .banks = {BankValues{.bank = 0, .values = {}}}};
  for (const ModuleShape& module : rules.modules) {
    const auto core = std::ranges::find_if(delta.cores, [&module](const CoreDelta& candidate) {
      return candidate.target == module.target && candidate.bank == kVersion1Bank;
    });
    if (core == delta.cores.end()) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                   "update has no core of bank {} for {}, the one that is served; its sender must "
                   "use this version",
                   kVersion1Bank, module.target);
    }
    update.modules.push_back({.target = core->target, .rows = core->rank, .columns = core->rank});
    std::vector<float>& values = update.banks[0].values;
    values.insert(values.end(), core->values.begin(), core->values.end());
  }
  return update;
}

}  // namespace

uint16_t UpdateVersionOf(std::string_view payload) {
  return ByteReader(AsBytes(payload)).Read<uint16_t>().value_or(0);
}

AdapterUpdateRules BankedRules(const UpdateRules& rules, const Digest& model_hash,
                               const Digest& frame_id) {
  AdapterUpdateRules banked{.kind = FactorKind::kCore,
                            .model_hash = model_hash,
                            .frame_id = frame_id,
                            .modules = {},
                            .max_norm = rules.max_norm};
  for (const auto& [target, rank] : rules.rank_of_target) {
    banked.modules.push_back({.target = target, .rows = rank, .columns = rank});
  }
  return banked;
}

absl::StatusOr<AdapterUpdate> ReadUpdate(std::span<const uint8_t> payload,
                                         const AdapterUpdateRules& rules) {
  if (UpdateVersionOf(AsText(payload)) == kUpdateVersionOfBanks) {
    return DecodeAdapterUpdate(payload);
  }
  ASSIGN_OR_RETURN(const AdapterDelta delta, DecodeAdapterDelta(payload));
  return FromVersion1(delta, rules);
}

AdapterDelta AsVersion1(const AdapterUpdate& update) {
  const std::vector<float> values = AlignBanks(update, {}).front().values;
  AdapterDelta delta;
  auto next = values.begin();
  for (const ModuleShape& module : update.modules) {
    if (values.empty()) {
      break;
    }
    const auto end = next + static_cast<std::ptrdiff_t>(module.values());
    delta.cores.push_back({.target = module.target,
                           .bank = kVersion1Bank,
                           .rank = module.rows,
                           .values = {next, end}});
    next = end;
  }
  return delta;
}

}  // namespace ruvd::federation
