// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "federation/events/actions.h"
#include "privacy/identity/revocation_list.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// Names one encoded revocation list.
struct RevocationNotice {
  uint64_t number = 0;  // 0: the node has no list
  uint32_t bytes = 0;   // length of the encoded list
  Digest hash{};        // SHA-256 of the encoded list
  bool operator==(const RevocationNotice&) const = default;
};

// Returns the notice of an encoded list with this number.
RevocationNotice NoticeOf(uint64_t number, std::string_view encoded);
v1::RevocationNotice ToProto(const RevocationNotice& notice);
// Returns ENVELOPE_MALFORMED for a notice that names no possible list, and LIMIT_EXCEEDED for a
// list longer than kMaxRevocationListBytes.
absl::StatusOr<RevocationNotice> NoticeFrom(const v1::RevocationNotice& proto);

// Returns the frame with the part of an encoded list that a peer asked for. ENVELOPE_MALFORMED for
// an offset at which no part begins.
absl::StatusOr<v1::WireFrame> PartOf(std::string_view encoded, const v1::RevocationsWant& want);

// Fetches revocation lists from peers that named newer ones than this node has: part by part, each
// list over one link at a time, at most kMaxRevocationFetches at once. A peer that did not deliver
// waits for kRevocationRetry, and then until the others had their turn, so that peers that never
// deliver cannot keep a list away. It checks nothing but sizes and the hash. It does no I/O. Not
// thread-safe.
class RevocationFetcher {
 public:
  // Notes that the peer of a link has this list.
  void OnNotice(LinkId link, const RevocationNotice& notice, TimePoint now);
  void LinkDown(LinkId link) { offers_.erase(link); }
  // Returns whether the peer of a link has a newer list than `number`, as far as it said.
  bool Offers(LinkId link, uint64_t number) const;

  struct Request {
    LinkId link = 0;
    v1::WireFrame frame;
  };
  // Begins to fetch lists newer than `number` where none is being fetched, and returns what to
  // send.
  std::vector<Request> Begin(uint64_t number, TimePoint now);

  struct Taken {
    std::optional<Request> next;      // to send
    std::optional<std::string> list;  // the whole list, which has the hash that was named
    uint64_t number = 0;              // as it was named
  };
  // Takes a part. Neither field is set for a part that was not asked for, such as a copy.
  // ENVELOPE_MALFORMED: the peer did not deliver.
  absl::StatusOr<Taken> OnPart(LinkId link, const v1::Revocations& part, TimePoint now);
  // Ends a fetch of which the peer is not to blame, and begins it again a second later.
  void Postpone(LinkId link, TimePoint now);
  // Notes that the peer did not deliver the list that it named, or delivered a wrong one.
  void Failed(LinkId link, TimePoint now);
  // Ends the fetches whose peers left a request unanswered for kRevocationPartTimeout, and returns
  // their links.
  std::vector<LinkId> GiveUp(TimePoint now);

 private:
  struct Offer {
    RevocationNotice notice;
    bool fetching = false;
    std::string received;
    TimePoint at{};    // while fetching: when to give up; else: the earliest time to begin
    int failures = 0;  // how often the peer did not deliver
  };
  void End(LinkId link, TimePoint next);
  static Request RequestFor(LinkId link, const Offer& offer);

  std::map<LinkId, Offer> offers_;
};

}  // namespace ruvd::federation
