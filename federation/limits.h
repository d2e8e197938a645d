// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/clock.h"

// Limits of the federation room. The reasons stand beside them.
namespace ruvd::limits {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The version of the gossip protocol that this program speaks. The bytes of the opening frames that
// name it never change, so that nodes of different versions refuse each other by name.
inline constexpr uint32_t kProtocolVersion = 1;

// ---- Links
// One chunk with its Merkle path and room for growth. gRPC is configured with twice this size.
inline constexpr size_t kMaxFrameBytes = 128 << 10;
// A revocation list travels in parts of this size, half of a frame, each on request. A list of
// 1,600 nodes is one part.
inline constexpr size_t kRevocationPartBytes = 64 << 10;
// Lists that are fetched at one time, each over a link of its own: 2.6 MB
inline constexpr size_t kMaxRevocationFetches = 4;
// How long a part may take, and when a peer that did not deliver is asked again
inline constexpr Duration kRevocationPartTimeout = seconds(5);
// Parts that a node sends over one link: at once those of the longest list, twice
inline constexpr double kRevocationPartBurst = 24;
inline constexpr double kRevocationPartsPerSecond = 1;
inline constexpr Duration kRevocationRetry = seconds(60);
// How long a link of a node whose list is too old waits for the newer one that the peer named. Two
// peers that deliver nothing may be asked before.
inline constexpr Duration kRevocationWait = seconds(15);
// How far a peer's list may be dated ahead of this node's clock: a list of an authority whose clock
// ran far ahead would refuse every certificate that ends before that date.
inline constexpr int64_t kRevocationAheadMillis = 24LL * 3600 * 1000;
// Links to members and those that this node dials. At the limit an idle link is closed, or a member
// must dial another node.
inline constexpr size_t kMaxLinks = 64;
// Links from nodes that have not proved yet that they are members. For one more the oldest of the
// source with the most of them is closed. A source opens one over each of its few connections
// (node/api/connection_limits.h), so honest nodes of other sources finish theirs.
inline constexpr size_t kMaxHalfOpenLinks = 16;
// A dial that has neither succeeded nor failed by then counts as failed.
inline constexpr Duration kDialTimeout = seconds(10);
// How far a node's clock may be beside those of most neighbours before it goes by theirs: what is
// signed further ahead, others refuse (kMaxEnvelopeAheadMillis).
inline constexpr int64_t kMaxClockBesideMillis = 2 * 60 * 1000;
// Neighbours whose clocks have to be known for that: with three, one liar changes nothing.
inline constexpr size_t kLeastClockSamples = 3;
inline constexpr size_t kMaxClockSamples = 256;
// How long a node that starts waits for so many neighbours before it drops what has expired
inline constexpr Duration kClockSettles = seconds(60);
// How long the clock of a neighbour counts after its last ping
inline constexpr Duration kClockSampleLife = std::chrono::minutes(10);

inline constexpr Duration kHandshakeTimeout = seconds(5);
inline constexpr Duration kPingPeriod = seconds(5);
// Silence that ends a link, whatever its cause; the peer was suspected long before.
inline constexpr Duration kLinkTimeout = seconds(15);
// Pings of one link that wait for an answer, including those on behalf of others, 24 B each
inline constexpr size_t kMaxOpenPings = 16;
// A link outside the mesh without use for this long. The dialler closes it; if it does not, the
// other side closes it after the longer time.
inline constexpr Duration kIdleLink = seconds(5);
inline constexpr Duration kIdleLinkAccepted = seconds(60);
// kDrainMax: how long a leaving node may take to finish its transfers; service managers wait only a
// little longer. kDrainQuiet: it is done when no peer asked for anything for this long.
inline constexpr Duration kDrainMax = seconds(10);
inline constexpr Duration kDrainQuiet = seconds(1);
inline constexpr Duration kBackoffBase = milliseconds(500);
inline constexpr Duration kBackoffMax = seconds(60);
// How long an address counts as this node's own once the node has reached itself there.
inline constexpr Duration kSelfMemory = std::chrono::hours(1);
// Seeds and silent members are where a partition heals, so they are dialled more often.
inline constexpr Duration kSeedBackoffMax = seconds(5);
// Frames per second and burst of one link. A stream of 64 KiB chunks at 30 MB/s stays below.
inline constexpr double kFramesPerSecond = 500;
inline constexpr double kFrameBurst = 2000;
// Signatures checked for peers. At 69 us each this is a tenth of a core, with enough burst for a
// node that joins a large cluster. A peer in a busy mesh causes one or two checks a second; its
// burst covers two exchanges of kMaxRecordsPerExchange.
inline constexpr double kChecksPerSecond = 1400;
inline constexpr double kCheckBurst = 8192;
inline constexpr double kChecksPerSecondOfPeer = 20;
inline constexpr double kCheckBurstOfPeer = 2048;
// These two limits apply to data that this node asked the peer for: half of the total, so that a
// single peer cannot use it up.
inline constexpr double kAwaitedChecksPerSecondOfPeer = 700;
inline constexpr double kAwaitedCheckBurstOfPeer = 4096;
inline constexpr size_t kMaxAddressBytes = 255;
inline constexpr size_t kMaxGoawayText = 256;
// Addresses with a history of dials
inline constexpr size_t kMaxAddresses = 256;

// ---- Relay
// Circuits that a node carries, and how many of them run over one link. A node behind a relay finds
// enough neighbours, and no node gets all the capacity of a relay.
inline constexpr size_t kMaxCircuits = 256;
inline constexpr size_t kMaxCircuitsOfLink = 16;
// Links that run through relays (half of kMaxLinks), and links through any one relay, whichever
// side began them. A node that reaches all its neighbours through one relay hears only what this
// relay lets through.
inline constexpr size_t kMaxRelayedLinks = 32;
inline constexpr size_t kMaxRelayedLinksOfRelay = 8;
// Circuits that a peer begins over its link; each costs a frame to another node
inline constexpr double kCircuitsPerSecond = 2;
inline constexpr double kCircuitBurst = 16;
// Circuits that others begin through a peer to this node, each with the checks of a handshake: this
// many within the window, of which one member gets its FairShare.
inline constexpr size_t kMaxOpenings = 16;
inline constexpr Duration kOpeningsWindow = seconds(8);
// Frames of circuits that ended while the frames were in transit, in addition to those that a link
// may bring anyway: one window of minimal frames for each circuit of a link.
inline constexpr double kStrayFramesPerSecond = 500;
inline constexpr double kStrayFrameBurst = 2048;
// What a circuit may carry in both directions together, and what all circuits of a relay may carry.
// Data beyond that waits, up to the queue limits in each direction: an exchange of
// kMaxRecordsPerExchange and four chunks. A frame counts as at least kMinRelayedBytes, so that a
// circuit carries as many frames as any link.
inline constexpr double kCircuitBytesPerSecond = 1 << 20;
inline constexpr double kCircuitByteBurst = 1 << 20;
inline constexpr double kRelayBytesPerSecond = 8 << 20;
inline constexpr double kRelayByteBurst = 8 << 20;
inline constexpr size_t kMaxCircuitQueueBytes = 1 << 20;
inline constexpr size_t kMaxRelayQueueBytes = 16 << 20;
inline constexpr size_t kMinRelayedBytes = 4 << 10;
// Bytes of a circuit that are in transit from the relay to one end. The windows of
// kMaxCircuitsOfLink circuits fit into what a slow link may queue, and leave room for its own
// frames. The end acknowledges every kRelayAckBytes; with a whole frame on top, that is less than
// the window.
inline constexpr size_t kRelayWindowBytes = 192 << 10;
inline constexpr size_t kRelayAckBytes = 48 << 10;
static_assert(kRelayAckBytes + kMaxFrameBytes < kRelayWindowBytes);
// A circuit that carries nothing for this long is gone, because its ends ping each other every 5 s.
inline constexpr Duration kIdleCircuit = seconds(30);
// Failed dials to a member in a row before a relay is asked. Asking in vain costs little, and a
// firewall that swallows a dial makes it take kDialTimeout.
inline constexpr int kDialsBeforeRelay = 1;
// Neighbours that are asked for one member, one after the other, and members searched for at the
// same time
inline constexpr size_t kMaxRelaysAsked = 4;
inline constexpr size_t kMaxRelaySearches = 8;
// Members with a history of such searches, and relays with a history of failures
inline constexpr size_t kMaxRelayTargets = 256;
// A relay that lost or altered what it carried is asked last for this long.
inline constexpr Duration kRelayDistrust = seconds(600);

// ---- Mesh (gossipsub v1.1: D, Dlo, Dhi, Dscore, Dout and their times)
inline constexpr size_t kMeshDegree = 6;
inline constexpr size_t kMeshLow = 5;
inline constexpr size_t kMeshHigh = 12;
// kMeshBest: neighbours with the best scores that a prune always keeps. kMeshOutbound: links that
// this node chose itself, so that an attacker that dials it cannot surround it.
inline constexpr size_t kMeshBest = 4;
inline constexpr size_t kMeshOutbound = 2;
inline constexpr Duration kHeartbeat = seconds(1);
inline constexpr Duration kPruneBackoff = seconds(60);
inline constexpr Duration kPruneBackoffMax = seconds(3600);
// A member is a newcomer for this long after its certificate began, so that an operator who admits
// a crowd by mistake notices it before the crowd carries the mesh.
inline constexpr int64_t kProbationMillis = 10LL * 60 * 1000;
// Records that a pruned neighbour gets, as other members to dial
inline constexpr size_t kMaxPeerExchange = 16;
// One random neighbour is added this often, so that groups that formed separately grow together.
inline constexpr Duration kMixPeriod = seconds(60);
// Members drawn to find one that is worth dialling
inline constexpr size_t kDialDraws = 64;
// How often one silent member is dialled: the time per member of the cluster, and the minimum.
// Whatever the size of the cluster, about ten attempts a second find out that a partition healed.
inline constexpr Duration kHealDialPerMember = milliseconds(100);
inline constexpr Duration kHealDialMin = seconds(1);

// Places in the mesh that members behind one source get before members of other sources, if there
// are other sources: half of kMeshDegree. A source is a network address, or a relay.
inline constexpr size_t kMeshOfSource = kMeshDegree / 2;

// ---- Membership
// The member signs its record anew at this period times ClusterScale, and when the record changes
// or refutes a suspicion.
inline constexpr Duration kRecordPeriod = seconds(600);
// A record lives three periods. Even the largest cluster needs only nine hours.
inline constexpr int64_t kRecordLifeMaxMillis = 24LL * 3600 * 1000;
// 16,384 records of 600 B are 10 MB.
inline constexpr size_t kMaxRecords = 16'384;
inline constexpr size_t kMaxRecordsPerFrame = 64;
// Records sent in one exchange: 0.6 MB. The next exchange, a second later, sends what is still
// missing.
inline constexpr size_t kMaxRecordsPerExchange = 1024;
// Changes kept beside a shared base, in addition to a quarter of the base
inline constexpr size_t kMaxRecordChanges = 64;
// Records checked for expiry in one tick
inline constexpr size_t kSweepRecords = 8;
// Members that this node has or had a link with, and of which it remembers when it last heard them
inline constexpr size_t kMaxViews = 256;

// ---- Failure detection (SWIM; Lifeguard, arXiv 1707.00788)
// A neighbour that does not answer a ping for this long fails the check.
inline constexpr Duration kPingTimeout = seconds(3);
// A check repeats its ping and asks helpers this often.
inline constexpr Duration kProbeStep = seconds(1);
inline constexpr size_t kIndirectChecks = 3;
// A helper that did not reach the target reports this after this share of the timeout.
inline constexpr int kNackPercent = 80;
// Members that are not neighbours of a suspect and still check it themselves
inline constexpr double kWitnesses = 4;
// Targets that this node tries to reach for others at the same time
inline constexpr size_t kMaxErrands = 64;
inline constexpr int kMaxLocalHealth = 8;
// The owner ticks every 100 to 500 ms, so a pause this long means that the node itself stalled.
inline constexpr Duration kStallGap = milliseconds(1500);
inline constexpr double kSuspicionMult = 4;
inline constexpr double kSuspicionMaxMult = 6;
// Takes the place of SWIM's probe interval. It takes up to 2.7 s until the first of six neighbours
// pings and 3 s until it suspects; then a crash among 100 nodes is known after another 4 x 2 x 0.6
// s.
inline constexpr Duration kSuspicionUnit = milliseconds(600);
inline constexpr size_t kSuspicionConfirmations = 3;
inline constexpr size_t kSuspicionConfirmationsFew = 2;
inline constexpr size_t kManyMembers = 16;
inline constexpr size_t kMaxSuspects = 4096;
// An accusation counts as evidence for as long as a partition may last before members are
// forgotten.
inline constexpr int64_t kAccusationLifeMillis = 3600LL * 1000;
inline constexpr size_t kMaxAccusationsPerFrame = 64;
// Accusations of one member that others refuted: at once, which a member behind a bad line needs,
// and afterwards. More of its accusations have no effect.
inline constexpr double kFalseAccusationBurst = 32;
inline constexpr double kFalseAccusationsPerSecond = 1.0 / 60;
// Accusations from all links that wait to be checked, 0.8 KB each
inline constexpr size_t kMaxAccusationsWaiting = 256;
// Open accusations that a new neighbour is told
inline constexpr size_t kMaxAccusationsPerLink = 256;
// A refutation costs a signature and a push to all members.
inline constexpr Duration kRefutePeriod = milliseconds(200);

// ---- Items
inline constexpr size_t kChunkBytes = 64 << 10;
// A core set of rank 32 for a 7B model with four banks takes 1 MB in eight bits each.
inline constexpr uint64_t kMaxPayloadBytes = 8 << 20;
// Live items, and the memory that their payloads may take. This lets a newcomer fetch some
// thousand patterns of 15 KB, the contributions of many rounds, and the experts of 16 nodes: one of
// rank 32 for a 29M model takes 5 MB.
inline constexpr size_t kMaxItems = 16'384;
inline constexpr uint64_t kMaxPayloadMemory = 128 << 20;
// Newest items kept of one origin: the patterns that a node learned lately
inline constexpr size_t kMaxPatternsPerOrigin = 256;
// Only the newest expert of an origin is kept: a newer one continues it.
inline constexpr size_t kMaxExpertsPerOrigin = 1;
// For each kind of item of masked rounds: two rounds with kMaxMaskAttempts each
inline constexpr size_t kMaxMaskItemsPerOrigin = 6;
// Contributions, and verdicts apart from them, live for two windows of rounds and three rounds more
// (LearnerLifeMillis).
inline constexpr size_t kMaxContributionsPerOrigin = 132;
// In the learner's rounds items of masked rounds live as long, because a node that was away needs
// the sums, too: so many rounds with kMaxMaskAttempts each. The shares of one node in them take 30
// MB for 57,344 values; kMaxPayloadMemory bounds those of all nodes, and drops the oldest.
inline constexpr size_t kMaxLearnerMaskItemsPerOrigin = 3 * kMaxContributionsPerOrigin;
inline constexpr size_t kMaxCheckpointsPerOrigin = 1;
// Each withdrawal names up to 128 items and patterns. One that contains all of an older one
// replaces it.
inline constexpr size_t kMaxWithdrawalsPerOrigin = 64;
inline constexpr uint64_t kMaxWithdrawalBytes = 4096;
// Ids of refused, superseded and dropped items, so that they are not fetched again, 48 B each
inline constexpr size_t kMaxTombstones = 65'536;
// Manifests that are awaited, and payloads in transfer. One link gets its FairShare of both, and of
// the memory for payloads: half of what the others leave.
inline constexpr size_t kMaxWanted = 4096;
inline constexpr size_t kMaxTransfers = 256;
// Received first chunks of payloads whose transfers were given up: two of the largest payloads
inline constexpr size_t kMaxPartialBytes = 16 << 20;
// Other peers that may be asked for an item
inline constexpr size_t kMaxAnnouncers = 8;
// Bytes requested at the same time, one chunk per item: four whole chunks from a peer (or its
// FairShare) and sixteen in total, or as many small payloads as have these bytes. A late peer is
// asked for one at a time. A request counts as at least kMinRequestBytes.
inline constexpr uint64_t kMaxRequestBytesOfPeer = 4 * kChunkBytes;
inline constexpr uint64_t kMaxRequestBytes = 16 * kChunkBytes;
inline constexpr uint64_t kMinRequestBytes = 2 << 10;
// Requests for chunks over one link. Together with all other frames this is below what the peer
// allows.
inline constexpr double kRequestsPerSecond = 400;
inline constexpr double kRequestBurst = 1000;
// Answers to one link that an item is gone. The burst covers all requests of one link, in case all
// these items are withdrawn; the rate is low for a peer that goes on asking.
inline constexpr double kDenialsPerSecond = 100;
inline constexpr size_t kDenialBurst = kMaxWanted / 2;
// Time without an answer after which the next announcer is asked: max(this, 3 x round trip).
inline constexpr Duration kRequestTimeout = milliseconds(400);
inline constexpr Duration kRequestTimeoutMax = seconds(10);
// Rounds through all announcers before a transfer is given up; anti-entropy finds the item again.
inline constexpr int kMaxAttempts = 16;
inline constexpr size_t kMaxIdsPerFrame = 500;
// A manifest older than this is announced instead of pushed, because the receiver refuses old
// pushes.
inline constexpr int64_t kPushAgeMillis = 5 * 60 * 1000;
inline constexpr int64_t kItemLifeMillis = 7LL * 24 * 3600 * 1000;
// A withdrawal outlives the items that it names, for nodes that were away, but not its certificate.
inline constexpr int64_t kWithdrawalLifeMillis = 30LL * 24 * 3600 * 1000;

// ---- What one origin may have this node fetch and store (OriginBudget)
// At once: twice the newest items that are kept of it, which a newcomer fetches. Afterwards: a
// pattern every two seconds, an expert in five minutes, and a withdrawal a second; honest nodes
// learn more slowly. A node gives up to kMaxVerdictsOfJudge verdicts, kMaxMaskAttempts items of
// each kind of masked rounds, and one contribution and checkpoint in a round; twice as many are
// allowed.
inline constexpr double kOriginPatternsPerSecond = 0.5;
inline constexpr double kOriginExpertsPerSecond = 1.0 / 300;
inline constexpr double kOriginExpertBurst = 8;
inline constexpr double kOriginWithdrawalsPerSecond = 1;
inline constexpr double kOriginCheckpointBurst = 16;
// The length of a round where masked sums are made without the learner's rounds; tests may shorten
// it to this.
inline constexpr double kOriginMaskRoundSeconds = 60;
// Bytes of payloads: at once as much as half of the memory for all payloads; afterwards this many,
// and twice what the items of a round have.
inline constexpr double kOriginBytesPerSecond = 256 << 10;
inline constexpr double kOriginByteBurst = static_cast<double>(kMaxPayloadMemory / 2);
// Origins with budgets, 700 B each; the one used longest ago is forgotten
inline constexpr size_t kMaxOriginBudgets = 4096;
// Items beyond the budget are not asked for again before this time, and so many are remembered.
inline constexpr Duration kPutOffTime = seconds(30);
inline constexpr size_t kMaxPutOff = 8192;
// Payload bytes that a node sends over one link, and over all links. What is asked for beyond that
// waits. A peer that has more requests waiting than an honest node makes (kMaxRequestBytesOfPeer of
// the smallest payloads) misbehaves.
inline constexpr double kServedBytesPerSecondOfPeer = 8 << 20;
inline constexpr double kServedBytesPerSecond = 32 << 20;
inline constexpr size_t kMaxChunkRequestsWaiting = 2 * kMaxRequestBytesOfPeer / kMinRequestBytes;

// ---- Masked rounds
// Time to collect keys. Clocks differ by seconds, and gossip brings a key to all members in two
// seconds. A later key is not in the attempt's set.
inline constexpr int64_t kMaskKeysMillis = 20'000;
// Time to collect shares: a share of 4 MiB passes ten slow links in half a minute.
inline constexpr int64_t kMaskSharesMillis = 60'000;
inline constexpr int64_t kMaskAttemptMillis = 90'000;
inline constexpr int64_t kMaxMaskAttemptMillis = 3600LL * 1000;
// Time for a round of three attempts and for noising the next update
inline constexpr int64_t kMaskedPeriodMillis = 600'000;
// Where masked sums are made without the learner's rounds, an item has no use after its round, so a
// node that was away must not find the round's items. Items of the learner's rounds live longer.
inline constexpr int64_t kMaskItemLifeMillis = 3 * kMaxMaskAttemptMillis;

// ---- Evidence
// Members of which a proof of equivocation is kept, 0.8 KB each. If a cluster has more of them, the
// issuer has to act. A new neighbour gets all proofs in four frames.
inline constexpr size_t kMaxEvidence = 256;
inline constexpr size_t kMaxProofsPerFrame = 64;
// Proofs from all links that wait to be checked
inline constexpr size_t kMaxEvidenceWaiting = 256;
// How long an equivocator is kept out after both its messages have expired. A node whose store was
// restored from a backup becomes one, too: its operator gives it a new key, or waits.
inline constexpr int64_t kEvidenceLifeMillis = 24LL * 3600 * 1000;

// ---- Anti-entropy
inline constexpr Duration kReconPeriod = seconds(30);
inline constexpr Duration kReconPeriodBusy = seconds(1);
// Exchanges at the busy period after a new link or a difference
inline constexpr int kReconBusyExchanges = 10;
// Share of the exchanges that go to members outside the mesh, normally and during the busy period
inline constexpr double kReconOutside = 0.5;
inline constexpr double kReconOutsideBusy = 0.125;
// A range with at most kReconListIds ids is listed; a larger one is split into kReconSplit parts.
inline constexpr size_t kReconListIds = 16;
inline constexpr size_t kReconSplit = 16;
inline constexpr size_t kMaxReconRanges = 512;
// Reconciliation messages per second and burst of one link. Each costs up to one pass over all ids
// (0.1 ms).
inline constexpr double kReconPerSecond = 20;
inline constexpr double kReconBurst = 120;
// Peers with which one state of this node is the reason for an exchange: four times its links, in
// case links come and go. Such an exchange begins with one frame and one pass over all ids.
inline constexpr size_t kMaxStateExchanges = 4 * kMaxLinks;

// ---- Cores and contributions
inline constexpr size_t kMaxTargetBytes = 128;
inline constexpr uint32_t kMaxUpdateBanks = 16;
inline constexpr uint32_t kMaxRank = 256;
inline constexpr size_t kMaxCores = 4096;
// Contributions that are combined together. The time for pairwise distances grows with the square:
// 256 contributions of 131,072 values take about a second.
inline constexpr size_t kMaxContributions = 256;
// Nodes that are a quorum of a round, however many are active: the noise of so many averages out,
// and a rule can tell the lies of a quarter of them.
inline constexpr size_t kLargestQuorum = 16;

// ---- Rounds of the learner
// A round has time for one gradient at least, and a cluster hears of each other within a week.
inline constexpr int64_t kMinRoundMillis = 1000;
inline constexpr int64_t kMaxRoundMillis = 7LL * 24 * 3600 * 1000;
// No clock shows a later round.
inline constexpr uint64_t kLastRound = std::numeric_limits<int64_t>::max() / kMinRoundMillis;
// Rounds whose contributions and states a node keeps: with the largest adapters of a 29M model
// (57,344 values) and FedAdam 64 states take 75 MB.
inline constexpr uint32_t kMaxWindow = 64;
// A contribution or checkpoint of very short rounds lives long enough to reach all members.
inline constexpr int64_t kMinLearnerLifeMillis = 10LL * 60 * 1000;
// How far a contribution's round may lie ahead: as much as the clocks of members may differ
inline constexpr int64_t kLearnerClockSkewMillis = 2LL * 60 * 1000;
// Bytes of encoded contributions and states besides their values and participants
inline constexpr uint64_t kMaxContributionHeaderBytes = 1024;
inline constexpr uint64_t kMaxStateHeaderBytes = 1024;
inline constexpr uint32_t kMaxLocalSteps = 10'000;
// Largest nominal sample of a node in a round; times kMaxCliqueMembers it fits the divisor of a sum
inline constexpr uint32_t kMaxNominalBatch = 65'536;
// A grid finer or coarser than this was not meant.
inline constexpr int32_t kMaxGridExponent = 64;
// Below this norm the squared differences of contributions are finite in float.
inline constexpr double kMaxContributionNorm = 1e9;
// Judges without whom a contribution has no quality: one liar must not decide
inline constexpr size_t kMinJudges = 3;
// Contributions of a round that count of one judge, drawn by hash (VerdictDraw), so that a few
// judges who name all of them do not outvote those who had no time for more
inline constexpr size_t kMaxJudgedContributions = 16;
// Verdicts of one judge on a round that are kept: those with the lowest ids
inline constexpr size_t kMaxVerdictsOfJudge = 4;
// Bytes of an encoded verdict besides its gains: 42 of its header, and an id of 32 for each gain
inline constexpr uint64_t kMaxVerdictHeaderBytes = 64 + kMaxContributions * uint64_t{32};
// Members of which a state says when they last took part, 40 B each; the oldest are forgotten
inline constexpr size_t kMaxParticipants = 4096;
// Nodes of which a state has a running mean of their contributions, and the values of one in all
// banks together: half a megabyte in a state, so that the checkpoints of 64 members fit into
// kMaxPayloadMemory. A rank of 8 has 1,792 to 3,584 values; longer contributions are folded.
inline constexpr size_t kMaxRunningMeans = 32;
inline constexpr size_t kMaxRunningMeanValues = 4096;
inline constexpr size_t kFoldedValues = 1024;
// The largest value of a running mean: no folded contribution reaches it, and its square is finite
inline constexpr double kMaxRunningMeanValue = 1e12;

// ---- Patterns
inline constexpr size_t kMaxSharedTaskBytes = 64;
inline constexpr size_t kMaxPatternDimension = 16'384;

}  // namespace ruvd::limits
