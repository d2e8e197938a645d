// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "privacy/dp/rdp_curve.h"

namespace ruvd::privacy {

// What a guarantee hides: the presence of one lesson, of all lessons of one user, or of all lessons
// of the node. A unit holds those with smaller numbers. The numbers of this and the following enums
// are stored; 1 is not used.
enum class PrivacyUnit : uint8_t { kLesson = 2, kUser = 3, kNode = 4 };

inline constexpr PrivacyUnit kPrivacyUnits[] = {PrivacyUnit::kLesson, PrivacyUnit::kUser,
                                                PrivacyUnit::kNode};

enum class PrivacyMechanism : uint8_t {
  kGaussian = 1,
  kDiscreteGaussian = 2,
  kSubsampledGaussian = 3,
  kTreeAggregation = 4,
  kDistributedGaussian = 5,  // shares of discrete Gaussian noise in a masked sum
  // Stands for entries that were lost and of which only the cost is known.
  kLost = 6,
};

// What a release costs, as its accountant computed it.
struct LedgerCharge {
  PrivacyUnit unit = PrivacyUnit::kLesson;
  PrivacyMechanism mechanism = PrivacyMechanism::kGaussian;
  double sigma = 0;          // noise multiplier, above 0
  double sampling_rate = 1;  // above 0, at most 1
  uint64_t steps = 1;        // at least 1
  double epsilon = 0;        // of this release alone, not negative
  double delta = 0;          // 0 to below 1
  // The Renyi privacy; integers add up without an error that could hide a spend.
  dp::RdpCurve curve = {};
  // The round that is paid for, and the joining round from which on its units take part
  // (CohortLedger). Round 0 stands for a release outside rounds, which concerns all units.
  uint64_t round = 0;
  uint64_t oldest_joined = 0;
  std::string subject = {};  // what was released: the name of an update, or its hash as bytes
  bool operator==(const LedgerCharge&) const = default;
};

// The three steps of a release: it is reserved before its noise is drawn, spent before its bytes
// may leave the node, and released when they have left. A reservation is never given back: after a
// crash it counts as spent.
enum class LedgerKind : uint8_t { kReserve = 1, kSpend = 2, kRelease = 3 };

struct LedgerEntry {
  uint64_t sequence = 0;  // starts at 1 and has no gaps
  LedgerKind kind = LedgerKind::kReserve;
  uint64_t reservation = 0;  // the sequence number of the kReserve entry; that entry holds its own
  int64_t wall_ms = 0;
  std::optional<LedgerCharge> charge = {};  // only in a kReserve entry
  bool operator==(const LedgerEntry&) const = default;
};

// The end of a ledger's hash chain: the last sequence number and hash, or zeros for an empty
// ledger. With the head of a ledger one can tell whether a later ledger continues it.
struct LedgerHead {
  uint64_t sequence = 0;
  Digest hash = {};
  bool operator==(const LedgerHead&) const = default;
};

}  // namespace ruvd::privacy
