// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/reconcile.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/outbox.h"

namespace ruvd {
namespace {

using Items = std::map<Digest, Item>;
using Iterator = Items::const_iterator;
using Message = federation::v1::ReconMessage;
using Range = federation::v1::ReconRange;

// Leaves room for the last range that is added.
constexpr size_t kMaxAnswerBytes = limits::kMaxFrameBytes / 2;

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "reconciliation message {}; update the sending node", what);
}

struct Bounds {
  Digest lower{};
  std::optional<Digest> upper;
};

absl::StatusOr<Bounds> BoundsOf(const Range& range, const std::optional<Bounds>& previous) {
  const auto lower = DigestFrom(range.lower());
  const auto upper = DigestFrom(range.upper());
  if (!lower || (!upper && !range.upper().empty()) || (upper && *upper <= *lower)) {
    return Malformed("has a range that is none");
  }
  if (previous && (!previous->upper || *previous->upper > *lower)) {
    return Malformed("has ranges that overlap");
  }
  return Bounds{.lower = *lower, .upper = upper};
}

void SetBounds(const Bounds& bounds, Range& range) {
  range.set_lower(std::string(AsText(bounds.lower)));
  if (bounds.upper) {
    range.set_upper(std::string(AsText(*bounds.upper)));
  }
}

void AppendList(const Bounds& bounds, Iterator begin, Iterator end, Message& out) {
  Range* range = out.add_ranges();
  SetBounds(bounds, *range);
  range->mutable_ids();
  for (auto it = begin; it != end; ++it) {
    range->mutable_ids()->add_ids(std::string(AsText(it->first)));
  }
}

// Splits a range by count into kReconSplit parts with a fingerprint each.
void AppendSplit(const Bounds& bounds, Iterator begin, Iterator end, Message& out) {
  const size_t count = static_cast<size_t>(std::distance(begin, end));
  Digest lower = bounds.lower;
  for (size_t part = 0; part < limits::kReconSplit; ++part) {
    const size_t take =
        count * (part + 1) / limits::kReconSplit - count * part / limits::kReconSplit;
    const Iterator part_end = std::next(begin, static_cast<std::ptrdiff_t>(take));
    const bool last = part + 1 == limits::kReconSplit;
    const Bounds part_bounds{.lower = lower,
                             .upper = last ? bounds.upper : std::optional(part_end->first)};
    Range* range = out.add_ranges();
    SetBounds(part_bounds, *range);
    range->set_fingerprint(std::string(AsText(FingerprintOf(begin, part_end))));
    begin = part_end;
    if (!last) {
      lower = part_end->first;
    }
  }
}

absl::Status CompareList(const federation::v1::IdList& list, Iterator begin, Iterator end,
                         const Items& items, ReconAnswer& answer) {
  if (static_cast<size_t>(list.ids_size()) > limits::kMaxIdsPerFrame) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "reconciliation lists {} ids where {} are allowed; update the sending node",
                 list.ids_size(), limits::kMaxIdsPerFrame);
  }
  std::set<Digest> theirs;
  for (const std::string& bytes : list.ids()) {
    const auto id = DigestFrom(bytes);
    if (!id) {
      return Malformed("has an id of a wrong length");
    }
    theirs.insert(*id);
  }
  for (const Digest& id : theirs) {
    if (!items.contains(id)) {
      answer.missing.push_back(id);
    }
  }
  for (auto it = begin; it != end; ++it) {
    if (!theirs.contains(it->first)) {
      answer.surplus.push_back(it->first);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Fingerprint FingerprintOf(Iterator begin, Iterator end) {
  std::array<uint64_t, 4> sum{};
  uint64_t count = 0;
  for (auto it = begin; it != end; ++it, ++count) {
    unsigned carry = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      uint64_t word;
      std::memcpy(&word, it->first.data() + 8 * i, sizeof(word));
      uint64_t with_word;
      const bool over_word = __builtin_add_overflow(sum[i], word, &with_word);
      const bool over_carry = __builtin_add_overflow(with_word, uint64_t{carry}, &sum[i]);
      carry = over_word || over_carry ? 1 : 0;
    }
  }
  ByteWriter writer;
  for (uint64_t word : sum) {
    writer.Write(word);
  }
  const Digest digest = Sha256(writer.Write(count).str());
  Fingerprint fingerprint;
  std::copy_n(digest.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

Message OpenReconciliation(const Items& items) {
  Message message;
  Range* range = message.add_ranges();
  SetBounds(Bounds{}, *range);
  range->set_fingerprint(std::string(AsText(FingerprintOf(items.begin(), items.end()))));
  return message;
}

absl::StatusOr<ReconAnswer> AnswerReconciliation(const Items& items, const Message& message) {
  if (static_cast<size_t>(message.ranges_size()) > limits::kMaxReconRanges) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "reconciliation has {} ranges where {} are allowed; update the sending node",
                 message.ranges_size(), limits::kMaxReconRanges);
  }
  ReconAnswer answer;
  std::optional<Bounds> previous;
  size_t answer_bytes = 0;
  for (const Range& range : message.ranges()) {
    ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(range, previous));
    previous = bounds;
    const Iterator begin = items.lower_bound(bounds.lower);
    const Iterator end = bounds.upper ? items.lower_bound(*bounds.upper) : items.end();
    if (range.has_ids()) {
      RETURN_IF_ERROR(CompareList(range.ids(), begin, end, items, answer));
      continue;
    }
    if (!range.has_fingerprint()) {
      return Malformed("has an empty range");
    }
    const size_t room = static_cast<size_t>(answer.message.ranges_size()) + limits::kReconSplit;
    if (range.fingerprint() == AsText(FingerprintOf(begin, end)) ||
        answer_bytes > kMaxAnswerBytes || room > limits::kMaxReconRanges) {
      continue;
    }
    const auto count = static_cast<size_t>(std::distance(begin, end));
    if (count <= limits::kReconListIds) {
      AppendList(bounds, begin, end, answer.message);
      answer_bytes += (3 + count) * 40;
    } else {
      AppendSplit(bounds, begin, end, answer.message);
      answer_bytes += limits::kReconSplit * 100;
    }
  }
  return answer;
}

}  // namespace ruvd
