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

// Returns whether `a` replaces `b`, a record of the same member: the higher incarnation wins, then
// the state "left", then the greater id. The order is total, so all nodes end with the same record
// whatever the order in which records arrive.
bool Supersedes(const SignedRecord& a, const SignedRecord& b);

// An immutable set of records, at most one per member. Nodes that run in one process share it.
class RecordBase {
 public:
  RecordBase() : RecordBase(std::vector<RecordPtr>{}) {}
  // Takes records in any order; none may be null. If a member has several records, the one that
  // supersedes the others is kept.
  explicit RecordBase(std::vector<RecordPtr> records);

  const std::vector<RecordPtr>& records() const { return records_; }  // by node id
  // Returns the index of the first record whose node id is not below `id`.
  size_t LowerBound(const privacy::NodeId& id) const;
  const RecordPtr* Find(const privacy::NodeId& id) const;
  // Returns the sum over the ids of records [0, end).
  const IdSum& PrefixSum(size_t end) const { return sums_[end]; }

 private:
  std::vector<RecordPtr> records_;
  std::vector<IdSum> sums_;
};

// The newest record of every member: a state-based CRDT, merged by Supersedes. Changes since `base`
// are stored separately, so that nodes of one process share the common part. Lookups and sums over
// a range take logarithmic time in the base. Not thread-safe.
class RecordSet {
 public:
  RecordSet() : base_(std::make_shared<const RecordBase>()) {}

  const RecordPtr* Find(
      const privacy::NodeId& id) const;  // nullptr if unknown; until the next change
  // Returns when the record was put, or when the base was set.
  TimePoint ReceivedAt(const privacy::NodeId& id) const;
  // Merges a record. Returns true if it is new or supersedes the known one.
  bool Put(RecordPtr record, TimePoint now);
  void Erase(const privacy::NodeId& id);
  // Merges a whole base. The set may contain only records that are kept over those of the base.
  void SetBase(std::shared_ptr<const RecordBase> base, TimePoint now);
  size_t size() const { return size_; }

  // Returns the sum over the record ids of nodes in [lower, upper); without `upper`, to the end.
  IdSum Sum(const privacy::NodeId& lower, const std::optional<privacy::NodeId>& upper) const;
  // Visits records in order of node ids until `visit` returns false.
  void ForEach(const privacy::NodeId& lower, const std::optional<privacy::NodeId>& upper,
               const std::function<bool(const RecordPtr&)>& visit) const;
  // Returns a uniformly random record; nullptr if the set is empty.
  const RecordPtr* Sample(Random& random) const;

 private:
  struct Change {
    RecordPtr record;  // null: erased from the base
    TimePoint received{};
  };
  // Merges the changes into a new base of this set if there are many.
  void CompactIfLarge();

  std::shared_ptr<const RecordBase> base_;
  TimePoint base_received_{};
  std::map<privacy::NodeId, Change> changes_;
  size_t size_ = 0;
};

// Records that nodes of one process have verified, so that a simulation checks and stores each
// record once. All nodes that share a pool must trust the same issuer. Not thread-safe.
class RecordPool {
 public:
  // Returns the verified record of this envelope, or nullptr.
  RecordPtr Find(const Digest& id, const privacy::Envelope& envelope) const;
  void Add(const RecordPtr& record);

 private:
  std::map<Digest, std::weak_ptr<const SignedRecord>> records_;
  size_t prune_at_ = 1024;
};

}  // namespace ruvd::federation
