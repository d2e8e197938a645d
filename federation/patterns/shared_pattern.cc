// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/patterns/shared_pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

constexpr uint16_t kVersion = 1;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "pattern {}; its sender must use this cluster's model and version", what);
}

absl::Status CheckCentroid(const SharedPattern& pattern, const PatternRules& rules) {
  if (pattern.centroid.size() != rules.dimension) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                 "pattern has dimension {} instead of {}; its sender must use the same model",
                 pattern.centroid.size(), rules.dimension);
  }
  double square = 0;
  for (float v : pattern.centroid) {
    if (!std::isfinite(v)) {
      return Invalid("has a centroid that is not finite");
    }
    square += double{v} * v;
  }
  if (std::abs(std::sqrt(square) - 1.0) > rules.norm_tolerance) {
    return Invalid("has a centroid that is not of unit length");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSharedPattern(const SharedPattern& pattern, const PatternRules& rules) {
  if (pattern.task.size() > limits::kMaxSharedTaskBytes ||
      !std::all_of(pattern.task.begin(), pattern.task.end(),
                   [](char c) { return c >= ' ' && c < 127; })) {
    return Invalid("has a task name that is too long or not printable");
  }
  if (!std::isfinite(pattern.quality) || pattern.quality < 0 || pattern.quality > 1) {
    return Invalid("has a quality outside of 0 to 1");
  }
  if (pattern.examples == 0 || pattern.created_ms <= 0) {
    return Invalid("has no examples or no creation time");
  }
  if (pattern.bank >= rules.cores.banks) {
    return Invalid("names an unknown bank");
  }
  RETURN_IF_ERROR(CheckCentroid(pattern, rules));
  return CheckCores(pattern.cores, rules.cores);
}

std::string EncodeSharedPattern(const SharedPattern& pattern) {
  ByteWriter writer;
  writer.Write(kVersion).WriteBytes(pattern.id).Write(pattern.bank);
  writer.Write(static_cast<uint8_t>(pattern.task.size())).WriteText(pattern.task);
  writer.Write(pattern.quality).Write(pattern.examples).Write(pattern.created_ms);
  writer.Write(static_cast<uint32_t>(pattern.centroid.size()));
  writer.WriteBytes({reinterpret_cast<const uint8_t*>(pattern.centroid.data()),
                     pattern.centroid.size() * sizeof(float)});
  WriteCores(pattern.cores, writer);
  return writer.Take();
}

std::optional<std::array<uint8_t, 16>> SharedPatternId(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  (void)reader.Read<uint16_t>();
  return reader.ReadArray<16>();
}

absl::StatusOr<SharedPattern> DecodeSharedPattern(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  SharedPattern pattern;
  const auto version = reader.Read<uint16_t>();
  const auto id = reader.ReadArray<16>();
  const auto bank = reader.Read<uint32_t>();
  const auto task_length = reader.Read<uint8_t>();
  const auto task = reader.ReadBytes(task_length.value_or(0));
  const auto quality = reader.Read<float>();
  const auto examples = reader.Read<uint32_t>();
  const auto created_ms = reader.Read<int64_t>();
  const auto dimension = reader.Read<uint32_t>();
  if (version && *version != kVersion) {
    return Invalid(fmt::format("has payload version {} instead of {}", *version, kVersion));
  }
  if (reader.failed() || *dimension == 0 || *dimension > limits::kMaxPatternDimension) {
    return Invalid("is truncated, empty or too large");
  }
  const auto centroid = reader.ReadBytes(uint64_t{*dimension} * sizeof(float));
  if (!centroid) {
    return Invalid("is truncated inside its centroid");
  }
  pattern.id = *id;
  pattern.bank = *bank;
  pattern.task = AsText(*task);
  pattern.quality = *quality;
  pattern.examples = *examples;
  pattern.created_ms = *created_ms;
  pattern.centroid.resize(*dimension);
  std::memcpy(pattern.centroid.data(), centroid->data(), centroid->size());
  ASSIGN_OR_RETURN(pattern.cores, ReadCores(reader));
  if (reader.remaining() != 0) {
    return Invalid("has extra bytes after its end");
  }
  return pattern;
}

}  // namespace ruvd::federation
