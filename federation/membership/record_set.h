// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "federation/events/id_sum.h"
#include "federation/membership/member_record.h"
#include "privacy/envelope/envelope.h"

namespace ruvd::federation {

// A member record whose signature and certificate were checked. Immutable.
struct SignedRecord {
  MemberRecord record;
  privacy::Envelope envelope;
  Digest id{};  // MessageId of the envelope
  int64_t created_ms = 0;
  int64_t expires_ms = 0;

  const privacy::NodeId& node() const { return record.certificate.node_id; }
};
using RecordPtr = std::shared_ptr<const SignedRecord>;

// Whether `a` replaces `b`, a record of the same member: the higher incarnation, then leaving
// before living, then the greater id. The order is total, so that all nodes end with one record
// whatever the order in which records come.
bool Supersedes(const SignedRecord& a, const SignedRecord& b);

// An immutable set of records, one a member. Nodes that run in one process share it.
class RecordBase {
 public:
  RecordBase() : RecordBase(std::vector<RecordPtr>{}) {}
  // Any order, none null. Of several records of one member the one that supersedes is kept.
  explicit RecordBase(std::vector<RecordPtr> records);

  const std::vector<RecordPtr>& records() const { return records_; }  // by node id
  // Index of the first record whose node id is not below `id`.
  size_t LowerBound(const privacy::NodeId& id) const;
  const RecordPtr* Find(const privacy::NodeId& id) const;
  // Sum over the ids of records [0, end).
  const IdSum& SumBefore(size_t end) const { return sums_[end]; }

 private:
  std::vector<RecordPtr> records_;
  std::vector<IdSum> sums_;
};

// The newest record of every member: a state-based CRDT, merged by Supersedes. What changed since
// `base` is kept apart, so that nodes of one process share what is the same for all; lookups and
// sums over a range take logarithmic time in the base. Not thread-safe.
class RecordSet {
 public:
  RecordSet() : base_(std::make_shared<const RecordBase>()) {}

  const RecordPtr* Find(
      const privacy::NodeId& id) const;  // nullptr if unknown; until the next change
  // When the record was put, or the base was set.
  TimePoint ReceivedAt(const privacy::NodeId& id) const;
  // Merges: true if the record is new or supersedes the known one.
  bool Put(RecordPtr record, TimePoint now);
  void Erase(const privacy::NodeId& id);
  // Merges a whole base; the set must hold at most records that are kept over it.
  void SetBase(std::shared_ptr<const RecordBase> base, TimePoint now);
  size_t size() const { return size_; }

  // Of record ids in [lower, upper) of node ids; no `upper`: to the end.
  IdSum Sum(const privacy::NodeId& lower, const std::optional<privacy::NodeId>& upper) const;
  // In order of node ids, until `visit` returns false.
  void ForEach(const privacy::NodeId& lower, const std::optional<privacy::NodeId>& upper,
               const std::function<bool(const RecordPtr&)>& visit) const;
  // A uniformly random record; nullptr in an empty set.
  const RecordPtr* Sample(Random& random) const;

 private:
  struct Change {
    RecordPtr record;  // null: erased from the base
    TimePoint received{};
  };
  // Folds the changes into a base of this set's own when they are many.
  void FoldIfLarge();

  std::shared_ptr<const RecordBase> base_;
  TimePoint base_received_{};
  std::map<privacy::NodeId, Change> changes_;
  size_t size_ = 0;
};

// Records that nodes of one process verified, so that a simulation checks and stores each once. All
// nodes that share a pool trust the same issuer. Not thread-safe.
class RecordPool {
 public:
  // The verified record of this envelope, or nullptr.
  RecordPtr Find(const Digest& id, const privacy::Envelope& envelope) const;
  void Add(const RecordPtr& record);

 private:
  std::map<Digest, std::weak_ptr<const SignedRecord>> records_;
  size_t prune_at_ = 1024;
};

}  // namespace ruvd::federation
