// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/attributes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage {
namespace {

constexpr size_t kBankBits = std::bit_width(limits::kMaxBanks - 1);
constexpr size_t kTaskBits = std::bit_width(limits::kMaxFilterTasks - 1);
constexpr size_t kTierBits = std::bit_width(limits::kMaxFilterTiers - 1);
constexpr size_t kTimeBits = std::bit_width(static_cast<uint64_t>(limits::kMaxFilterTimeMs));
constexpr uint64_t kAllBanks = ~uint64_t{0};
constexpr uint32_t kAllTiers = (1U << limits::kMaxFilterTiers) - 1;
constexpr float kNoMaximum = std::numeric_limits<float>::infinity();
static_assert(limits::kMaxBanks == 64, "a filter names banks by the bits of a word");

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

// For floats that are not negative, the bit patterns are in the order of the numbers.
uint64_t Ordered(float quality) {
  return std::bit_cast<uint32_t>(quality + 0.0F);  // -0 becomes 0
}

}  // namespace

bool HnswFilter::admits_all_of_its_banks() const {
  return (tiers & kAllTiers) == kAllTiers && tasks.empty() && !owner && min_time_ms <= 0 &&
         max_time_ms >= limits::kMaxFilterTimeMs && min_quality <= 0 && max_quality == kNoMaximum;
}

namespace hnsw {

absl::Status CheckAttributes(const HnswAttributes& attributes) {
  if (attributes.bank >= limits::kMaxBanks || attributes.task >= limits::kMaxFilterTasks ||
      attributes.tier >= limits::kMaxFilterTiers) {
    return Invalid("a row has bank {}, task {}, tier {}; they must be below {}, {} and {}",
                   attributes.bank, attributes.task, attributes.tier, limits::kMaxBanks,
                   limits::kMaxFilterTasks, limits::kMaxFilterTiers);
  }
  if (attributes.time_ms < 0 || attributes.time_ms > limits::kMaxFilterTimeMs) {
    return Invalid("a row has time {} ms; give 0 to {}", attributes.time_ms,
                   limits::kMaxFilterTimeMs);
  }
  if (!(attributes.quality >= 0) || std::isinf(attributes.quality)) {
    return Invalid("a row has quality {}; give a finite number that is not negative",
                   attributes.quality);
  }
  return absl::OkStatus();
}

absl::Status CheckFilter(const HnswFilter& filter) {
  if (filter.tasks.size() > limits::kMaxFilterValues) {
    return Invalid("the filter has {} tasks; give at most {}", filter.tasks.size(),
                   limits::kMaxFilterValues);
  }
  if (std::isnan(filter.min_quality) || std::isnan(filter.max_quality)) {
    return Invalid(
        "a quality bound of the filter is not a number; give a number or omit the bound");
  }
  return absl::OkStatus();
}

absl::Status AttributeTable::Reserve(size_t nodes) {
  RETURN_IF_ERROR(bank_.Reserve(nodes, kBankBits));
  RETURN_IF_ERROR(task_.Reserve(nodes, kTaskBits));
  RETURN_IF_ERROR(tier_.Reserve(nodes, kTierBits));
  RETURN_IF_ERROR(owner_.Reserve(nodes, 32));
  RETURN_IF_ERROR(time_.Reserve(nodes, kTimeBits));
  return quality_.Reserve(nodes, 32);
}

absl::Status AttributeTable::Grow(size_t nodes) {
  for (BitColumn* column : {&bank_, &task_, &tier_, &owner_, &time_, &quality_}) {
    RETURN_IF_ERROR(column->Grow(nodes));
  }
  return absl::OkStatus();
}

// A reader that loads a changed bit with acquire order then finds the version odd or changed.
void AttributeTable::Set(uint32_t node, const HnswAttributes& attributes) {
  const HnswAttributes old = Get(node);
  changing_.store(node, std::memory_order_release);
  const std::array<uint64_t, 6> before = {old.bank,
                                          old.task,
                                          old.tier,
                                          old.owner,
                                          static_cast<uint64_t>(old.time_ms),
                                          Ordered(old.quality)};
  for (size_t i = 0; i < before.size(); ++i) {
    before_[i].store(before[i], std::memory_order_release);
  }
  const uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_release);
  bank_.Set(node, attributes.bank);
  task_.Set(node, attributes.task);
  tier_.Set(node, attributes.tier);
  owner_.Set(node, attributes.owner);
  time_.Set(node, static_cast<uint64_t>(attributes.time_ms));
  quality_.Set(node, Ordered(attributes.quality));
  version_.store(version + 2, std::memory_order_release);
}

bool AttributeTable::Admits(uint32_t node, const HnswFilter& filter) const {
  constexpr int kTries = 64;  // in each try a change has ended or begun
  const uint64_t bit = uint64_t{1} << (node % kWordBits);
  for (int i = 0; i < kTries; ++i) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    const bool changing = version % 2 == 1 && changing_.load(std::memory_order_acquire) == node;
    const bool admits =
        changing ? WasAdmitted(filter) : Matches(node / kWordBits, filter, bit) != 0;
    if (version_.load(std::memory_order_acquire) == version) {
      return admits;
    }
  }
  return false;
}

bool AttributeTable::WasAdmitted(const HnswFilter& filter) const {
  const auto before = [this](size_t i) { return before_[i].load(std::memory_order_acquire); };
  const bool task = filter.tasks.empty() || std::find(filter.tasks.begin(), filter.tasks.end(),
                                                      before(1)) != filter.tasks.end();
  const auto time = static_cast<int64_t>(before(4));
  const auto quality = std::bit_cast<float>(static_cast<uint32_t>(before(5)));
  return ((filter.banks >> before(0)) & 1U) != 0 && task &&
         ((filter.tiers >> before(2)) & 1U) != 0 && (!filter.owner || *filter.owner == before(3)) &&
         time >= filter.min_time_ms && time <= filter.max_time_ms &&
         quality >= filter.min_quality && quality <= filter.max_quality;
}

HnswAttributes AttributeTable::Get(uint32_t node) const {
  return {.bank = static_cast<uint32_t>(bank_.Get(node)),
          .task = static_cast<uint32_t>(task_.Get(node)),
          .tier = static_cast<uint32_t>(tier_.Get(node)),
          .owner = static_cast<uint32_t>(owner_.Get(node)),
          .time_ms = static_cast<int64_t>(time_.Get(node)),
          .quality = std::bit_cast<float>(static_cast<uint32_t>(quality_.Get(node)))};
}

uint64_t AttributeTable::Matches(size_t word, const HnswFilter& filter, uint64_t mask) const {
  if (filter.banks != kAllBanks) {
    uint64_t in = 0;
    for (uint64_t banks = filter.banks; banks != 0 && mask != 0; banks &= banks - 1) {
      in |= bank_.Equal(word, static_cast<uint64_t>(std::countr_zero(banks)), mask);
    }
    mask &= in;
  }
  if ((filter.tiers & kAllTiers) != kAllTiers) {
    uint64_t in = 0;
    for (uint32_t tiers = filter.tiers & kAllTiers; tiers != 0 && mask != 0; tiers &= tiers - 1) {
      in |= tier_.Equal(word, static_cast<uint64_t>(std::countr_zero(tiers)), mask);
    }
    mask &= in;
  }
  if (!filter.tasks.empty()) {
    uint64_t in = 0;
    for (const uint32_t task : filter.tasks) {
      in |= task < limits::kMaxFilterTasks ? task_.Equal(word, task, mask) : 0;
    }
    mask &= in;
  }
  if (filter.owner) {
    mask = owner_.Equal(word, *filter.owner, mask);
  }
  if (filter.min_time_ms > 0) {
    mask = filter.min_time_ms > limits::kMaxFilterTimeMs
               ? 0
               : time_.AtLeast(word, static_cast<uint64_t>(filter.min_time_ms), mask);
  }
  if (filter.max_time_ms < limits::kMaxFilterTimeMs) {
    mask = filter.max_time_ms < 0
               ? 0
               : time_.AtMost(word, static_cast<uint64_t>(filter.max_time_ms), mask);
  }
  if (filter.min_quality > 0) {
    mask = quality_.AtLeast(word, Ordered(filter.min_quality), mask);
  }
  if (filter.max_quality < kNoMaximum) {
    mask = filter.max_quality < 0 ? 0 : quality_.AtMost(word, Ordered(filter.max_quality), mask);
  }
  return mask;
}

size_t AttributeTable::committed_bytes() const {
  size_t bytes = 0;
  for (const BitColumn* column : {&bank_, &task_, &tier_, &owner_, &time_, &quality_}) {
    bytes += column->committed_bytes();
  }
  return bytes;
}

}  // namespace hnsw
}  // namespace ruvd::storage
