// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"

namespace ruvd::federation {

// Body type of a signed suspicion (purpose 1, member).
inline constexpr uint16_t kBodySuspicion = 5;

// One member's word that another did not answer: body of an envelope. It names an incarnation, so
// that a newer record of the suspect refutes it.
struct Accusation {
  privacy::AdmissionCert certificate;  // of the accuser
  privacy::NodeId suspect{};
  uint64_t incarnation = 0;

  bool operator==(const Accusation&) const = default;
};

std::string EncodeAccusation(const Accusation& accusation);
// ENVELOPE_MALFORMED, or what AdmissionCert::Parse says.
absl::StatusOr<Accusation> DecodeAccusation(std::span<const uint8_t> body);

// What an accusation is about, as it says itself.
struct AccusationClaim {
  privacy::NodeId accuser{};
  privacy::NodeId suspect{};
  uint64_t incarnation = 0;
};

// Reads the claim without looking at the certificate. ENVELOPE_MALFORMED for another length.
absl::StatusOr<AccusationClaim> PeekAccusation(std::span<const uint8_t> body);

// How long a suspect has to refute (memberlist; Lifeguard, arXiv 1707.00788, section IV-B):
// min = 4 x max(1, log10 members) x kSuspicionUnit, max = 6 min, and with c of k confirmations
// max - log(c + 1) / log(k + 1) x (max - min), at least min.
Duration SuspicionTimeout(size_t members, size_t confirmations, size_t expected);
// Confirmations by others than the first accuser that bring the timeout to its minimum: 3 or 2, and
// fewer where there are not so many others.
size_t ExpectedConfirmations(size_t members);

// Who is suspected by whom, and who did not refute in time. Bounded; not thread-safe.
class SuspicionTable {
 public:
  // Without `lifeguard` the timeout is the minimum at once, as in plain SWIM.
  explicit SuspicionTable(bool lifeguard) : lifeguard_(lifeguard) {}

  // Whether Add would count nothing, whoever signed the accusation.
  bool Settled(const AccusationClaim& claim, size_t members) const;
  // Counts an accusation against a record of this incarnation. True if it says something new, so
  // that it is worth passing on: at most one and the expected confirmations of one suspicion are.
  bool Add(const Accusation& accusation, std::shared_ptr<const privacy::Envelope> envelope,
           size_t members, TimePoint now);
  // The suspect refuted, or was forgotten.
  void Clear(const privacy::NodeId& suspect) { suspects_.erase(suspect); }
  bool Suspected(const privacy::NodeId& suspect) const { return suspects_.contains(suspect); }
  // Not refuted in time.
  bool Dead(const privacy::NodeId& suspect) const;
  // The accusation that began it, or nullptr.
  std::shared_ptr<const privacy::Envelope> EvidenceOf(const privacy::NodeId& suspect) const;
  // Of at most `count` suspects, for a new neighbour; later calls go on where this one ended.
  std::vector<std::shared_ptr<const privacy::Envelope>> Evidence(size_t count);
  // Those whose time is over at `now`, once each.
  std::vector<privacy::NodeId> TakeExpired(size_t members, TimePoint now);
  // Gives one of them its time again.
  void Renew(const privacy::NodeId& suspect, TimePoint now);
  // This node did not run for `pause`: it could not have seen a refutation.
  void Postpone(Duration pause);
  size_t size() const { return suspects_.size(); }
  // The suspect at this place in order of ids. index < size().
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
  // Whether a further accuser says something new.
  static bool Counts(const Suspect& suspect, const privacy::NodeId& accuser, size_t members);
  Duration TimeoutOf(const Suspect& suspect, size_t members) const;

  bool lifeguard_;
  std::map<privacy::NodeId, Suspect> suspects_;
  privacy::NodeId next_evidence_{};
};

}  // namespace ruvd::federation
