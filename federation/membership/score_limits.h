// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"

// Limits and weights of the scores of peers (PeerScores), of what neighbours of the mesh owe each
// other (MeshAnnouncements), and of what the mesh makes of scores, each with its reason. They are
// those of gossipsub v1.1, P1 to P4 and P7 of it.
namespace ruvd::limits {

// 100 s in the mesh are worth one point, and no more: peers that are merely present must not
// outweigh those that deliver.
inline constexpr Duration kMeshTimeCap = std::chrono::seconds(100);
inline constexpr double kMeshTimeWeight = 1;
// Payloads delivered: half a point each and ten at most. This forgives three duplicates that the
// network made, but does not pay for forgeries.
inline constexpr double kDeliveryWeight = 0.5;
inline constexpr double kMaxDeliveries = 20;
inline constexpr Duration kDeliveryHalfLife = std::chrono::seconds(1200);
// Invalid messages count squared: one for a message that no honest node sends, less for one that
// the network may duplicate. Two forgeries end the mesh membership, ten or eleven the link.
inline constexpr double kReplayWeight = 0.25;
inline constexpr Duration kInvalidHalfLife = std::chrono::seconds(600);
// Misbehaviour up to this value is an accident: an item that was withdrawn between announcement and
// request, a Graft after a restart that forgot the backoff. The excess counts squared.
inline constexpr double kMisbehaviourAllowed = 4;
inline constexpr Duration kMisbehaviourHalfLife = std::chrono::seconds(300);
inline constexpr double kBrokenPromiseWeight = 1;
// Broken promises of one peer that count when they are found together, because they have one cause.
inline constexpr size_t kMaxBrokenAtOnce = 4;
inline constexpr double kEarlyGraftWeight = 1;
// A Graft does not count as early in this time after a Prune, because the two may cross, and in
// this time before the backoff ends, because clocks differ.
inline constexpr Duration kGraftGrace = std::chrono::seconds(10);
// One flood may come from a node that was cut off for long, a second one may not.
inline constexpr double kFloodWeight = 8;
// A neighbour of the mesh owes an announcement of each item that this node pushed, within this time
// after this node took the item: ten slow links carry the largest payload in it.
inline constexpr Duration kAnnounceTime = std::chrono::seconds(60);
// A neighbour owes nothing for so long after it joined the mesh, because it may have much to fetch.
inline constexpr Duration kAnnounceGrace = std::chrono::seconds(60);
// Items that wait for announcements at one time, 300 B each; others are not counted.
inline constexpr size_t kMaxAwaitedItems = 256;
// A neighbour is judged after it owed so many announcements. At the upper number both counts are
// halved, so that they follow what it does now.
inline constexpr double kLeastOwed = 10;
inline constexpr double kMostOwed = 32;
// It is compared with the best but one of the others, so that one liar changes nothing. That one
// must have announced the first share of what it owed, and the neighbour has a deficit if it
// announced less than the second share of that.
inline constexpr size_t kComparedNeighbour = 2;
inline constexpr double kLeastAnnounced = 0.5;
inline constexpr double kLeastShareOfCompared = 0.25;
// How often a node tells neighbours that it has taken what they announced to it, 32 B an item
inline constexpr Duration kConfirmPeriod = std::chrono::seconds(5);
// A deficit up to the first value is an accident, and the excess counts squared. The second one
// outweighs all that a peer earned. A silent neighbour stays out of the mesh for 13 to 23 minutes.
inline constexpr double kDeficitAllowed = 1;
inline constexpr double kMaxDeficit = 5;
inline constexpr Duration kDeficitHalfLife = std::chrono::seconds(600);
// A peer below this score is kept out: at first for this time, then for twice as long each time, up
// to 21 hours.
inline constexpr double kGraylistScore = -100;
inline constexpr Duration kGraylistTime = std::chrono::seconds(600);
inline constexpr int kGraylistDoublings = 7;
inline constexpr Duration kGraylistMemory = std::chrono::seconds(24 * 3600);
// Peers with counts, and peers that are or were kept out, 120 B each
inline constexpr size_t kMaxScores = 256;
// How often scores are stored (at most 40 KB), and how soon after that they are stored once more
// because a peer was newly kept out: crowds that misbehave cost no more than six fsyncs a minute.
inline constexpr Duration kScoresStorePeriod = std::chrono::seconds(600);
inline constexpr Duration kScoresStoreGap = std::chrono::seconds(10);
inline constexpr size_t kMaxPromisesPerLink = 128;
// A mesh whose median neighbour delivered nothing lately adds this many members that did, this
// often.
inline constexpr Duration kOpportunityPeriod = std::chrono::seconds(60);
inline constexpr double kOpportunityScore = 1.5;
inline constexpr size_t kOpportunityGrafts = 2;

}  // namespace ruvd::limits
