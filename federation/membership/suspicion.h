// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/token_bucket.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"

namespace ruvd::federation {

// Body type of a signed suspicion (purpose 1, member).
inline constexpr uint16_t kBodySuspicion = 5;

// A member's signed statement that another member did not answer: the body of an envelope. It names
// an incarnation, so that a newer record of the suspect refutes it.
struct Accusation {
  privacy::AdmissionCert certificate;  // certificate of the accuser
  privacy::NodeId suspect{};
  uint64_t incarnation = 0;

  bool operator==(const Accusation&) const = default;
};

std::string EncodeAccusation(const Accusation& accusation);
// Returns ENVELOPE_MALFORMED, or the errors of AdmissionCert::Parse.
absl::StatusOr<Accusation> DecodeAccusation(std::span<const uint8_t> body);

// The content of an accusation, not yet verified.
struct AccusationClaim {
  privacy::NodeId accuser{};
  privacy::NodeId suspect{};
  uint64_t incarnation = 0;
};

// Reads the claim without looking at the certificate. Returns ENVELOPE_MALFORMED for a wrong
// length.
absl::StatusOr<AccusationClaim> PeekAccusation(std::span<const uint8_t> body);

// Returns how long a suspect has to refute (memberlist; Lifeguard, arXiv 1707.00788, section IV-B):
// with min = 4 x max(1, log10 members) x kSuspicionUnit, max = 6 min, and c of k confirmations, it
// is max - log(c + 1) / log(k + 1) x (max - min), but at least min.
Duration SuspicionTimeout(size_t members, size_t confirmations, size_t expected);
// Returns how many confirmations, by members other than the first accuser, bring the timeout to its
// minimum: 3 or 2, or fewer if there are fewer such members.
size_t ExpectedConfirmations(size_t members);

// Records which member is suspected by which others, and which did not refute in time. Bounded. Not
// thread-safe.
class SuspicionTable {
 public:
  // Without `lifeguard` the timeout is always the minimum, as in plain SWIM.
  explicit SuspicionTable(bool lifeguard) : lifeguard_(lifeguard) {}

  // Returns whether Add would ignore the accusation, whatever its signature.
  bool Settled(const AccusationClaim& claim, size_t members) const;
  // Counts an accusation against a record of this incarnation. Returns true if it is new
  // information and should be passed on; per suspicion this holds for at most the first accusation
  // and the expected confirmations.
  bool Add(const Accusation& accusation, std::shared_ptr<const privacy::Envelope> envelope,
           size_t members, TimePoint now);
  // Returns whether an accuser may still accuse. Accusations that are refuted use up its credit:
  // each that Add counts takes some, and gives it back if its suspect does not refute it in time.
  bool HasCredit(const privacy::NodeId& accuser, TimePoint now);
  // Charges a verified accusation of this node itself, which Add does not get, once for each
  // incarnation.
  void ChargeOwn(const privacy::NodeId& accuser, uint64_t incarnation, TimePoint now);
  // Ends the suspicions that began with an accusation of such an accuser, because a suspect that
  // does not accept the accusation cannot refute it. Returns their suspects.
  std::vector<privacy::NodeId> EndOf(const std::function<bool(const privacy::NodeId&)>& accuser);
  // The suspect refuted the suspicion, or was forgotten.
  void Clear(const privacy::NodeId& suspect) { suspects_.erase(suspect); }
  bool IsSuspected(const privacy::NodeId& suspect) const { return suspects_.contains(suspect); }
  // Returns whether the suspect did not refute in time.
  bool Dead(const privacy::NodeId& suspect) const;
  // Returns the accusation that began the suspicion, or nullptr.
  std::shared_ptr<const privacy::Envelope> EvidenceOf(const privacy::NodeId& suspect) const;
  // Returns accusations against at most `count` suspects, for a new neighbour. Later calls continue
  // where this one ended.
  std::vector<std::shared_ptr<const privacy::Envelope>> Evidence(size_t count);
  // Returns the suspects whose time is over at `now`, each of them once.
  std::vector<privacy::NodeId> TakeExpired(size_t members, TimePoint now);
  // Restarts the time of one of these suspects.
  void Renew(const privacy::NodeId& suspect, TimePoint now);
  // This node did not run for `pause`, so it could not have seen a refutation.
  void Postpone(Duration pause);
  size_t size() const { return suspects_.size(); }
  // Returns the suspect at this place in the order of ids. index < size().
  const privacy::NodeId& At(size_t index) const {
    return std::next(suspects_.begin(), static_cast<std::ptrdiff_t>(index))->first;
  }

 private:
  struct Suspect {
    uint64_t incarnation = 0;
    TimePoint since{};
    std::vector<privacy::NodeId> accusers;
    std::shared_ptr<const privacy::Envelope> evidence;
    bool dead = false;
  };
  // Returns whether a further accuser is new information.
  static bool Counts(const Suspect& suspect, const privacy::NodeId& accuser, size_t members);
  Duration TimeoutOf(const Suspect& suspect, size_t members) const;

  bool lifeguard_;
  std::map<privacy::NodeId, Suspect> suspects_;
  TokenBucket& CreditOf(const privacy::NodeId& accuser, TimePoint now);
  std::map<privacy::NodeId, TokenBucket> credits_;  // by accuser
  std::set<privacy::NodeId> own_accusers_;          // of this node's newest incarnation
  uint64_t own_incarnation_ = 0;
  privacy::NodeId next_evidence_{};
};

}  // namespace ruvd::federation
