// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/revocation_fetcher.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/events/outbox.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

absl::Status Malformed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "{}; update the sending node", what);
}

}  // namespace

RevocationNotice NoticeOf(uint64_t number, std::string_view encoded) {
  return {
      .number = number, .bytes = static_cast<uint32_t>(encoded.size()), .hash = Sha256(encoded)};
}

v1::RevocationNotice ToProto(const RevocationNotice& notice) {
  v1::RevocationNotice proto;
  if (notice.number > 0) {
    proto.set_number(notice.number);
    proto.set_bytes(notice.bytes);
    proto.set_hash(std::string(AsText(notice.hash)));
  }
  return proto;
}

absl::StatusOr<RevocationNotice> NoticeFrom(const v1::RevocationNotice& proto) {
  if (proto.number() == 0 && proto.bytes() == 0 && proto.hash().empty()) {
    return RevocationNotice();
  }
  const std::optional<Digest> hash = DigestFrom(proto.hash());
  if (proto.number() == 0 || proto.bytes() == 0 || !hash) {
    return Malformed("notice of a revocation list lacks its number, length or hash");
  }
  if (proto.bytes() > limits::kMaxRevocationListBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "revocation list {} has {} bytes, more than the limit of {}; update the older of "
                 "both nodes",
                 proto.number(), proto.bytes(), limits::kMaxRevocationListBytes);
  }
  return RevocationNotice{.number = proto.number(), .bytes = proto.bytes(), .hash = *hash};
}

absl::StatusOr<v1::WireFrame> PartOf(std::string_view encoded, const v1::RevocationsWant& want) {
  if (want.offset() >= encoded.size() || want.offset() % limits::kRevocationPartBytes != 0) {
    return Malformed("request names a part that its revocation list does not have");
  }
  v1::WireFrame frame;
  frame.mutable_revocations()->set_hash(want.hash());
  frame.mutable_revocations()->set_offset(want.offset());
  frame.mutable_revocations()->set_data(
      std::string(encoded.substr(want.offset(), limits::kRevocationPartBytes)));
  return frame;
}

void RevocationFetcher::OnNotice(LinkId link, const RevocationNotice& notice, TimePoint now) {
  Offer& offer = offers_[link];
  if (notice.number < offer.notice.number || notice == offer.notice) {
    return;
  }
  if (offer.fetching) {  // otherwise a peer could hold its turn by naming one list after the other
    Failed(link, now);
  }
  offer.notice = notice;
}

bool RevocationFetcher::Offers(LinkId link, uint64_t number) const {
  const auto found = offers_.find(link);
  return found != offers_.end() && found->second.notice.number > number;
}

RevocationFetcher::Request RevocationFetcher::RequestFor(LinkId link, const Offer& offer) {
  Request request{.link = link, .frame = {}};
  v1::RevocationsWant* want = request.frame.mutable_revocations_want();
  want->set_hash(std::string(AsText(offer.notice.hash)));
  want->set_offset(static_cast<uint32_t>(offer.received.size()));
  return request;
}

std::vector<RevocationFetcher::Request> RevocationFetcher::Begin(uint64_t number, TimePoint now) {
  std::set<Digest> fetched;
  std::vector<std::pair<LinkId, Offer*>> waiting;
  for (auto& [link, offer] : offers_) {
    if (offer.notice.number <= number) {
      offer.fetching = false;  // the list came over another link
      offer.received.clear();
    } else if (offer.fetching) {
      fetched.insert(offer.notice.hash);
    } else if (offer.at <= now) {
      waiting.emplace_back(link, &offer);
    }
  }
  std::ranges::stable_sort(waiting, {}, [](const auto& entry) { return entry.second->failures; });
  std::vector<Request> requests;
  for (const auto& [link, offer] : waiting) {
    if (fetched.size() < limits::kMaxRevocationFetches &&
        fetched.insert(offer->notice.hash).second) {
      offer->fetching = true;
      offer->at = now + limits::kRevocationPartTimeout;
      requests.push_back(RequestFor(link, *offer));
    }
  }
  return requests;
}

absl::StatusOr<RevocationFetcher::Taken> RevocationFetcher::OnPart(LinkId link,
                                                                   const v1::Revocations& part,
                                                                   TimePoint now) {
  const auto found = offers_.find(link);
  if (found == offers_.end() || !found->second.fetching ||
      part.hash() != AsText(found->second.notice.hash) ||
      part.offset() != found->second.received.size()) {
    return Taken();
  }
  Offer& offer = found->second;
  const size_t expected =
      std::min<size_t>(limits::kRevocationPartBytes, offer.notice.bytes - offer.received.size());
  if (part.data().size() != expected) {
    Failed(link, now);
    return Malformed("part of a revocation list has the wrong length");
  }
  offer.received += part.data();
  if (offer.received.size() < offer.notice.bytes) {
    offer.at = now + limits::kRevocationPartTimeout;
    return Taken{.next = RequestFor(link, offer), .list = {}};
  }
  offer.fetching = false;
  offer.at = now;
  Taken taken{.next = {}, .list = std::exchange(offer.received, ""), .number = offer.notice.number};
  if (Sha256(*taken.list) != offer.notice.hash) {
    Failed(link, now);
    return Malformed("revocation list has another hash than the notice of it");
  }
  return taken;
}

void RevocationFetcher::End(LinkId link, TimePoint next) {
  const auto found = offers_.find(link);
  if (found != offers_.end()) {
    found->second.fetching = false;
    found->second.received.clear();
    found->second.at = next;
  }
}

void RevocationFetcher::Postpone(LinkId link, TimePoint now) {
  End(link, now + std::chrono::seconds(1));
}

void RevocationFetcher::Failed(LinkId link, TimePoint now) {
  if (const auto found = offers_.find(link); found != offers_.end()) {
    ++found->second.failures;
  }
  End(link, now + limits::kRevocationRetry);
}

std::vector<LinkId> RevocationFetcher::GiveUp(TimePoint now) {
  std::vector<LinkId> late;
  for (const auto& [link, offer] : offers_) {
    if (offer.fetching && offer.at <= now) {
      late.push_back(link);
    }
  }
  for (const LinkId link : late) {
    Failed(link, now);
  }
  return late;
}

}  // namespace ruvd::federation
