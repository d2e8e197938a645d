// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/events/id_sum.h"
#include "federation/events/item.h"
#include "federation/membership/record_set.h"
#include "privacy/identity/revocation_list.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// A half-open range of keys. Without `upper` it extends to the end.
struct IdRange {
  Digest lower{};
  std::optional<Digest> upper;
};

// A set that two nodes compare. Each entry has a key, by which entries are ordered, and the id of a
// signed message.
class ReconSource {
 public:
  virtual ~ReconSource() = default;
  virtual IdSum Sum(const IdRange& range) const = 0;
  // Visits entries in the order of keys.
  virtual void ForEach(
      const IdRange& range,
      const std::function<void(const Digest& key, const Digest& id)>& visit) const = 0;
  // Returns whether keys differ from ids, so that lists contain both.
  virtual bool keyed() const = 0;
};

// A source of items; every id is its own key. `items` must outlive the source.
class ItemSource final : public ReconSource {
 public:
  explicit ItemSource(const std::map<Digest, Item>& items) : items_(&items) {}
  IdSum Sum(const IdRange& range) const override;
  void ForEach(const IdRange& range,
               const std::function<void(const Digest&, const Digest&)>& visit) const override;
  bool keyed() const override { return false; }

 private:
  const std::map<Digest, Item>* items_;
};

// A source of member records by node id, without those of revoked members: nodes keep such records
// if they had them and newcomers refuse them, so the sets would differ forever. Both arguments must
// outlive the source.
class RecordSource final : public ReconSource {
 public:
  RecordSource(const RecordSet& records, const privacy::RevocationList& revoked)
      : records_(&records), revoked_(&revoked) {}
  IdSum Sum(const IdRange& range) const override;
  void ForEach(const IdRange& range,
               const std::function<void(const Digest&, const Digest&)>& visit) const override;
  bool keyed() const override { return true; }

 private:
  const RecordSet* records_;
  const privacy::RevocationList* revoked_;
};

// Range-based set reconciliation (Meyer 2022; negentropy): two nodes compare fingerprints of ranges
// of keys, split ranges that differ, and list small ones. It is stateless: each message is answered
// from the current set. Traffic grows with the difference, not with the set.

// Returns the opening message: one fingerprint over everything.
v1::ReconMessage OpenReconciliation(const ReconSource& source);

struct ReconAnswer {
  v1::ReconMessage message;     // not sent if it has no ranges
  std::vector<Digest> missing;  // keys of entries that the peer has and this node lacks
  std::vector<Digest> surplus;  // keys of entries that this node has and the peer lacks
};

// Answers a message. Ranges must ascend without overlap, so that the work is linear in the set.
// Ranges that do not fit into a frame are left to the next exchange. Errors: ENVELOPE_MALFORMED,
// LIMIT_EXCEEDED.
absl::StatusOr<ReconAnswer> AnswerReconciliation(const ReconSource& source,
                                                 const v1::ReconMessage& message);

}  // namespace ruvd::federation
