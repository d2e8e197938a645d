// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/reconcile.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/events/outbox.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

using Message = v1::ReconMessage;
using Range = v1::ReconRange;

// Leaves room for the last range that is added
constexpr size_t kMaxAnswerBytes = limits::kMaxFrameBytes / 2;

struct Entry {
  Digest key{};
  Digest id{};
  auto operator<=>(const Entry&) const = default;
};

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "reconciliation message {}; update the sending node", what);
}

absl::StatusOr<IdRange> BoundsOf(const Range& range, const std::optional<IdRange>& previous) {
  const auto lower = DigestFrom(range.lower());
  const auto upper = DigestFrom(range.upper());
  if (!lower || (!upper && !range.upper().empty()) || (upper && *upper <= *lower)) {
    return Malformed("has an invalid range");
  }
  if (previous && (!previous->upper || *previous->upper > *lower)) {
    return Malformed("has ranges that overlap");
  }
  return IdRange{.lower = *lower, .upper = upper};
}

void SetBounds(const IdRange& bounds, Range& range) {
  range.set_lower(std::string(AsText(bounds.lower)));
  if (bounds.upper) {
    range.set_upper(std::string(AsText(*bounds.upper)));
  }
}

std::vector<Entry> EntriesOf(const ReconSource& source, const IdRange& bounds) {
  std::vector<Entry> entries;
  source.ForEach(bounds, [&](const Digest& key, const Digest& id) {
    entries.push_back({.key = key, .id = id});
  });
  return entries;
}

void AppendList(const IdRange& bounds, const std::vector<Entry>& entries, bool keyed,
                Message& out) {
  Range* range = out.add_ranges();
  SetBounds(bounds, *range);
  range->mutable_ids();
  for (const Entry& entry : entries) {
    std::string* bytes = range->mutable_ids()->add_ids();
    if (keyed) {
      bytes->append(AsText(entry.key));
    }
    bytes->append(AsText(entry.id));
  }
}

// Splits a range by count into kReconSplit parts, with a fingerprint for each.
void AppendSplit(const IdRange& bounds, const std::vector<Entry>& entries, Message& out) {
  Digest lower = bounds.lower;
  for (size_t part = 0; part < limits::kReconSplit; ++part) {
    const size_t begin = entries.size() * part / limits::kReconSplit;
    const size_t end = entries.size() * (part + 1) / limits::kReconSplit;
    const bool last = part + 1 == limits::kReconSplit;
    const IdRange part_bounds{.lower = lower,
                              .upper = last ? bounds.upper : std::optional(entries[end].key)};
    IdSum sum;
    for (size_t i = begin; i < end; ++i) {
      sum.Add(entries[i].id);
    }
    Range* range = out.add_ranges();
    SetBounds(part_bounds, *range);
    range->set_fingerprint(std::string(AsText(sum.fingerprint())));
    if (!last) {
      lower = entries[end].key;
    }
  }
}

absl::StatusOr<std::set<Entry>> ReadList(const v1::IdList& list, bool keyed) {
  if (static_cast<size_t>(list.ids_size()) > limits::kMaxIdsPerFrame) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "reconciliation lists {} ids where {} are allowed; update the sending node",
                 list.ids_size(), limits::kMaxIdsPerFrame);
  }
  std::set<Entry> entries;
  for (const std::string& bytes : list.ids()) {
    const std::string_view text(bytes);
    const auto key = DigestFrom(keyed ? text.substr(0, 32) : text);
    const auto id = keyed && text.size() > 32 ? DigestFrom(text.substr(32)) : key;
    if (!key || !id || text.size() != (keyed ? 64 : 32)) {
      return Malformed("has an id of a wrong length");
    }
    entries.insert({.key = *key, .id = *id});
  }
  return entries;
}

void CompareList(const std::set<Entry>& theirs, const std::vector<Entry>& ours,
                 ReconAnswer& answer) {
  for (const Entry& entry : theirs) {
    if (!std::binary_search(ours.begin(), ours.end(), entry)) {
      answer.missing.push_back(entry.key);
    }
  }
  for (const Entry& entry : ours) {
    if (!theirs.contains(entry)) {
      answer.surplus.push_back(entry.key);
    }
  }
}

}  // namespace

IdSum ItemSource::Sum(const IdRange& range) const {
  IdSum sum;
  ForEach(range, [&sum](const Digest& /*key*/, const Digest& id) { sum.Add(id); });
  return sum;
}

void ItemSource::ForEach(const IdRange& range,
                         const std::function<void(const Digest&, const Digest&)>& visit) const {
  const auto end = range.upper ? items_->lower_bound(*range.upper) : items_->end();
  for (auto it = items_->lower_bound(range.lower); it != end; ++it) {
    visit(it->first, it->first);
  }
}

IdSum RecordSource::Sum(const IdRange& range) const {
  IdSum sum = records_->Sum(range.lower, range.upper);
  const std::vector<privacy::RevokedNode>& revoked = revoked_->nodes;
  for (auto node = std::ranges::lower_bound(revoked, range.lower, {}, &privacy::RevokedNode::id);
       node != revoked.end() && (!range.upper || node->id < *range.upper); ++node) {
    const RecordPtr* record = records_->Find(node->id);
    if (record != nullptr && node->least_epoch == privacy::kEveryEpoch) {
      sum.Remove((*record)->id);
    }
  }
  return sum;
}

void RecordSource::ForEach(const IdRange& range,
                           const std::function<void(const Digest&, const Digest&)>& visit) const {
  records_->ForEach(range.lower, range.upper, [this, &visit](const RecordPtr& record) {
    if (!revoked_->Revokes(record->node())) {
      visit(record->node(), record->id);
    }
    return true;
  });
}

Message OpenReconciliation(const ReconSource& source) {
  Message message;
  Range* range = message.add_ranges();
  SetBounds(IdRange{}, *range);
  range->set_fingerprint(std::string(AsText(source.Sum(IdRange{}).fingerprint())));
  return message;
}

absl::StatusOr<ReconAnswer> AnswerReconciliation(const ReconSource& source,
                                                 const Message& message) {
  if (static_cast<size_t>(message.ranges_size()) > limits::kMaxReconRanges) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "reconciliation has {} ranges where {} are allowed; update the sending node",
                 message.ranges_size(), limits::kMaxReconRanges);
  }
  ReconAnswer answer;
  std::optional<IdRange> previous;
  size_t answer_bytes = 0;
  for (const Range& range : message.ranges()) {
    ASSIGN_OR_RETURN(const IdRange bounds, BoundsOf(range, previous));
    previous = bounds;
    if (range.has_ids()) {
      ASSIGN_OR_RETURN(const std::set<Entry> theirs, ReadList(range.ids(), source.keyed()));
      CompareList(theirs, EntriesOf(source, bounds), answer);
      continue;
    }
    if (!range.has_fingerprint()) {
      return Malformed("has an empty range");
    }
    const size_t room = static_cast<size_t>(answer.message.ranges_size()) + limits::kReconSplit;
    if (range.fingerprint() == AsText(source.Sum(bounds).fingerprint()) ||
        answer_bytes > kMaxAnswerBytes || room > limits::kMaxReconRanges) {
      continue;
    }
    const std::vector<Entry> entries = EntriesOf(source, bounds);
    if (entries.size() <= limits::kReconListIds) {
      AppendList(bounds, entries, source.keyed(), answer.message);
      answer_bytes += (3 + 2 * entries.size()) * 40;
    } else {
      AppendSplit(bounds, entries, answer.message);
      answer_bytes += limits::kReconSplit * 100;
    }
  }
  return answer;
}

}  // namespace ruvd::federation
