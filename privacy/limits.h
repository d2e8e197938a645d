// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of the privacy room, each with its reason. docs/wire-format.md describes those that wire
// formats depend on.
namespace ruvd::limits {

// How long a certificate is valid at most. A stolen key is useful for no longer, even where no
// revocation arrives.
inline constexpr int64_t kMaxCertificateMillis = 30LL * 24 * 3600 * 1000;
// How far before its start a certificate is accepted: its issuer's clock may run ahead of ours.
inline constexpr int64_t kCertificateClockSkewMillis = 2 * 60 * 1000;
// Size of the name field of a certificate
inline constexpr size_t kMaxNodeNameBytes = 32;

// How long after a rotation the authority lets the former key count, because messages that it
// signed may still be travelling
inline constexpr int64_t kKeyOverlapMillis = 24LL * 3600 * 1000;
// Rotations of one node's key, 254 bytes each, which it shows to the authority together: one a
// month for eight years
inline constexpr size_t kMaxKeyRotations = 100;
// How long a node stays on the revocation list: its last certificate has ended by then. The day
// more is for the clock of a machine on which the authority's key issued that certificate.
inline constexpr int64_t kRevocationLifeMillis = kMaxCertificateMillis + 24LL * 3600 * 1000;
// Nodes on a revocation list, 44 bytes each. All members that a node keeps records of
// (federation's kMaxRecords) may be revoked within kRevocationLifeMillis.
inline constexpr size_t kMaxRevokedNodes = 16'384;
// Bytes of the largest revocation list: its issuer and other fields, its nodes and its signature
inline constexpr size_t kMaxRevocationListBytes = 18 + 170 + 3 * 8 + 4 + 44 * kMaxRevokedNodes + 64;
// All nodes that an authority ever revoked, 32 bytes each
inline constexpr size_t kMaxRevokedEver = 100'000;
// Nodes whose key an authority replaced, 76 bytes each
inline constexpr size_t kMaxGrantedKeys = 50'000;
// Nodes whose former keys may be on the revocation list at a time, so that it keeps room for nodes
// that are revoked
inline constexpr size_t kMaxEndedKeys = kMaxRevokedNodes / 2;
// A join token is typed or mailed, so it is valid for a day at most.
inline constexpr int64_t kMaxTokenMillis = 24LL * 3600 * 1000;
// How long after its end a token still lets its holder be told that it has ended
inline constexpr int64_t kTokenGraceMillis = 3600LL * 1000;
// Tokens that were issued and have not expired
inline constexpr size_t kMaxJoinTokens = 10'000;
// Messages whose number is remembered, in order to detect a second message with that number; 300
// bytes each
inline constexpr size_t kMaxEquivocationEntries = 8192;

// Header, body and signature together have at most this size. A manifest with its certificate takes
// 740 bytes; larger content belongs in a payload, which is pulled and not pushed.
inline constexpr size_t kMaxEnvelopeBytes = 4096;
// How old a pushed envelope may be: more than the delay of a healthy mesh and the drift of a clock
// together
inline constexpr int64_t kMaxEnvelopeAgeMillis = 10 * 60 * 1000;
// How far the sender's clock may run ahead of ours
inline constexpr int64_t kMaxEnvelopeAheadMillis = 2 * 60 * 1000;
// How long a stored item may be valid at most: two lifetimes of a certificate. It also ends with
// its sender's certificate.
inline constexpr int64_t kMaxEnvelopeLifeMillis = 2 * kMaxCertificateMillis;

// How many sequence numbers behind the newest one a window remembers. A mesh reorders tens of
// messages and never thousands: there is no need for more.
inline constexpr uint64_t kReplayWindowBits = 1024;
// Boots remembered for each sender: the running one, and the one before, whose last messages may
// still be travelling
inline constexpr size_t kReplayBootsPerSender = 2;
// Senders remembered at once; 10,000 x about 350 bytes are 3.5 MB
inline constexpr size_t kMaxReplaySenders = 10'000;

// Argon2id for the passphrase of a store: 3 passes over 64 MiB (RFC 9106, section 4, second
// choice), which a node of 512 MiB can spare once at start. The smallest values follow OWASP's
// recommendation; the largest keep an altered parameter file from exhausting the machine.
inline constexpr uint64_t kPassphrasePasses = 3;
inline constexpr uint64_t kPassphraseMemoryBytes = 64ULL << 20;
inline constexpr uint64_t kMinPassphrasePasses = 2;
inline constexpr uint64_t kMaxPassphrasePasses = 16;
inline constexpr uint64_t kMinPassphraseMemoryBytes = 16ULL << 20;
inline constexpr uint64_t kMaxPassphraseMemoryBytes = 1ULL << 30;
// With a stolen disk a shorter passphrase can be guessed whatever the parameters are.
inline constexpr size_t kMinPassphraseBytes = 12;
inline constexpr size_t kMaxPassphraseBytes = 1024;

// Arguments that an accountant accepts. A sampling rate below the smallest gains less than rounding
// loses. Noise outside the range is probably a mistake of units: with the smallest noise multiplier
// one release costs an epsilon of 5,000.
inline constexpr double kMinSamplingRate = 1e-12;
inline constexpr double kMinNoiseMultiplier = 1e-2;
inline constexpr double kMaxNoiseMultiplier = 1e6;
inline constexpr uint64_t kMaxPrivacySteps = 1'000'000'000;
// Largest Renyi order: the sum at an integer order has as many terms
inline constexpr double kMaxRdpOrder = 10'000;
inline constexpr size_t kMaxRdpOrders = 1024;
// Rounds of a federation are numbered below this, so that a round has a successor.
inline constexpr uint64_t kMaxRound = uint64_t{1} << 62;
// Cells of a privacy loss distribution: 2^22 complex numbers are 64 MiB and a second of work
inline constexpr size_t kMaxPldCells = size_t{1} << 22;

// Values of one noised update. The sum of their squares, each at most 2^36, fits 64 bits.
inline constexpr size_t kMaxUpdateValues = size_t{1} << 24;
inline constexpr int32_t kMaxGridUnits = 1 << 18;
// The standard deviation of integer noise is at most this, in units of the grid. For each value the
// sampler reads 13 times as many thresholds, which takes at most 50 microseconds.
inline constexpr uint32_t kMaxNoiseUnits = 4096;
// Fewest whole units in a clip norm: with fewer the noise itself would be coarse
inline constexpr int64_t kMinClipUnits = 64;
// Smallest ratio of the norm of the signal to that of the noise, for each round. On the 5M model a
// ratio of 1.2 to 2.4 kept 97 % of the gain; 0.3 to 0.6 kept 25 % and damaged general text; 0.1
// destroyed the model.
inline constexpr double kMinReleaseSnr = 1;

// Length of the ids of users and sessions, as in the API
inline constexpr size_t kMaxConsentSubjectBytes = 128;
// A consent ends after a year at most, because a user who does not answer again has not agreed
// again.
inline constexpr int64_t kMaxConsentMillis = 366LL * 24 * 3600 * 1000;
// Consents held in memory, about 300 bytes each
inline constexpr size_t kMaxConsentSubjects = 100'000;
// A site policy is written by hand.
inline constexpr size_t kMaxPolicyBytes = size_t{64} << 10;
inline constexpr size_t kMaxPolicyScopes = 256;
inline constexpr size_t kMaxPolicyScopeBytes = 64;
// Items that one withdrawal names: so that it fits an envelope together with certificate and header
inline constexpr size_t kMaxWithdrawnItems = 64;
// Versions whose inputs are recorded, and inputs of one version
inline constexpr size_t kMaxProvenanceVersions = 10'000;
inline constexpr size_t kMaxProvenanceInputs = 1024;

// Participants of a masked sum. With three, a colluder who subtracts its own share from the sum
// knows the sum of only two. With more than sixteen it becomes likely that a member drops out,
// which costs every other member a new share.
inline constexpr size_t kMinCliqueMembers = 4;
inline constexpr size_t kMaxCliqueMembers = 16;
// Largest magnitude, in units, of what one member adds to a value of a masked sum before its noise.
// With it the sum of sixteen members and their noise fits 32 bits.
inline constexpr int64_t kMaxMaskUnits = int64_t{1} << 26;
// Clip norms that a member's sum over a sample may reach in one value. More lessons than a round
// samples would have to agree in their whole gradient.
inline constexpr int64_t kMaxSampleClips = 4096;
// Values of one masked update, 4 bytes each; it must fit a payload, which has at most 8 MiB
inline constexpr size_t kMaxMaskedValues = size_t{1} << 20;
// Public keys of other nodes that a node holds for one round: four times as many as a clique has
// members
inline constexpr size_t kMaxMaskOffers = 4 * kMaxCliqueMembers;
// Sets of participants for which a node gives a share in one round. Each is charged on its own.
inline constexpr size_t kMaxMaskAttempts = 3;

}  // namespace ruvd::limits
