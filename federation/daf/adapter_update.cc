// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/adapter_update.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

constexpr uint16_t kVersion = 1;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "update {}; its sender must use this cluster's model, frame and version", what);
}

bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

absl::Status CheckBoundaries(std::span<const float> boundaries) {
  if (boundaries.size() >= limits::kMaxUpdateBanks) {
    return Invalid("has too many banks");
  }
  float last = 0;
  for (const float boundary : boundaries) {
    if (!(boundary > last) || !(boundary < 1)) {
      return Invalid("has bank boundaries that do not ascend within 0 to 1");
    }
    last = boundary;
  }
  return absl::OkStatus();
}

absl::Status CheckSchedule(const TimestepHistogram& schedule) {
  const uint32_t sum = std::accumulate(schedule.begin(), schedule.end(), uint32_t{0});
  return sum == 0 || sum == kScheduleUnit
             ? absl::OkStatus()
             : Invalid("has a schedule whose shares do not add up to the whole");
}

absl::Status CheckModules(std::span<const ModuleShape> modules) {
  if (modules.empty() || modules.size() > limits::kMaxCores) {
    return Invalid("lists no modules, or too many");
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    const ModuleShape& module = modules[i];
    if (module.target.empty() || module.target.size() > limits::kMaxTargetBytes) {
      return Invalid("has a target name of a wrong length");
    }
    if (module.rows == 0 || module.rows > limits::kMaxFactorRows || module.columns == 0 ||
        module.columns > limits::kMaxRank) {
      return Invalid("has a module of a size out of range");
    }
    if (i > 0 && !(modules[i - 1].target < module.target)) {
      return Invalid("lists modules twice or out of order");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBanks(const AdapterUpdate& update) {
  if (update.banks.empty()) {
    return Invalid("has no bank");
  }
  const size_t expected = update.values_per_bank();
  for (size_t i = 0; i < update.banks.size(); ++i) {
    const BankValues& bank = update.banks[i];
    if (bank.bank > update.boundaries.size() || (i > 0 && update.banks[i - 1].bank >= bank.bank)) {
      return Invalid("lists banks twice, out of order or beyond its boundaries");
    }
    if (bank.values.size() != expected) {
      return Invalid("has a bank that is not as long as its modules");
    }
    if (!AllFinite(bank.values)) {
      return Invalid("has a value that is not finite");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ModuleShape> ReadModule(ByteReader& reader) {
  const auto length = reader.Read<uint16_t>();
  if (!length || *length == 0 || *length > limits::kMaxTargetBytes) {
    return Invalid("has a target name of a wrong length");
  }
  const auto target = reader.ReadBytes(*length);
  const auto rows = reader.Read<uint32_t>();
  const auto columns = reader.Read<uint32_t>();
  if (reader.failed()) {
    return Invalid("is truncated inside its modules");
  }
  return ModuleShape{.target = std::string(AsText(*target)), .rows = *rows, .columns = *columns};
}

absl::Status ReadModules(ByteReader& reader, AdapterUpdate* update) {
  const auto count = reader.Read<uint32_t>();
  if (!count || *count > limits::kMaxCores) {
    return Invalid("is truncated or lists too many modules");
  }
  for (uint32_t i = 0; i < *count; ++i) {
    ASSIGN_OR_RETURN(ModuleShape module, ReadModule(reader));
    update->modules.push_back(std::move(module));
  }
  return CheckModules(update->modules);
}

absl::Status ReadBanks(ByteReader& reader, AdapterUpdate* update) {
  const auto count = reader.Read<uint32_t>();
  if (!count || *count > update->boundaries.size() + 1) {
    return Invalid("is truncated or lists more banks than it has boundaries for");
  }
  const uint64_t bytes = uint64_t{update->values_per_bank()} * sizeof(float);
  for (uint32_t i = 0; i < *count; ++i) {
    const auto number = reader.Read<uint32_t>();
    const auto raw = reader.ReadBytes(bytes);
    if (reader.failed()) {
      return Invalid("is truncated inside a bank");
    }
    BankValues& bank = update->banks.emplace_back();
    bank.bank = *number;
    bank.values.resize(raw->size() / sizeof(float));
    std::memcpy(bank.values.data(), raw->data(), raw->size());
  }
  return CheckBanks(*update);
}

absl::Status ReadHeader(ByteReader& reader, AdapterUpdate* update) {
  const auto version = reader.Read<uint16_t>();
  const auto kind = reader.Read<uint8_t>();
  if (version && *version != kVersion) {
    return Invalid(fmt::format("has payload version {} instead of {}", *version, kVersion));
  }
  if (!kind || (*kind != static_cast<uint8_t>(FactorKind::kCore) &&
                *kind != static_cast<uint8_t>(FactorKind::kFfa))) {
    return Invalid("is empty, or of an unknown kind");
  }
  update->kind = static_cast<FactorKind>(*kind);
  const auto model_hash = reader.ReadArray<32>();
  const auto frame_id = reader.ReadArray<32>();
  const auto round = reader.Read<uint64_t>();
  const auto examples = reader.Read<uint64_t>();
  for (uint16_t& share : update->schedule) {
    share = reader.Read<uint16_t>().value_or(0);
  }
  const auto boundaries = reader.Read<uint8_t>();
  if (reader.failed() || *boundaries >= limits::kMaxUpdateBanks) {
    return Invalid("is truncated in its header or has too many banks");
  }
  update->model_hash = *model_hash;
  update->frame_id = *frame_id;
  update->round = *round;
  update->examples = *examples;
  for (int i = 0; i < *boundaries; ++i) {
    update->boundaries.push_back(reader.Read<float>().value_or(0));
  }
  RETURN_IF_ERROR(CheckBoundaries(update->boundaries));
  return CheckSchedule(update->schedule);
}

}  // namespace

TimestepHistogram HistogramOf(const std::array<uint64_t, kScheduleBins>& counts) {
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  TimestepHistogram histogram{};
  if (sum == 0) {
    return histogram;
  }
  std::array<double, kScheduleBins> rest{};
  int left = kScheduleUnit;
  for (size_t i = 0; i < kScheduleBins; ++i) {
    const double exact = static_cast<double>(counts[i]) / sum * kScheduleUnit;
    histogram[i] = static_cast<uint16_t>(exact);
    rest[i] = exact - histogram[i];
    left -= histogram[i];
  }
  std::array<size_t, kScheduleBins> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return rest[a] > rest[b]; });
  for (size_t i = 0; left > 0; ++i, --left) {
    ++histogram[order[i % kScheduleBins]];
  }
  return histogram;
}

size_t AdapterUpdate::values_per_bank() const {
  size_t sum = 0;
  for (const ModuleShape& module : modules) {
    sum += module.values();
  }
  return sum;
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

double NormOf(const AdapterUpdate& update) {
  double sum = 0;
  for (const BankValues& bank : update.banks) {
    for (const float v : bank.values) {
      sum += double{v} * v;
    }
  }
  return std::sqrt(sum);
}

absl::Status CheckAdapterUpdate(const AdapterUpdate& update, const AdapterUpdateRules& rules) {
  if (update.model_hash != rules.model_hash) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kModelMismatch,
                 "update is for another base model; its sender must load this cluster's");
  }
  if (update.frame_id != rules.frame_id) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kFrameMismatch,
                 "update is for another frame; averages are exact in one frame only, so its sender "
                 "must load this cluster's");
  }
  if (update.kind != rules.kind) {
    return Invalid("holds another factor kind than this cluster shares");
  }
  RETURN_IF_ERROR(CheckBoundaries(update.boundaries));
  RETURN_IF_ERROR(CheckSchedule(update.schedule));
  const auto [mine, theirs] = std::ranges::mismatch(rules.modules, update.modules);
  if (mine != rules.modules.end() || theirs != update.modules.end()) {
    return Invalid(fmt::format("has other modules or shapes than the frame, from {} on",
                               theirs != update.modules.end() ? SanitizeForDisplay(theirs->target)
                                                              : SanitizeForDisplay(mine->target)));
  }
  RETURN_IF_ERROR(CheckBanks(update));
  if (const double norm = NormOf(update); !(norm <= rules.max_norm)) {
    return Invalid(fmt::format("has norm {:.3g} above the bound {:.3g}", norm, rules.max_norm));
  }
  return absl::OkStatus();
}

std::string EncodeAdapterUpdate(const AdapterUpdate& update) {
  ByteWriter writer;
  writer.Write(kVersion).Write(static_cast<uint8_t>(update.kind));
  writer.WriteBytes(update.model_hash).WriteBytes(update.frame_id);
  writer.Write(update.round).Write(update.examples);
  for (const uint16_t share : update.schedule) {
    writer.Write(share);
  }
  writer.Write(static_cast<uint8_t>(update.boundaries.size()));
  for (const float boundary : update.boundaries) {
    writer.Write(boundary);
  }
  writer.Write(static_cast<uint32_t>(update.modules.size()));
  for (const ModuleShape& module : update.modules) {
    writer.Write(static_cast<uint16_t>(module.target.size())).WriteText(module.target);
    writer.Write(module.rows).Write(module.columns);
  }
  writer.Write(static_cast<uint32_t>(update.banks.size()));
  for (const BankValues& bank : update.banks) {
    writer.Write(bank.bank).WriteBytes(
        {reinterpret_cast<const uint8_t*>(bank.values.data()), bank.values.size() * sizeof(float)});
  }
  return writer.Take();
}

absl::StatusOr<AdapterUpdate> DecodeAdapterUpdate(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  AdapterUpdate update;
  RETURN_IF_ERROR(ReadHeader(reader, &update));
  RETURN_IF_ERROR(ReadModules(reader, &update));
  RETURN_IF_ERROR(ReadBanks(reader, &update));
  if (reader.remaining() != 0) {
    return Invalid("has extra bytes after its end");
  }
  return update;
}

}  // namespace ruvd::federation
