// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/release/release_payload.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/limits.h"

namespace ruvd::privacy {
namespace {

constexpr uint16_t kVersion = 1;
constexpr int32_t kMaxExponent = 64;

absl::Status Malformed() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "a noised update does not decode; update the sending node");
}

bool WellFormed(const ReleasePayload& payload) {
  return std::ranges::find(kPrivacyUnits, payload.unit) != std::end(kPrivacyUnits) &&
         payload.exponent >= -kMaxExponent && payload.exponent <= kMaxExponent &&
         payload.clip_units > 0 && payload.clip_units <= limits::kMaxGridUnits &&
         payload.sigma_units > 0 && payload.sigma_units <= limits::kMaxNoiseUnits;
}

}  // namespace

std::string ReleasePayload::Encode() const {
  ByteWriter writer;
  writer.Write(kVersion).Write(static_cast<uint8_t>(unit)).WriteBytes(layout).Write(exponent);
  writer.Write(clip_units).Write(sigma_units).Write(static_cast<uint32_t>(units.size()));
  writer.WriteBytes(
      {reinterpret_cast<const uint8_t*>(units.data()), units.size() * sizeof(int32_t)});
  return writer.Take();
}

absl::StatusOr<ReleasePayload> ReleasePayload::Parse(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto version = reader.Read<uint16_t>();
  const auto unit = reader.Read<uint8_t>();
  const auto layout = reader.ReadArray<32>();
  const auto exponent = reader.Read<int32_t>();
  const auto clip = reader.Read<uint32_t>();
  const auto sigma = reader.Read<uint32_t>();
  const auto count = reader.Read<uint32_t>();
  if (reader.failed() || *version != kVersion) {
    return Malformed();
  }
  if (*count > limits::kMaxMaskedValues) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a noised update has {} values, more than the limit of {}; share a smaller rank",
                 *count, limits::kMaxMaskedValues);
  }
  ReleasePayload payload{.unit = static_cast<PrivacyUnit>(*unit),
                         .layout = *layout,
                         .exponent = *exponent,
                         .clip_units = *clip,
                         .sigma_units = *sigma,
                         .units = {}};
  if (reader.remaining() != *count * sizeof(int32_t) || !WellFormed(payload)) {
    return Malformed();
  }
  payload.units.resize(*count);
  const auto values = *reader.ReadBytes(*count * sizeof(int32_t));
  if (!values.empty()) {
    std::memcpy(payload.units.data(), values.data(), values.size());
  }
  return payload;
}

}  // namespace ruvd::privacy
