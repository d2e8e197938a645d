// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Limits of the node's own queues and messages.
namespace ruvd::limits {

// Requests carry text: a context of 512 tokens is about 2 KiB; 1 MiB leaves room for long-context
// models.
inline constexpr size_t kMaxTextRequestBytes = 1 << 20;
// The largest of all: a pattern with an adapter of 8 MiB and its embedding.
inline constexpr int kMaxApiMessageBytes = 10 << 20;
// Embeddings of one page of patterns: a message of a client with gRPC's default limit (4 MiB).
inline constexpr uint32_t kMaxPageBytes = 1 << 20;
// An answer to our own client: a pattern with an adapter of 8 MiB is the largest.
inline constexpr int kMaxResponseBytes = 16 << 20;
// A line of an export of patterns: an adapter of 8 MiB and an embedding of 16,384 values in base64,
// and the rest.
inline constexpr size_t kMaxExportLineBytes = 12 << 20;
// Streams that watch the patterns, of the 256 that a connection may have, and the changes each of
// them holds in memory.
inline constexpr size_t kMaxPatternWatches = 32;
inline constexpr size_t kPatternWatchPage = 64;
// Clocks of machines that are looked after differ by less.
inline constexpr std::chrono::milliseconds kMaxClockLead{5 * 60'000};
// Link frames: a 64 KiB chunk and its wrapping (reliability: bounds of the gossip layer).
inline constexpr int kMaxLinkMessageBytes = 256 << 10;
// Events a slow reader of a stream may be behind before denoising frames are left out. Text is
// never left out.
inline constexpr size_t kMaxPendingFrames = 32;
// Frames waiting for one peer; a peer further behind is disconnected and catches up by
// anti-entropy.
inline constexpr size_t kMaxLinkQueue = 1024;
// Their bytes: an honest peer asks for four chunks of 64 KiB at a time. A peer that asks and never
// reads costs no more than this.
inline constexpr size_t kMaxLinkQueueBytes = 4 << 20;
// Frames of one link that wait for the federation actor. Then its stream is read no further until
// one was handled, so that no peer fills the mailbox for all others.
inline constexpr size_t kMaxLinkFramesWaiting = 16;
// Bearer tokens of the client API: guessing one of 128 bits (hexadecimal) is hopeless; a longer one
// than this is another file. The file itself is at most kMaxKeyFileBytes.
inline constexpr size_t kMinApiTokenChars = 32;
inline constexpr size_t kMaxApiTokenChars = 256;
inline constexpr size_t kMaxApiTokens = 64;
// Nodes that join by a token at one time, how long each may take, and the files of the authority: a
// revocation list has 2 MiB at most, the hashes of 10,000 tokens 530 KB.
inline constexpr size_t kMaxJoinsUnderWay = 16;
inline constexpr std::chrono::seconds kJoinPatience{30};
inline constexpr uint64_t kMaxAuthorityFileBytes = 4 << 20;
// The authority's node signs its revocation list anew when it is so old, and looks so often: well
// before federation.max_stale_hours is over at its members.
inline constexpr int64_t kRevocationsRefreshedMillis = 12LL * 3600 * 1000;
inline constexpr std::chrono::hours kRevocationsLook{1};
// How often a node looks whether its certificate is due, and how long an address may take to
// answer.
inline constexpr std::chrono::hours kCertificateLook{1};
inline constexpr std::chrono::seconds kRenewalPatience{5};
// An own pattern that peers can get is offered anew so long before its item ends, and looked at so
// often: whoever is away for a day misses nothing.
inline constexpr int64_t kOfferAgainMillis = 24LL * 3600 * 1000;
inline constexpr std::chrono::hours kOwnPatternsLook{1};
// A TLS key file that changed is used after so long. gRPC looks as often, and reads the file.
inline constexpr unsigned int kTlsReloadSeconds = 1;
// TLS certificates of its own that a node knows again when a peer names one: one is in use, the
// former ones for kTlsReloadSeconds more.
inline constexpr size_t kMaxLinkCertificates = 8;
// A caller that connects and does not finish the TLS handshake holds a socket for so long.
inline constexpr std::chrono::milliseconds kTlsHandshake{10'000};
// What a closed link's last frames may take; then its stream is cancelled, read or not.
inline constexpr std::chrono::seconds kLinkLinger{5};
inline constexpr size_t kMaxSessionIdBytes = 64;
// A score runs in one piece: 128 forwards of a full context take half a minute of one core.
inline constexpr int kMaxScoreSamplesPerRequest = 128;
inline constexpr int kMaxSearchResults = 1000;
inline constexpr size_t kMaxIdempotencyKeyBytes = 128;
// Parts of a text to infill, and tokens of all its gaps; a context is far smaller.
inline constexpr size_t kMaxTextParts = 256;
inline constexpr uint32_t kMaxGapTokens = 1U << 20;
// Adapter files of a node, and those that one request chooses; each costs its products in every
// forward.
inline constexpr size_t kMaxLoadedAdapters = 64;
// Versions of adapters that a node offers, and the size of a file of one: rank 64 on all linear
// layers of an 8B model has 640 MiB.
inline constexpr size_t kMaxCatalogAdapters = 1024;
inline constexpr uint64_t kMaxCatalogFileBytes = 1ULL << 30;
inline constexpr size_t kMaxChosenAdapters = 8;
// Beyond this an adapter says nothing but its own noise.
inline constexpr float kMaxAdapterWeight = 100.0F;
// Completions, scores and embeddings that are served in turn; the others wait in the queue.
inline constexpr size_t kMaxRunningGenerations = 8;
// Tokens of one forward that several completions share: some 20 ms of a 29M model, so that
// cancelling and streaming stay prompt.
inline constexpr size_t kMaxBatchRows = 512;
// What sessions were taught, and completions that feedback may come for: a full memory of the 29M
// model has 5 MiB, a completion of 64 tokens 150 KiB.
inline constexpr size_t kMaxInstantBytes = 64 << 20;
inline constexpr size_t kMaxInstantTrails = 256;
// A session that says nothing for so long is another one when it goes on.
inline constexpr std::chrono::hours kInstantIdle{1};
// Ratings of a session whose effect on patterns can be taken back.
inline constexpr size_t kMaxPatternVotes = 256;
// Users whose completions under way are told apart from others' when they are erased.
inline constexpr size_t kMaxForgottenUsers = 1024;
// Payloads of plain patterns that a preview of what would leave shows, of some 8 KiB each.
inline constexpr size_t kMaxPreviewPayloads = 32;
// Feedback waiting for the learning actor.
inline constexpr size_t kLearningMailbox = 256;
// Frames and events waiting for the federation actor.
inline constexpr size_t kFederationMailbox = 1024;
// Queries of the witness log that wait for one another: more would keep a node from stopping.
inline constexpr size_t kMaxWaitingQueries = 32;
// Calls about adapters: they read and write files.
inline constexpr size_t kMaxWaitingAdapterCalls = 16;
// Calls that read or write patterns: two imports of our own client fill it.
inline constexpr size_t kMaxWaitingPatternCalls = 64;
// Erasures and backups, of which one runs at a time.
inline constexpr size_t kMaxWaitingUpkeep = 4;
// What gRPC may hold for all calls of a port: large patterns that arrive together wait for each
// other.
inline constexpr size_t kMaxApiMemoryBytes = 512 << 20;
// A round of looking after the store: batches of 128 values that are sealed anew, and the time that
// the patterns get; others wait for the thread as long.
inline constexpr size_t kMaintenanceMailbox = 4;
inline constexpr size_t kResealStepsPerRound = 16;
inline constexpr std::chrono::milliseconds kMaintenanceBudget{20};
// What left the pattern store on its own is said in sums.
inline constexpr std::chrono::minutes kPatternReportInterval{1};
// A backup's name, which becomes a folder's.
inline constexpr size_t kMaxBackupNameBytes = 64;
// Turns of conversations waiting to be noted.
inline constexpr size_t kWitnessMailbox = 256;
// Records of requests that leave in one step: some 3 MiB to compress and seal.
inline constexpr size_t kWitnessExpiryPerTick = 512;
// Good trajectories one background round looks at: bounds its time and memory.
inline constexpr size_t kMaxRoundTrajectories = 64;
// Lessons that two patterns near each other are compared by, before one of them goes.
inline constexpr size_t kMaxMergeLessons = 8;
// Denoising steps whose latencies are remembered, with and without learning beside them.
inline constexpr size_t kMaxLatencies = 1024;
// Good completions that a deep round replays, the newest ones: of a few hundred it learns the words
// and not the domain.
inline constexpr size_t kMaxDeepLessons = 4096;
// Checkpoints of a deep round: a rank of 64 on all linear layers of the 29M model has 170 MiB.
inline constexpr uint64_t kMaxDeepCheckpointBytes = 2ULL << 30;
// Groups of prompts that a learned adapter is for, and the length of their embeddings.
inline constexpr size_t kMaxReachCentroids = 256;
inline constexpr uint32_t kMaxReachLength = 16'384;
inline constexpr uint64_t kMaxReachFileBytes = (16ULL << 20) + 4096;
// Lessons that judge what peers send: some 200 forwards for what is served, and as many for every
// candidate.
inline constexpr size_t kMaxJudges = 32;
// Banks whose scores are remembered, of 40 documents each 2.5 KiB, and updates of peers that are
// measured in one round; the others are in a later one.
inline constexpr size_t kMaxRememberedBanks = (256 + 4) * 16;
inline constexpr size_t kMaxMeasuredUpdates = 8;
// Whose updates were in the served adapter since it began anew; with more, everybody counts as one.
inline constexpr size_t kMaxRememberedContributors = 4096;
// Updates of a node that took one back are left out for so long, longer each time.
inline constexpr std::chrono::minutes kWithdrawalPause{1};
inline constexpr std::chrono::hours kLongestWithdrawalPause{24};
// The saved global adapter: 16 banks of rank 256 with both moments of an optimiser have 21 MiB.
inline constexpr uint64_t kMaxGlobalAdapterBytes = 32ULL << 20;
// Masked sums that count at once, of four members at least: those of a thousand nodes. Their file:
// one of rank 32 in four banks has 16 KiB.
inline constexpr size_t kMaxMaskedMeans = 64;
inline constexpr uint64_t kMaxMaskedMeansBytes = 64ULL << 20;
// Members of a masked sum whose noise does not count, as they may tell it to each other: one member
// that lies takes away nobody's noise but its own.
inline constexpr uint8_t kMaskColluders = 1;
// Lessons of one page of an export.
inline constexpr size_t kMaxLessonPage = 100;
// Decoded adapters kept in memory: rank 2 on one matrix is about 8 KiB.
inline constexpr size_t kMaxCachedAdapters = 1024;

}  // namespace ruvd::limits
