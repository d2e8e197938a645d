// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/contribution.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/limits.h"
#include "privacy/release/unit_release.h"

namespace ruvd::federation {
namespace {

using Noise = Contribution::Noise;

constexpr uint16_t kVersion = 1;

enum class Encoding : uint8_t { kFloats = 1, kShortUnits = 2, kUnits = 3 };

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "contribution {}; its sender must run this cluster's version and plan", what);
}

absl::Status OtherPlan() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kPlanMismatch,
               "contribution was made by another learning plan; set the same `federation` keys, "
               "model and frame on all nodes of a cluster");
}

bool FitsShort(int32_t unit) {
  return unit >= std::numeric_limits<int16_t>::min() && unit <= std::numeric_limits<int16_t>::max();
}

Encoding EncodingOf(const Contribution& contribution, const LearnerPlan& plan) {
  if (plan.kind == ContributionKind::kDelta) {
    return Encoding::kFloats;
  }
  return std::ranges::all_of(contribution.units, FitsShort) ? Encoding::kShortUnits
                                                            : Encoding::kUnits;
}

size_t BytesOf(Encoding encoding) {
  return encoding == Encoding::kShortUnits ? sizeof(int16_t) : sizeof(int32_t);
}

// The two numbers of the plan that turn units into values; both are 0 and 1 for floats.
int ExponentOf(const LearnerPlan& plan) {
  return plan.kind == ContributionKind::kDelta ? 0 : plan.grid.exponent;
}
uint32_t DivisorOf(const LearnerPlan& plan, uint32_t members) {
  return plan.kind == ContributionKind::kDelta ? 1 : members * plan.nominal_batch;
}

absl::Status CheckRound(const Contribution& contribution, const LearnerPlan& plan,
                        uint64_t now_round) {
  if (contribution.round < 1 || contribution.round > now_round) {
    return Invalid(
        fmt::format("is of round {}, but round {} is running", contribution.round, now_round));
  }
  if (contribution.base_round >= contribution.round) {
    return Invalid("was made from a state that is not before its round");
  }
  if (contribution.round - contribution.base_round > uint64_t{plan.window} + 1) {
    return Invalid(fmt::format("was made from a state that is {} rounds old, more than {}",
                               contribution.round - contribution.base_round - 1, plan.window));
  }
  return absl::OkStatus();
}

absl::Status CheckSender(const Contribution& contribution, const LearnerPlan& plan) {
  const bool alone = contribution.members == 1;
  if (!alone && (contribution.members < limits::kMinCliqueMembers ||
                 contribution.members > limits::kMaxCliqueMembers)) {
    return Invalid(fmt::format("is the sum of {} members", contribution.members));
  }
  const bool noise_fits =
      alone ? contribution.noise == Noise::kNone || contribution.noise == Noise::kWhole
            : contribution.noise == Noise::kShares;
  const bool kind_fits =
      plan.kind == ContributionKind::kGradient || (alone && contribution.noise == Noise::kNone);
  return noise_fits && kind_fits ? absl::OkStatus()
                                 : Invalid("names noise or members that its kind does not have");
}

absl::Status CheckBanks(std::span<const uint32_t> banks, const LearnerPlan& plan) {
  if (banks.empty() || banks.back() >= plan.banks()) {
    return Invalid("has no bank, or one beyond the plan's");
  }
  return std::ranges::adjacent_find(banks, std::greater_equal<>()) == banks.end()
             ? absl::OkStatus()
             : Invalid("lists banks twice or out of order");
}

absl::Status CheckSchedule(const TimestepHistogram& schedule) {
  return std::accumulate(schedule.begin(), schedule.end(), uint32_t{0}) == kScheduleUnit
             ? absl::OkStatus()
             : Invalid("has a schedule whose shares do not add up to the whole");
}

absl::Status CheckValues(const Contribution& contribution, const LearnerPlan& plan) {
  const size_t expected = contribution.banks.size() * plan.values_per_bank;
  const bool floats = plan.kind == ContributionKind::kDelta;
  if (contribution.floats.size() != (floats ? expected : 0) ||
      contribution.units.size() != (floats ? 0 : expected)) {
    return Invalid("has not as many values as its banks");
  }
  return std::ranges::all_of(contribution.floats, [](float v) { return std::isfinite(v); })
             ? absl::OkStatus()
             : Invalid("has a value that is not finite");
}

// The fields before the banks, as they are read.
struct Header {
  Contribution contribution;
  uint8_t kind = 0;
  uint8_t encoding = 0;
  int8_t exponent = 0;
  uint32_t divisor = 1;
};

absl::StatusOr<Header> ReadHeader(ByteReader& reader) {
  Header header;
  Contribution& contribution = header.contribution;
  const auto version = reader.Read<uint16_t>();
  if (version && *version != kVersion) {
    return Invalid(fmt::format("has version {} instead of {}", *version, kVersion));
  }
  header.kind = reader.Read<uint8_t>().value_or(0);
  header.encoding = reader.Read<uint8_t>().value_or(0);
  contribution.noise = static_cast<Noise>(reader.Read<uint8_t>().value_or(0));
  contribution.plan = reader.ReadArray<32>().value_or(Digest{});
  contribution.round = reader.Read<uint64_t>().value_or(0);
  contribution.base_round = reader.Read<uint64_t>().value_or(0);
  contribution.base = reader.ReadArray<32>().value_or(Digest{});
  for (uint16_t& share : contribution.schedule) {
    share = reader.Read<uint16_t>().value_or(0);
  }
  contribution.members = reader.Read<uint8_t>().value_or(0);
  header.exponent = reader.Read<int8_t>().value_or(0);
  header.divisor = reader.Read<uint32_t>().value_or(0);
  return reader.failed() ? Invalid("is truncated in its header") : absl::StatusOr<Header>(header);
}

absl::Status CheckHeader(const Header& header, const LearnerPlan& plan) {
  if (header.contribution.plan != plan.Id()) {
    return OtherPlan();
  }
  const auto is = [&](Encoding encoding) {
    return header.encoding == static_cast<uint8_t>(encoding);
  };
  const bool encoding_fits = plan.kind == ContributionKind::kDelta
                                 ? is(Encoding::kFloats)
                                 : is(Encoding::kShortUnits) || is(Encoding::kUnits);
  if (header.kind != static_cast<uint8_t>(plan.kind) || !encoding_fits ||
      int{header.exponent} != ExponentOf(plan) ||
      header.divisor != DivisorOf(plan, header.contribution.members)) {
    return Invalid("has another kind, encoding or grid than its plan");
  }
  return absl::OkStatus();
}

// Reads the values, whose number is that of the bytes that are left.
void ReadValues(std::span<const uint8_t> bytes, Encoding encoding, Contribution* contribution) {
  const size_t count = bytes.size() / BytesOf(encoding);
  if (encoding == Encoding::kFloats) {
    contribution->floats.resize(count);
    std::memcpy(contribution->floats.data(), bytes.data(), bytes.size());
    return;
  }
  contribution->units.resize(count);
  if (encoding == Encoding::kUnits) {
    std::memcpy(contribution->units.data(), bytes.data(), bytes.size());
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    int16_t unit = 0;
    std::memcpy(&unit, bytes.data() + i * sizeof(unit), sizeof(unit));
    contribution->units[i] = unit;
  }
}

}  // namespace

absl::Status CheckContribution(const Contribution& contribution, const LearnerPlan& plan,
                               uint64_t now_round) {
  if (contribution.plan != plan.Id()) {
    return OtherPlan();
  }
  RETURN_IF_ERROR(CheckRound(contribution, plan, now_round));
  RETURN_IF_ERROR(CheckSender(contribution, plan));
  RETURN_IF_ERROR(CheckBanks(contribution.banks, plan));
  RETURN_IF_ERROR(CheckSchedule(contribution.schedule));
  return CheckValues(contribution, plan);
}

std::string EncodeContribution(const Contribution& contribution, const LearnerPlan& plan) {
  const Encoding encoding = EncodingOf(contribution, plan);
  ByteWriter writer;
  writer.Write(kVersion).Write(static_cast<uint8_t>(plan.kind));
  writer.Write(static_cast<uint8_t>(encoding)).Write(static_cast<uint8_t>(contribution.noise));
  writer.WriteBytes(contribution.plan).Write(contribution.round).Write(contribution.base_round);
  writer.WriteBytes(contribution.base);
  for (const uint16_t share : contribution.schedule) {
    writer.Write(share);
  }
  writer.Write(static_cast<uint8_t>(contribution.members));
  writer.Write(static_cast<int8_t>(ExponentOf(plan)));
  writer.Write(DivisorOf(plan, contribution.members));
  writer.Write(static_cast<uint8_t>(contribution.banks.size()));
  for (const uint32_t bank : contribution.banks) {
    writer.Write(static_cast<uint8_t>(bank));
  }
  for (const float value : contribution.floats) {
    writer.Write(value);
  }
  for (const int32_t unit : contribution.units) {
    if (encoding == Encoding::kShortUnits) {
      writer.Write(static_cast<int16_t>(unit));
    } else {
      writer.Write(unit);
    }
  }
  return writer.Take();
}

absl::StatusOr<Contribution> DecodeContribution(std::span<const uint8_t> bytes,
                                                const LearnerPlan& plan) {
  ByteReader reader(bytes);
  ASSIGN_OR_RETURN(Header header, ReadHeader(reader));
  RETURN_IF_ERROR(CheckHeader(header, plan));
  Contribution& contribution = header.contribution;
  const auto encoding = static_cast<Encoding>(header.encoding);
  const size_t banks = reader.Read<uint8_t>().value_or(0);
  if (banks == 0 || banks > plan.banks()) {
    return Invalid("lists no bank, or more banks than the plan has");
  }
  const auto numbers = reader.ReadBytes(banks);
  const uint64_t values = uint64_t{banks} * plan.values_per_bank * BytesOf(encoding);
  if (reader.failed() || reader.remaining() != values) {
    return Invalid("has not as many values as its banks");
  }
  contribution.banks.assign(numbers->begin(), numbers->end());
  ReadValues(*reader.ReadBytes(values), encoding, &contribution);
  RETURN_IF_ERROR(CheckContribution(contribution, plan, std::numeric_limits<uint64_t>::max()));
  if (EncodingOf(contribution, plan) != encoding) {
    return Invalid("uses four bytes for units that fit two");
  }
  return std::move(contribution);
}

BankedValues ValuesOf(const Contribution& contribution, const LearnerPlan& plan) {
  BankedValues values(plan.banks());
  const double unit = std::ldexp(1.0, ExponentOf(plan));
  const double divisor = DivisorOf(plan, contribution.members);
  const size_t length = plan.values_per_bank;
  for (size_t place = 0; place < contribution.banks.size(); ++place) {
    std::vector<float>& bank = values[contribution.banks[place]];
    if (plan.kind == ContributionKind::kDelta) {
      const auto begin = contribution.floats.begin() + static_cast<std::ptrdiff_t>(place * length);
      bank.assign(begin, begin + static_cast<std::ptrdiff_t>(length));
      continue;
    }
    bank.reserve(length);
    for (const int32_t units : std::span(contribution.units).subspan(place * length, length)) {
      bank.push_back(static_cast<float>(units * unit / divisor));
    }
  }
  return values;
}

double NoiseVarianceOf(const Contribution& contribution, const LearnerPlan& plan) {
  if (contribution.noise == Noise::kNone) {
    return 0;
  }
  const double deviation =
      std::ldexp(static_cast<double>(plan.grid.sigma_units), plan.grid.exponent) /
      DivisorOf(plan, contribution.members);
  return deviation * deviation;
}

absl::StatusOr<Contribution> ContributionOfSum(const LearnerPlan& plan, uint64_t round,
                                               std::span<const int32_t> units, uint32_t members) {
  Contribution sum{.plan = plan.Id(),
                   .round = round,
                   .base_round = round == 0 ? 0 : round - 1,
                   .schedule = plan.schedule,
                   .members = members,
                   .noise = Noise::kShares,
                   .banks = std::vector<uint32_t>(plan.banks()),
                   .floats = {},
                   .units = {units.begin(), units.end()}};
  std::iota(sum.banks.begin(), sum.banks.end(), 0U);
  RETURN_IF_ERROR(CheckContribution(sum, plan, round));
  return sum;
}

privacy::masking::MaskLayout LayoutOfSums(const LearnerPlan& plan) {
  return privacy::LayoutOfUnits(plan.Id(), plan.frame_id,
                                std::vector<uint32_t>(plan.banks(), plan.values_per_bank),
                                plan.grid);
}

}  // namespace ruvd::federation
