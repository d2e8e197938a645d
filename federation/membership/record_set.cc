// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/record_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "federation/limits.h"

namespace ruvd::federation {

bool Supersedes(const SignedRecord& a, const SignedRecord& b) {
  return std::tie(a.record.certificate.key_epoch, a.record.incarnation, a.record.state, a.id) >
         std::tie(b.record.certificate.key_epoch, b.record.incarnation, b.record.state, b.id);
}

RecordBase::RecordBase(std::vector<RecordPtr> records) : records_(std::move(records)) {
  std::sort(records_.begin(), records_.end(), [](const RecordPtr& a, const RecordPtr& b) {
    return a->node() != b->node() ? a->node() < b->node() : Supersedes(*a, *b);
  });
  const auto same_node = [](const RecordPtr& a, const RecordPtr& b) {
    return a->node() == b->node();
  };
  records_.erase(std::unique(records_.begin(), records_.end(), same_node), records_.end());
  sums_.reserve(records_.size() + 1);
  sums_.emplace_back();
  for (const RecordPtr& record : records_) {
    sums_.push_back(sums_.back());
    sums_.back().Add(record->id);
  }
}

size_t RecordBase::LowerBound(const privacy::NodeId& id) const {
  return static_cast<size_t>(
      std::lower_bound(records_.begin(), records_.end(), id,
                       [](const RecordPtr& record, const privacy::NodeId& key) {
                         return record->node() < key;
                       }) -
      records_.begin());
}

const RecordPtr* RecordBase::Find(const privacy::NodeId& id) const {
  const size_t index = LowerBound(id);
  return index < records_.size() && records_[index]->node() == id ? &records_[index] : nullptr;
}

const RecordPtr* RecordSet::Find(const privacy::NodeId& id) const {
  const auto change = changes_.find(id);
  if (change != changes_.end()) {
    return change->second.record ? &change->second.record : nullptr;
  }
  return base_->Find(id);
}

TimePoint RecordSet::ReceivedAt(const privacy::NodeId& id) const {
  const auto change = changes_.find(id);
  return change == changes_.end() ? base_received_ : change->second.received;
}

bool RecordSet::Put(RecordPtr record, TimePoint now) {
  const privacy::NodeId id = record->node();
  const RecordPtr* known = Find(id);
  if (known != nullptr && !Supersedes(*record, **known)) {
    return false;
  }
  size_ += known == nullptr ? 1 : 0;
  changes_[id] = {.record = std::move(record), .received = now};
  CompactIfLarge();
  return true;
}

void RecordSet::Erase(const privacy::NodeId& id) {
  if (Find(id) == nullptr) {
    return;
  }
  --size_;
  if (base_->Find(id) != nullptr) {
    changes_[id] = {.record = nullptr, .received = {}};
    CompactIfLarge();
  } else {
    changes_.erase(id);
  }
}

void RecordSet::CompactIfLarge() {
  if (changes_.size() <= limits::kMaxRecordChanges + base_->records().size() / 4) {
    return;
  }
  std::vector<RecordPtr> records;
  records.reserve(size_);
  ForEach(privacy::NodeId{}, std::nullopt, [&](const RecordPtr& record) {
    records.push_back(record);
    return true;
  });
  TimePoint latest = base_received_;
  for (const auto& [id, change] : changes_) {
    latest = std::max(latest, change.received);
  }
  base_ = std::make_shared<const RecordBase>(std::move(records));
  base_received_ = latest;
  changes_.clear();
}

void RecordSet::SetBase(std::shared_ptr<const RecordBase> base, TimePoint now) {
  std::vector<RecordPtr> kept;
  ForEach(privacy::NodeId{}, std::nullopt, [&](const RecordPtr& record) {
    kept.push_back(record);
    return true;
  });
  base_ = std::move(base);
  base_received_ = now;
  changes_.clear();
  size_ = base_->records().size();
  for (RecordPtr& record : kept) {
    Put(std::move(record), now);
  }
}

IdSum RecordSet::Sum(const privacy::NodeId& lower,
                     const std::optional<privacy::NodeId>& upper) const {
  const size_t begin = base_->LowerBound(lower);
  const size_t end = upper ? base_->LowerBound(*upper) : base_->records().size();
  IdSum sum = base_->PrefixSum(end);
  sum.Remove(base_->PrefixSum(begin));
  const auto last = upper ? changes_.lower_bound(*upper) : changes_.end();
  for (auto it = changes_.lower_bound(lower); it != last; ++it) {
    if (const RecordPtr* replaced = base_->Find(it->first)) {
      sum.Remove((*replaced)->id);
    }
    if (it->second.record) {
      sum.Add(it->second.record->id);
    }
  }
  return sum;
}

void RecordSet::ForEach(const privacy::NodeId& lower, const std::optional<privacy::NodeId>& upper,
                        const std::function<bool(const RecordPtr&)>& visit) const {
  const std::vector<RecordPtr>& base = base_->records();
  size_t index = base_->LowerBound(lower);
  const size_t end = upper ? base_->LowerBound(*upper) : base.size();
  auto change = changes_.lower_bound(lower);
  const auto last = upper ? changes_.lower_bound(*upper) : changes_.end();
  while (index < end || change != last) {
    const bool from_changes =
        index == end || (change != last && change->first <= base[index]->node());
    if (!from_changes) {
      if (!visit(base[index++])) {
        return;
      }
      continue;
    }
    index += index < end && base[index]->node() == change->first ? 1 : 0;
    if (change->second.record && !visit(change->second.record)) {
      return;
    }
    ++change;
  }
}

const RecordPtr* RecordSet::Sample(Random& random) const {
  if (size_ == 0) {
    return nullptr;
  }
  while (true) {  // a draw fails if a change replaced the drawn record of the base
    const uint64_t drawn = random.Below(base_->records().size() + changes_.size());
    if (drawn < base_->records().size()) {
      const RecordPtr& record = base_->records()[drawn];
      if (!changes_.contains(record->node())) {
        return &record;
      }
      continue;
    }
    auto change = changes_.begin();
    std::advance(change, static_cast<std::ptrdiff_t>(drawn - base_->records().size()));
    if (change->second.record) {
      return &change->second.record;
    }
  }
}

RecordPtr RecordPool::Find(const Digest& id, const privacy::Envelope& envelope) const {
  const auto found = records_.find(id);
  RecordPtr record = found == records_.end() ? nullptr : found->second.lock();
  return record && record->envelope == envelope ? record : nullptr;
}

void RecordPool::Add(const RecordPtr& record) {
  if (records_.size() >= prune_at_) {
    std::erase_if(records_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = std::max<size_t>(1024, 2 * records_.size());
  }
  records_[record->id] = record;
}

}  // namespace ruvd::federation
