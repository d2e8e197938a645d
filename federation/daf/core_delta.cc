// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/core_delta.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "update {}; its sender must use this cluster's model, frame and version", what);
}

bool Before(const CoreDelta& a, const CoreDelta& b) {
  return std::tie(a.target, a.bank) < std::tie(b.target, b.bank);
}

absl::Status CheckCore(const CoreDelta& core, const UpdateRules& rules) {
  const auto rank = rules.rank_of_target.find(core.target);
  if (rank == rules.rank_of_target.end()) {
    return Invalid(fmt::format("names the unknown target {}", core.target));
  }
  if (core.rank != rank->second || core.values.steps.size() != size_t{core.rank} * core.rank) {
    return Invalid(
        fmt::format("has rank {} for {} instead of rank {}", core.rank, core.target, rank->second));
  }
  if (core.bank >= rules.banks) {
    return Invalid(fmt::format("names bank {} of {}", core.bank, rules.banks));
  }
  if (!inference::IsCanonical(core.values)) {
    return Invalid(
        fmt::format("has values for {} that are not in their shortest form", core.target));
  }
  return absl::OkStatus();
}

absl::StatusOr<CoreDelta> ReadCore(ByteReader& reader) {
  CoreDelta core;
  const auto target_length = reader.Read<uint16_t>();
  if (!target_length || *target_length == 0 || *target_length > limits::kMaxTargetBytes) {
    return Invalid("has a target name of a wrong length");
  }
  const auto target = reader.ReadBytes(*target_length);
  const auto bank = reader.Read<uint32_t>();
  const auto rank = reader.Read<uint32_t>();
  if (reader.failed() || *rank == 0 || *rank > limits::kMaxRank ||
      *bank >= limits::kMaxUpdateBanks) {
    return Invalid("is truncated, or has a bank or rank out of range");
  }
  const auto exponent = reader.Read<int8_t>();
  const auto steps = reader.ReadBytes(uint64_t{*rank} * *rank);
  if (!exponent || !steps) {
    return Invalid("is truncated inside a core");
  }
  core.target = AsText(*target);
  core.bank = *bank;
  core.rank = *rank;
  core.values.exponent = *exponent;
  core.values.steps.assign(steps->begin(), steps->end());
  if (!inference::IsCanonical(core.values)) {
    return Invalid("has values that are not in their shortest form");
  }
  return core;
}

}  // namespace

void SortCores(std::vector<CoreDelta>& cores) {
  std::sort(cores.begin(), cores.end(), Before);
}

double NormOf(std::span<const CoreDelta> cores) {
  double sum = 0;
  for (const CoreDelta& core : cores) {
    double steps = 0;
    for (const int8_t step : core.values.steps) {
      steps += int{step} * int{step};
    }
    sum += std::ldexp(steps, 2 * core.values.exponent);
  }
  return std::sqrt(sum);
}

absl::Status CheckCores(std::span<const CoreDelta> cores, const UpdateRules& rules) {
  for (size_t i = 0; i < cores.size(); ++i) {
    if (i > 0 && !Before(cores[i - 1], cores[i])) {
      return Invalid("lists cores twice or out of order");
    }
    RETURN_IF_ERROR(CheckCore(cores[i], rules));
  }
  if (const double norm = NormOf(cores); norm > rules.max_norm) {
    return Invalid(fmt::format("has norm {:.3g} above the bound {:.3g}", norm, rules.max_norm));
  }
  return absl::OkStatus();
}

void WriteCores(std::span<const CoreDelta> cores, ByteWriter& writer) {
  writer.Write(static_cast<uint32_t>(cores.size()));
  for (const CoreDelta& core : cores) {
    writer.Write(static_cast<uint16_t>(core.target.size())).WriteText(core.target);
    writer.Write(core.bank).Write(core.rank).Write(core.values.exponent);
    writer.WriteBytes(
        {reinterpret_cast<const uint8_t*>(core.values.steps.data()), core.values.steps.size()});
  }
}

absl::StatusOr<std::vector<CoreDelta>> ReadCores(ByteReader& reader) {
  const auto count = reader.Read<uint32_t>();
  if (!count || *count > limits::kMaxCores) {
    return Invalid("is truncated or lists too many cores");
  }
  std::vector<CoreDelta> cores;
  for (uint32_t i = 0; i < *count; ++i) {
    ASSIGN_OR_RETURN(CoreDelta core, ReadCore(reader));
    if (!cores.empty() && !Before(cores.back(), core)) {
      return Invalid("lists cores twice or out of order");
    }
    cores.push_back(std::move(core));
  }
  return cores;
}

}  // namespace ruvd::federation
