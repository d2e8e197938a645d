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

inline constexpr uint32_t kProtocolVersion = 1;

// ---- Links
// One chunk with its Merkle path and room for growth; gRPC is told twice this.
inline constexpr size_t kMaxFrameBytes = 128 << 10;
// Mesh degree of gossipsub: payload copies stay at 1.06 by pulling, reach grows as log n.
inline constexpr size_t kTargetLinks = 6;
// A seed of a small cluster is linked by everybody; beyond this a newcomer dials somebody else.
inline constexpr size_t kMaxLinks = 64;
// A dial that neither succeeded nor failed by then is counted as failed.
inline constexpr Duration kDialTimeout = seconds(10);
inline constexpr Duration kHandshakeTimeout = seconds(5);
inline constexpr Duration kPingPeriod = seconds(5);
// Three pings: one may be lost in a stalled process, two in a row mean trouble.
inline constexpr Duration kLinkTimeout = seconds(15);
inline constexpr Duration kBackoffBase = milliseconds(500);
inline constexpr Duration kBackoffMax = seconds(60);
// Seeds are where a partition heals: they are tried oftener.
inline constexpr Duration kSeedBackoffMax = seconds(5);
// Frames per second and burst of one link. A chunk stream of 64 KiB chunks at 30 MB/s stays below.
inline constexpr double kFramesPerSecond = 500;
inline constexpr double kFrameBurst = 2000;
// Forged, replayed or malformed messages on one link before it is closed.
inline constexpr int kMaxOffences = 32;
inline constexpr size_t kMaxAddressBytes = 255;
inline constexpr size_t kMaxGoawayText = 256;
// Addresses remembered for dialling.
inline constexpr size_t kMaxAddresses = 2048;

// ---- Membership
// Every node re-signs its record this often; three missed make it suspect. 10 records/s at n = 150.
inline constexpr Duration kRecordPeriod = seconds(15);
inline constexpr Duration kSuspectAfter = seconds(45);
inline constexpr Duration kForgetAfter = seconds(3600);
// 1024 x 500 B every 15 s = 34 kB/s a link; larger clusters need the delta rules of a later
// version.
inline constexpr size_t kMaxMembers = 1024;
inline constexpr size_t kMaxRecordsPerFrame = 64;
// Older records are not passed on: the receiver would refuse them as stale (10 minutes).
inline constexpr int64_t kRecordLifeMillis = 10 * 60 * 1000;
inline constexpr int64_t kRecordForwardMillis = 8 * 60 * 1000;

// ---- Items
inline constexpr size_t kChunkBytes = 64 << 10;
// An r 32 core set of a 7B model with four banks is 4 MB.
inline constexpr uint64_t kMaxPayloadBytes = 8 << 20;
// Live items, and the memory their payloads may take (payload cache of section 2.4).
inline constexpr size_t kMaxItems = 4096;
inline constexpr uint64_t kMaxPayloadMemory = 64 << 20;
// Newest items kept of one origin: rounds overlap by a few, patterns are what a node learned
// lately.
inline constexpr size_t kMaxDeltasPerOrigin = 8;
inline constexpr size_t kMaxPatternsPerOrigin = 256;
// Ids of refused, superseded and dropped items, so that they are not fetched again (48 B each).
inline constexpr size_t kMaxTombstones = 65'536;
// Manifests waited for and payloads in transfer.
inline constexpr size_t kMaxWanted = 4096;
inline constexpr size_t kMaxTransfers = 64;
// Who else may be asked for an item.
inline constexpr size_t kMaxAnnouncers = 8;
// Chunk requests under way: one per item, this many per peer and in all.
inline constexpr size_t kMaxRequestsPerPeer = 4;
inline constexpr size_t kMaxRequests = 16;
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

// ---- Anti-entropy
inline constexpr Duration kReconPeriod = seconds(30);
inline constexpr Duration kReconPeriodBusy = seconds(1);
// Exchanges at the busy period after a new link or a difference.
inline constexpr int kReconBusyExchanges = 10;
// A range with at most this many ids is listed, a larger one split into as many parts.
inline constexpr size_t kReconListIds = 16;
inline constexpr size_t kReconSplit = 16;
inline constexpr size_t kMaxReconRanges = 512;
// Messages per second and burst of one link: each costs up to one pass over all ids (0.1 ms).
inline constexpr double kReconPerSecond = 10;
inline constexpr double kReconBurst = 60;
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
