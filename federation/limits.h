// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

// Limits of the federation room (reliability-gossip section 2.4). Reasons stand beside them.
namespace ruvd::limits {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Version 2 adds indirect checks, signed suspicion, the mesh and reconciliation of membership;
// version 3 adds evidence of equivocation and links that drain; version 4 revocations over open
// links, updates of banks, withdrawals and masked rounds; version 5 circuits through a relay.
inline constexpr uint32_t kProtocolVersion = 5;
// A cluster is updated node by node: the version before is spoken, too.
inline constexpr uint32_t kProtocolVersionMin = 1;
inline constexpr uint32_t kVersionWithMesh = 2;
inline constexpr uint32_t kVersionWithEvidence = 3;
inline constexpr uint32_t kVersionWithDrain = 3;
inline constexpr uint32_t kVersionWithRevocations = 4;
inline constexpr uint32_t kVersionWithBanks = 4;
inline constexpr uint32_t kVersionWithMasking = 4;
inline constexpr uint32_t kVersionWithWithdrawals = 4;
inline constexpr uint32_t kVersionWithRelay = 5;

// ---- Links
// One chunk with its Merkle path and room for growth; gRPC is told twice this.
inline constexpr size_t kMaxFrameBytes = 128 << 10;
// A revocation list of 2,000 nodes goes with the opening of a link and over open ones, half of a
// frame. Longer ones are handed out by the operator.
inline constexpr size_t kMaxAnnouncedRevocationBytes = 64 << 10;
// Links of all kinds; beyond this an idle one makes room, or a newcomer dials somebody else.
inline constexpr size_t kMaxLinks = 64;
// A dial that neither succeeded nor failed by then is counted as failed.
inline constexpr Duration kDialTimeout = seconds(10);
inline constexpr Duration kHandshakeTimeout = seconds(5);
inline constexpr Duration kPingPeriod = seconds(5);
// Silence that ends a link, whoever is to blame: its peer was suspected long before.
inline constexpr Duration kLinkTimeout = seconds(15);
// Pings of one link that wait for their answer, 24 B each: those that others ask for, too.
inline constexpr size_t kMaxOpenPings = 16;
// A link outside the mesh without use; the dialler closes it, the other side in case it does not.
inline constexpr Duration kIdleLink = seconds(5);
inline constexpr Duration kIdleLinkAccepted = seconds(60);
// How long a node that leaves may take to finish its transfers; a service manager has little more
// patience. It is done when for this long nobody asked it for anything.
inline constexpr Duration kDrainMax = seconds(10);
inline constexpr Duration kDrainQuiet = seconds(1);
inline constexpr Duration kBackoffBase = milliseconds(500);
inline constexpr Duration kBackoffMax = seconds(60);
// Seeds and silent members are where a partition heals: they are tried oftener.
inline constexpr Duration kSeedBackoffMax = seconds(5);
// Frames per second and burst of one link. A chunk stream of 64 KiB chunks at 30 MB/s stays below.
inline constexpr double kFramesPerSecond = 500;
inline constexpr double kFrameBurst = 2000;
// Signatures checked for peers: at 69 us each a tenth of a core, with room for a node that comes to
// a large cluster. A peer of a busy mesh causes one or two a second; its burst is two exchanges of
// kMaxRecordsPerExchange.
inline constexpr double kChecksPerSecond = 1400;
inline constexpr double kCheckBurst = 8192;
inline constexpr double kChecksPerSecondOfPeer = 20;
inline constexpr double kCheckBurstOfPeer = 2048;
// Of what this node asked a peer for: half of all, so that no one peer can use it up.
inline constexpr double kAwaitedChecksPerSecondOfPeer = 700;
inline constexpr double kAwaitedCheckBurstOfPeer = 4096;
inline constexpr size_t kMaxAddressBytes = 255;
inline constexpr size_t kMaxGoawayText = 256;
// Addresses with a history of dialling.
inline constexpr size_t kMaxAddresses = 256;

// ---- Relay
// Circuits that a node carries, and those of them that run over one link: a node behind a relay
// finds its neighbours, and no node has all of what a relay can give.
inline constexpr size_t kMaxCircuits = 256;
inline constexpr size_t kMaxCircuitsOfLink = 16;
// Links that run through relays, half of kMaxLinks, and those that go through one relay, whichever
// side began: whoever reaches all its neighbours through one relay hears what that one lets
// through.
inline constexpr size_t kMaxRelayedLinks = 32;
inline constexpr size_t kMaxRelayedLinksOfRelay = 8;
// Circuits that a peer begins over its link to others: each costs a frame to somebody else.
inline constexpr double kCircuitsPerSecond = 2;
inline constexpr double kCircuitBurst = 16;
// Circuits that others begin through a peer to this node, each with the checks of a handshake: so
// many in so long, of which one member gets its FairShare.
inline constexpr size_t kMaxOpenings = 16;
inline constexpr Duration kOpeningsWindow = seconds(8);
// Frames of circuits that ended while they were under way, beside those that a link may bring
// anyway: a window of the least frames of each circuit that one link has.
inline constexpr double kStrayFramesPerSecond = 500;
inline constexpr double kStrayFrameBurst = 2048;
// What a circuit may carry, both ways together, and all circuits of a relay. What is beyond waits,
// up to so much in each direction: an exchange of kMaxRecordsPerExchange, and four chunks. A frame
// counts as at least so many bytes, so that a circuit carries as many frames as any link.
inline constexpr double kCircuitBytesPerSecond = 1 << 20;
inline constexpr double kCircuitByteBurst = 1 << 20;
inline constexpr double kRelayBytesPerSecond = 8 << 20;
inline constexpr double kRelayByteBurst = 8 << 20;
inline constexpr size_t kMaxCircuitQueueBytes = 1 << 20;
inline constexpr size_t kMaxRelayQueueBytes = 16 << 20;
inline constexpr size_t kLeastRelayedBytes = 4 << 10;
// Bytes of a circuit that are under way from the relay to one end: those of kMaxCircuitsOfLink fit
// into what a slow link may have waiting, with room for its own. The end says what came whenever
// that is so much; with a whole frame more that is less than the window.
inline constexpr size_t kRelayWindowBytes = 192 << 10;
inline constexpr size_t kRelayAckBytes = 48 << 10;
static_assert(kRelayAckBytes + kMaxFrameBytes < kRelayWindowBytes);
// A circuit that carries nothing for so long is gone: its ends ping each other every 5 s.
inline constexpr Duration kIdleCircuit = seconds(30);
// Dials to a member that failed in a row, before a relay is asked. To ask in vain costs little, and
// a firewall that swallows a dial makes it take kDialTimeout.
inline constexpr int kDialsBeforeRelay = 1;
// Neighbours that are asked for one member, one after the other, and members looked for at once.
inline constexpr size_t kMaxRelaysAsked = 4;
inline constexpr size_t kMaxRelaySearches = 8;
// Members with a history of such searches, and relays with one of failures.
inline constexpr size_t kMaxRelayTargets = 256;
// A relay that lost or spoiled what it carried is asked last for so long.
inline constexpr Duration kRelayDistrust = seconds(600);

// ---- Mesh (gossipsub v1.1: D, Dlo, Dhi, Dscore, Dout and their times)
inline constexpr size_t kMeshDegree = 6;
inline constexpr size_t kMeshLow = 5;
inline constexpr size_t kMeshHigh = 12;
// Neighbours of the best score that a prune always keeps, and links that this node itself chose: an
// attacker that dials us cannot surround us.
inline constexpr size_t kMeshBest = 4;
inline constexpr size_t kMeshOutbound = 2;
inline constexpr Duration kHeartbeat = seconds(1);
inline constexpr Duration kPruneBackoff = seconds(60);
inline constexpr Duration kPruneBackoffMax = seconds(3600);
// A member is a newcomer for so long after its certificate began: whoever admits a crowd finds out
// before the crowd carries the mesh.
inline constexpr int64_t kProbationMillis = 10LL * 60 * 1000;
// Records that a pruned neighbour is given to dial instead.
inline constexpr size_t kMaxPeerExchange = 16;
// Every so often one neighbour more, at random: groups that formed apart grow together.
inline constexpr Duration kMixPeriod = seconds(60);
// Members drawn to find one worth dialling.
inline constexpr size_t kDialDraws = 64;
// How often one silent member is dialled, per member of the cluster, and at least: however large
// the cluster, some ten tries a second find out that a partition healed.
inline constexpr Duration kHealDialPerMember = milliseconds(100);
inline constexpr Duration kHealDialMin = seconds(1);

// ---- Peer scores (gossipsub v1.1; P1, P2, P4 and P7 of it)
// A minute and a half in the mesh is worth one point, and no more: those who are there anyhow must
// not outweigh those who give.
inline constexpr Duration kMeshTimeCap = seconds(100);
inline constexpr double kMeshTimeWeight = 1;
// Payloads delivered, half a point each and ten at most: enough to forgive three copies that the
// path made, too little to pay for forgeries.
inline constexpr double kDeliveryWeight = 0.5;
inline constexpr double kMaxDeliveries = 20;
inline constexpr Duration kDeliveryHalfLife = seconds(1200);
// Invalid messages count squared, one for what no honest node sends and less for what a path may
// double: two forgeries end the mesh, ten or eleven the link.
inline constexpr double kReplayWeight = 0.25;
inline constexpr Duration kInvalidHalfLife = seconds(600);
// Misbehaviour up to here is an accident: an item that was withdrawn between announcement and
// request, a Graft after a restart that forgot the backoff. What exceeds it counts squared.
inline constexpr double kMisbehaviourAllowed = 4;
inline constexpr Duration kMisbehaviourHalfLife = seconds(300);
inline constexpr double kBrokenPromiseWeight = 1;
// Promises that are counted of those found broken at once: they have one cause.
inline constexpr size_t kMaxBrokenAtOnce = 4;
inline constexpr double kEarlyGraftWeight = 1;
// A Graft and the Prune that it crosses; and what clocks differ by at the end of a backoff.
inline constexpr Duration kGraftGrace = seconds(10);
// One flood may be a node that was cut off for long, two are none.
inline constexpr double kFloodWeight = 8;
// Below this a peer is kept out, so long at first, then twice as long, up to 21 hours.
inline constexpr double kGraylistScore = -100;
inline constexpr Duration kGraylistTime = seconds(600);
inline constexpr int kGraylistDoublings = 7;
inline constexpr Duration kGraylistMemory = seconds(24 * 3600);
// Peers with counts, and peers that are or were kept out, 120 B each.
inline constexpr size_t kMaxScores = 256;
inline constexpr size_t kMaxPromisesPerLink = 128;
// Every so often a mesh whose median neighbour gave nothing lately takes in up to so many that did.
inline constexpr Duration kOpportunityPeriod = seconds(60);
inline constexpr double kOpportunityScore = 1.5;
inline constexpr size_t kOpportunityGrafts = 2;

// ---- Membership
// The member signs its record anew this often times ClusterScale, and when it changes or refutes.
inline constexpr Duration kRecordPeriod = seconds(600);
// A record lives three periods: nine hours suit the largest cluster, with room.
inline constexpr int64_t kRecordLifeMaxMillis = 24LL * 3600 * 1000;
// 16,384 x 600 B = 10 MB.
inline constexpr size_t kMaxRecords = 16'384;
// Members whose updates are judged by what they did before.
inline constexpr size_t kMaxMembers = 1024;
inline constexpr size_t kMaxRecordsPerFrame = 64;
// Records sent in one exchange: 0.6 MB. What is missing still comes with the next one, a second
// later.
inline constexpr size_t kMaxRecordsPerExchange = 1024;
// Version 1 refuses older records as stale (10 minutes).
inline constexpr int64_t kRecordForwardMillis = 8 * 60 * 1000;
// Changes kept beside a shared base, besides a quarter of the base.
inline constexpr size_t kMaxRecordChanges = 64;
// Records looked at for expiry in one tick.
inline constexpr size_t kSweepRecords = 8;
// Members that this node has or had a link with, of which it remembers when it heard them.
inline constexpr size_t kMaxViews = 256;

// ---- Failure detection (SWIM; Lifeguard, arXiv 1707.00788; values of reliability-gossip 2.1)
// A neighbour that is silent for this long after a ping fails the check.
inline constexpr Duration kPingTimeout = seconds(3);
// A check repeats its ping and asks helpers this often.
inline constexpr Duration kProbeStep = seconds(1);
inline constexpr size_t kIndirectChecks = 3;
// A helper that did not reach the target says so after this share of the timeout.
inline constexpr int kNackPercent = 80;
// Members that are not neighbours of a suspect and yet look for themselves.
inline constexpr double kWitnesses = 4;
// Targets of others that this node tries to reach at once.
inline constexpr size_t kMaxErrands = 64;
inline constexpr int kMaxLocalHealth = 8;
// The owner ticks every 100 to 500 ms: a pause this long means that the node itself was stalled.
inline constexpr Duration kStallGap = milliseconds(1500);
inline constexpr double kSuspicionMult = 4;
inline constexpr double kSuspicionMaxMult = 6;
// Takes the place of SWIM's probe interval: with up to 2.7 s until the first of six neighbours
// pings and 3 s until it suspects, a crash among 100 nodes is known in 4 x 2 x 0.6 s more.
inline constexpr Duration kSuspicionUnit = milliseconds(600);
inline constexpr size_t kSuspicionConfirmations = 3;
inline constexpr size_t kSuspicionConfirmationsFew = 2;
inline constexpr size_t kManyMembers = 16;
inline constexpr size_t kMaxSuspects = 4096;
// An accusation is evidence for as long as a partition may last before members are forgotten.
inline constexpr int64_t kAccusationLifeMillis = 3600LL * 1000;
inline constexpr size_t kMaxAccusationsPerFrame = 64;
// Accusations that wait to be checked, of all links, 0.8 KB each.
inline constexpr size_t kMaxAccusationsWaiting = 256;
// Open accusations that a new neighbour is told.
inline constexpr size_t kMaxAccusationsPerLink = 256;
// A refutation costs a signature and a push to everybody.
inline constexpr Duration kRefutePeriod = milliseconds(200);

// ---- Items
inline constexpr size_t kChunkBytes = 64 << 10;
// An r 32 core set of a 7B model with four banks is 4 MB.
inline constexpr uint64_t kMaxPayloadBytes = 8 << 20;
// Live items, and the memory their payloads may take (payload cache of section 2.4). A newcomer
// catches up ten thousand patterns, and the updates of a round beside them.
inline constexpr size_t kMaxItems = 16'384;
inline constexpr uint64_t kMaxPayloadMemory = 64 << 20;
// Newest items kept of one origin: rounds overlap by a few, patterns are what a node learned
// lately.
inline constexpr size_t kMaxDeltasPerOrigin = 8;
inline constexpr size_t kMaxPatternsPerOrigin = 256;
// Of each kind of a masked round: two rounds with kMaxMaskAttempts each.
inline constexpr size_t kMaxMaskItemsPerOrigin = 6;
// Each names up to 128 items and patterns; one that says all that an older one says replaces it.
inline constexpr size_t kMaxWithdrawalsPerOrigin = 64;
inline constexpr uint64_t kMaxWithdrawalBytes = 4096;
// Ids of refused, superseded and dropped items, so that they are not fetched again (48 B each).
inline constexpr size_t kMaxTombstones = 65'536;
// Manifests waited for and payloads in transfer. Of these, and of the memory of payloads, one link
// gets its FairShare: half of what the others leave.
inline constexpr size_t kMaxWanted = 4096;
inline constexpr size_t kMaxTransfers = 256;
// First chunks of payloads whose transfers were given up: two of the largest payloads.
inline constexpr size_t kMaxPartialBytes = 16 << 20;
// Who else may be asked for an item.
inline constexpr size_t kMaxAnnouncers = 8;
// Chunks under way, one of each item: four whole ones of a peer, or its FairShare, and sixteen in
// all, or as many small payloads as have their bytes. A peer that is late is asked for one at a
// time. A request counts as at least so many.
inline constexpr uint64_t kMaxRequestBytesOfPeer = 4 * kChunkBytes;
inline constexpr uint64_t kMaxRequestBytes = 16 * kChunkBytes;
inline constexpr uint64_t kLeastRequestBytes = 2 << 10;
// Requests for chunks over one link: with all else that is sent, below what the peer allows.
inline constexpr double kRequestsPerSecond = 400;
inline constexpr double kRequestBurst = 1000;
// Answers to one link that an item is gone: at once as many as one link is asked for, should all of
// them be withdrawn, and few to somebody who asks on.
inline constexpr double kDenialsPerSecond = 100;
inline constexpr size_t kDenialBurst = kMaxWanted / 2;
// max(this, 3 x round trip) without an answer: ask the next announcer.
inline constexpr Duration kRequestTimeout = milliseconds(400);
inline constexpr Duration kRequestTimeoutMax = seconds(10);
// Rounds through all announcers before a transfer is given up; anti-entropy finds it again.
inline constexpr int kMaxAttempts = 16;
inline constexpr size_t kMaxIdsPerFrame = 500;
// Ids whose pushes are counted per link, to tell a replay from a crossing answer (40 B each).
inline constexpr size_t kMaxPushesTracked = 8192;
// A manifest this old is announced, not pushed, since the receiver refuses old pushes.
inline constexpr int64_t kPushAgeMillis = 5 * 60 * 1000;
inline constexpr int64_t kItemLifeMillis = 7LL * 24 * 3600 * 1000;
// A withdrawal outlives what it names, for nodes that were away; no longer than its certificate.
inline constexpr int64_t kWithdrawalLifeMillis = 30LL * 24 * 3600 * 1000;

// ---- Masked rounds
// Clocks differ by seconds, and gossip brings a key to all in two: whose key is later is not in
// the attempt's set.
inline constexpr int64_t kMaskKeysMillis = 20'000;
// A share of four MiB passes ten slow links in half a minute.
inline constexpr int64_t kMaskSharesMillis = 60'000;
inline constexpr int64_t kMaskAttemptMillis = 90'000;
inline constexpr int64_t kMaxMaskAttemptMillis = 3600LL * 1000;
// A round of three attempts, and time to noise the next update.
inline constexpr int64_t kMaskedPeriodMillis = 600'000;
// Nothing is made of an item after its round; who was away must not find it full of them.
inline constexpr int64_t kMaskItemLifeMillis = 3 * kMaxMaskAttemptMillis;

// ---- Evidence
// Members of which a proof is kept, 0.8 KB each. In a cluster with more of them the issuer has to
// act; a new neighbour is told of all in four frames.
inline constexpr size_t kMaxEvidence = 256;
inline constexpr size_t kMaxProofsPerFrame = 64;
// Proofs that wait to be checked, of all links.
inline constexpr size_t kMaxEvidenceWaiting = 256;
// How long an equivocator is kept out after both its messages are over. A node whose store was put
// back from a copy is one, too: its operator gives it a new key, or waits.
inline constexpr int64_t kEvidenceLifeMillis = 24LL * 3600 * 1000;

// ---- Anti-entropy
inline constexpr Duration kReconPeriod = seconds(30);
inline constexpr Duration kReconPeriodBusy = seconds(1);
// Exchanges at the busy period after a new link or a difference.
inline constexpr int kReconBusyExchanges = 10;
// Share of exchanges with members outside the mesh, and during the busy period.
inline constexpr double kReconOutside = 0.5;
inline constexpr double kReconOutsideBusy = 0.125;
// A range with at most this many ids is listed, a larger one split into as many parts.
inline constexpr size_t kReconListIds = 16;
inline constexpr size_t kReconSplit = 16;
inline constexpr size_t kMaxReconRanges = 512;
// Messages per second and burst of one link: each costs up to one pass over all ids (0.1 ms).
inline constexpr double kReconPerSecond = 20;
inline constexpr double kReconBurst = 120;
// Payloads whose hash tree is kept while their chunks are asked for.
inline constexpr size_t kMaxTreesCached = 16;

// ---- Updates and patterns
inline constexpr size_t kMaxTargetBytes = 128;
inline constexpr uint32_t kMaxUpdateBanks = 16;
inline constexpr uint32_t kMaxRank = 256;
inline constexpr size_t kMaxCores = 4096;
// Rows of an FFA factor: the widest layer of a 70B model has 28,672 outputs.
inline constexpr uint32_t kMaxFactorRows = 65'536;
// Updates that are combined at once. Pairwise distances grow as its square: 256 of 131,072 values
// take about a second.
inline constexpr size_t kMaxContributions = 256;
// An update that began from a global adapter of so many rounds ago says little about today's.
inline constexpr uint64_t kMaxStaleness = 16;
// Distances that a clip radius is learned from.
inline constexpr size_t kMaxClipDistances = 64;
inline constexpr size_t kMaxSharedTaskBytes = 64;
inline constexpr size_t kMaxPatternDimension = 16'384;

}  // namespace ruvd::limits
