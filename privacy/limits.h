// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of the privacy room that travel in wire formats; docs/wire-format.md explains them.
namespace ruvd::limits {

// A stolen key is worth at most this long where no revocation arrives.
inline constexpr int64_t kMaxCertificateMillis = 30LL * 24 * 3600 * 1000;
// A certificate issued a moment ago by a machine whose clock runs ahead is still good.
inline constexpr int64_t kCertificateClockSkewMillis = 2 * 60 * 1000;
// The certificate's name field.
inline constexpr size_t kMaxNodeNameBytes = 32;

// How long messages that the former key signed are still taken after a rotation: a day of travel.
inline constexpr int64_t kKeyOverlapMillis = 24LL * 3600 * 1000;
// 32 bytes each, reconciled whole: 2 MiB.
inline constexpr size_t kMaxRevokedNodes = 65'536;
// A join token is typed or mailed, so it lives for a day at most.
inline constexpr int64_t kMaxTokenMillis = 24LL * 3600 * 1000;
// Tokens that were issued and are not over yet.
inline constexpr size_t kMaxJoinTokens = 10'000;
// Messages whose number is remembered to catch a second one: 300 bytes each.
inline constexpr size_t kMaxEquivocationEntries = 8192;

// Header, body and signature together. A manifest with its certificate takes 600 bytes; what is
// larger belongs into a payload, which is pulled and not pushed.
inline constexpr size_t kMaxEnvelopeBytes = 4096;
// How old a pushed envelope may be: longer than any delay of a healthy mesh and a drifting clock.
inline constexpr int64_t kMaxEnvelopeAgeMillis = 10 * 60 * 1000;
// How far ahead of ours the sender's clock may run.
inline constexpr int64_t kMaxEnvelopeAheadMillis = 2 * 60 * 1000;
// How long a stored item may ask to live: two certificate lives, and it dies with its certificate.
inline constexpr int64_t kMaxEnvelopeLifeMillis = 2 * kMaxCertificateMillis;

// Sequence numbers a window remembers behind the newest one. A mesh reorders tens, not thousands.
inline constexpr uint64_t kReplayWindowBits = 1024;
// Boots per sender: the running one and the one before, whose last messages may still travel.
inline constexpr size_t kReplayBootsPerSender = 2;
// Senders remembered at once: 10,000 x about 350 B = 3.5 MB.
inline constexpr size_t kMaxReplaySenders = 10'000;

// Argon2id for the passphrase of a store: 3 passes over 64 MiB (RFC 9106, section 4, second
// choice), which a node of 512 MiB can spare once at start. The floor is OWASP's smallest, the
// ceiling keeps a parameter file that somebody altered from taking the machine.
inline constexpr uint64_t kPassphrasePasses = 3;
inline constexpr uint64_t kPassphraseMemoryBytes = 64ULL << 20;
inline constexpr uint64_t kMinPassphrasePasses = 2;
inline constexpr uint64_t kMaxPassphrasePasses = 16;
inline constexpr uint64_t kMinPassphraseMemoryBytes = 16ULL << 20;
inline constexpr uint64_t kMaxPassphraseMemoryBytes = 1ULL << 30;
// Shorter ones are guessed from a stolen disk whatever the parameters.
inline constexpr size_t kMinPassphraseBytes = 12;
inline constexpr size_t kMaxPassphraseBytes = 1024;

// What an accountant takes. Rates below the smallest buy nothing that rounding does not lose; noise
// outside the range is a mistake of units: at the least of it one release costs epsilon 5,000.
inline constexpr double kMinSamplingRate = 1e-12;
inline constexpr double kMinNoiseMultiplier = 1e-2;
inline constexpr double kMaxNoiseMultiplier = 1e6;
inline constexpr uint64_t kMaxPrivacySteps = 1'000'000'000;
// Renyi orders: the integer sum takes as many terms.
inline constexpr double kMaxRdpOrder = 10'000;
inline constexpr size_t kMaxRdpOrders = 1024;
// Cells of a privacy loss distribution: 2^22 complex numbers are 64 MiB, a second of work.
inline constexpr size_t kMaxPldCells = size_t{1} << 22;

// Values of one noised update. Its squares, each at most 2^36, add up in 64 bits.
inline constexpr size_t kMaxUpdateValues = size_t{1} << 24;
inline constexpr int32_t kMaxGridUnits = 1 << 18;
// Standard deviation of integer noise, in units of the grid: the sampler reads 13 times as many
// thresholds for each value, 50 us at the most.
inline constexpr uint32_t kMaxNoiseUnits = 4096;
// Whole units in the clip norm: below this the noise itself would be coarse.
inline constexpr int64_t kMinClipUnits = 64;
// Fewer contributors give a count that is mostly noise; more need more units of noise than allowed.
inline constexpr uint32_t kMinAdaptiveContributors = 10;
inline constexpr uint32_t kMaxAdaptiveContributors = 10 * kMaxNoiseUnits;
// Ratio of norms, a round. Measured on the 5M model: 1.2 to 2.4 keeps 97 % of the gain, 0.3 to 0.6
// keeps 25 % and damages general text, 0.1 destroys the model.
inline constexpr double kMinReleaseSnr = 1;

// Groups and passes of a release of centroids. Measured on 3 to 12 groups in 512 values: 16 groups
// merge neighbours, 64 tear groups apart in the first pass; a third pass gains less than its share
// of the noise costs.
inline constexpr size_t kCentroidCells = 32;
inline constexpr size_t kCentroidPasses = 2;
// A group leaves with more examples than that.
inline constexpr uint32_t kMinCentroidExamples = 10;
// Far above a node's trajectories; in a sum of 64 bits with 2^18 units of each.
inline constexpr uint32_t kMaxCentroidExamples = 1U << 20;
// The chance of a release that noise makes a smaller group look large: far below any delta.
inline constexpr double kCentroidDeception = 1e-9;

// Names of users and sessions as the API takes them.
inline constexpr size_t kMaxConsentSubjectBytes = 128;
// A year: who does not answer again has not agreed again.
inline constexpr int64_t kMaxConsentMillis = 366LL * 24 * 3600 * 1000;
// In memory, some 300 bytes each.
inline constexpr size_t kMaxConsentSubjects = 100'000;
// A site's policy is written by hand.
inline constexpr size_t kMaxPolicyBytes = size_t{64} << 10;
inline constexpr size_t kMaxPolicyScopes = 256;
inline constexpr size_t kMaxPolicyScopeBytes = 64;
// Items that one withdrawal names: with certificate and header it fits an envelope.
inline constexpr size_t kMaxWithdrawnItems = 64;
// Versions whose inputs are known, and inputs of one.
inline constexpr size_t kMaxProvenanceVersions = 10'000;
inline constexpr size_t kMaxProvenanceInputs = 1024;

// Participants of a masked sum. With three, one colluder and the sum leave two; above sixteen a
// drop-out, which costs everybody a new share, becomes likely.
inline constexpr size_t kMinCliqueMembers = 4;
inline constexpr size_t kMaxCliqueMembers = 16;
// Values of one masked update, 4 bytes each: it travels as a payload of at most 8 MiB.
inline constexpr size_t kMaxMaskedValues = size_t{1} << 20;
// Keys that a node holds for one round: four times those that it can choose from.
inline constexpr size_t kMaxMaskOffers = 4 * kMaxCliqueMembers;
// Sets that a node gives a share for in one round. Each costs its own charge.
inline constexpr size_t kMaxMaskAttempts = 3;

}  // namespace ruvd::limits
