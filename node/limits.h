// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Limits of the node's queues, messages, files and rounds.
namespace ruvd::limits {

// Largest request with text. A context of 512 tokens is about 2 KiB, so 1 MiB leaves room for
// models with long contexts.
inline constexpr size_t kMaxTextRequestBytes = 1 << 20;
// Largest message of the client API, which is a pattern with an adapter of 8 MiB and its embedding.
inline constexpr int kMaxApiMessageBytes = 10 << 20;
// Embeddings of one page of patterns, so that a page fits a client with gRPC's default limit (4
// MiB).
inline constexpr uint32_t kMaxPageBytes = 1 << 20;
// Largest answer that `ruvd` accepts; the largest one is a pattern with an adapter of 8 MiB.
inline constexpr int kMaxResponseBytes = 16 << 20;
// Longest line of an export of patterns: an adapter of 8 MiB in base64, an embedding of 16,384
// numbers as text, and the other fields.
inline constexpr size_t kMaxExportLineBytes = 12 << 20;
// Streams that watch patterns (a connection may have 256 streams), and the changes that each holds
// in memory.
inline constexpr size_t kMaxPatternWatches = 32;
inline constexpr size_t kPatternWatchPage = 64;
// Largest lead of another machine's clock; the clocks of maintained machines differ by less.
inline constexpr std::chrono::milliseconds kMaxClockLead{5 * 60'000};
// Largest link frame: a chunk of 64 KiB and its wrapping, with a margin.
inline constexpr int kMaxLinkMessageBytes = 256 << 10;
// Frames by which a slow reader of a stream may lag before later ones are merged into one. Text is
// never merged.
inline constexpr size_t kMaxPendingFrames = 32;
// Frames that may wait for one peer; a peer that is further behind is disconnected and catches up
// by anti-entropy.
inline constexpr size_t kMaxLinkQueue = 1024;
// These frames may have this many bytes. An honest peer asks for four chunks of 64 KiB at a time; a
// peer that asks and never reads costs at most this.
inline constexpr size_t kMaxLinkQueueBytes = 4 << 20;
// Frames of one link that may wait for the federation actor. Above this the stream is not read
// until a frame was handled, so that one peer cannot fill the mailbox.
inline constexpr size_t kMaxLinkFramesWaiting = 16;
// Nodes that may join at one time, the time that each may take, and the largest file of the
// authority: all nodes that were ever revoked take 3.2 MB, the hashes of 10,000 tokens 530 KB.
inline constexpr size_t kMaxJoinsUnderWay = 16;
inline constexpr std::chrono::seconds kJoinPatience{30};
inline constexpr uint64_t kMaxAuthorityFileBytes = 4 << 20;
// Age at which the authority's node signs its revocation list again, and the time between two
// checks. Both are far below the default of federation.max_stale_hours.
inline constexpr int64_t kRevocationsRefreshedMillis = 12LL * 3600 * 1000;
inline constexpr std::chrono::hours kRevocationsLook{1};
// The authority's node warns once a day from so many days before the end of its key: the lifetime
// of a certificate.
inline constexpr int64_t kIssuerWarningDays = 30;
// Time between two checks whether the certificate must be renewed, and the time that an address may
// take to answer.
inline constexpr std::chrono::hours kCertificateLook{1};
// How often a node whose certificate was not usable at its start looks whether it is now, for
// example because the clock was set.
inline constexpr std::chrono::minutes kIsolationLook{1};
inline constexpr std::chrono::seconds kRenewalPatience{5};
// An offered pattern is offered again this long before its item expires, so that a peer that is
// away for a day misses nothing; and the time between two checks.
inline constexpr int64_t kOfferAgainMillis = 24LL * 3600 * 1000;
inline constexpr std::chrono::hours kOwnPatternsLook{1};
// Time in seconds after which a changed TLS key file is used. gRPC reads the file this often.
inline constexpr unsigned int kTlsReloadSeconds = 1;
// Own TLS certificates that a node recognises when a peer names one: the present one, and earlier
// ones, which stay in use for kTlsReloadSeconds more.
inline constexpr size_t kMaxLinkCertificates = 8;
// Time for which a caller that does not finish the TLS handshake may hold a socket.
inline constexpr std::chrono::milliseconds kTlsHandshake{10'000};
// Time for the last frames of a closed link; after it the stream is cancelled.
inline constexpr std::chrono::seconds kLinkLinger{5};
inline constexpr size_t kMaxSessionIdBytes = 64;
// What one score may ask for: 128 forward passes of a full context take half a minute on one core.
inline constexpr int kMaxScoreSamplesPerRequest = 128;
inline constexpr size_t kMaxIdempotencyKeyBytes = 128;
// Parts of a text to infill, and tokens in all its gaps; a context is far smaller.
inline constexpr size_t kMaxTextParts = 256;
inline constexpr uint32_t kMaxGapTokens = 1U << 20;
// Loaded adapter files of a node. Each active adapter costs matrix products in every forward pass.
inline constexpr size_t kMaxLoadedAdapters = 64;
// Adapter versions that a node offers, the largest adapter file (rank 64 on all linear layers of an
// 8B model takes 640 MiB), and the adapters that one request may choose.
inline constexpr size_t kMaxCatalogAdapters = 1024;
inline constexpr uint64_t kMaxCatalogFileBytes = 1ULL << 30;
// Lessons that are named beside an adapter which a node learned, about 40 B each. With more, it is
// not known of whom all are, and the adapter never leaves the node.
inline constexpr size_t kMaxAdapterLessons = 16'384;
inline constexpr size_t kMaxChosenAdapters = 8;
// With a larger weight an adapter would only add noise.
inline constexpr float kMaxAdapterWeight = 100.0F;
// Completions, scores and embeddings that take turns; others wait in the queue. A score has many
// turns, so only some of those places are for scores: others find a place at once.
inline constexpr size_t kMaxRunningGenerations = 8;
inline constexpr size_t kMaxRunningScores = 2;
// Tasks that take turns once callers without one have come. Such a caller waits for no other one's
// completions, which may take minutes; a forward of twice as many rows takes less than twice as
// long.
inline constexpr size_t kMaxRunningForNewCallers = 16;
// Tokens of one forward pass that several completions share. A 29M model takes about 20 ms for it,
// so that cancelling and streaming stay fast.
inline constexpr size_t kMaxBatchRows = 512;
// Memory of what sessions were taught, and the number of completions for which feedback may come. A
// full session memory of the 29M model takes 5 MiB, a completion of 64 tokens 150 KiB.
inline constexpr size_t kMaxInstantBytes = 64 << 20;
inline constexpr size_t kMaxInstantTrails = 256;
// After this idle time a session's memory is forgotten.
inline constexpr std::chrono::hours kInstantIdle{1};
// Ratings of a session whose effect on patterns can be undone.
inline constexpr size_t kMaxPatternVotes = 256;
// Erased users that are remembered, so that their running completions leave nothing behind.
inline constexpr size_t kMaxErasedUsers = 1024;
// Payloads of plain patterns that a preview shows, about 8 KiB each.
inline constexpr size_t kMaxPreviewPayloads = 32;
// Feedback that may wait for the learning actor
inline constexpr size_t kLearningMailbox = 256;
// Frames and events that may wait for the federation actor: more than the frames of all links
// (kMaxLinkFramesWaiting of each), so that the frames of some peers do not fill it
inline constexpr size_t kFederationMailbox = 4096;
// Queries of the witness log that may wait; with more, a node could not stop in time.
inline constexpr size_t kMaxWaitingQueries = 32;
// Calls about adapters that may wait; they read and write files.
inline constexpr size_t kMaxWaitingAdapterCalls = 16;
// Calls that read or write patterns that may wait; four imports by `ruvd` fill this queue.
inline constexpr size_t kMaxWaitingPatternCalls = 64;
// Erasures and backups that may wait; one of them runs at a time.
inline constexpr size_t kMaxWaitingUpkeep = 4;
// Memory that gRPC may use for all calls of a port; large patterns that arrive together then wait
// for each other.
inline constexpr size_t kMaxApiMemoryBytes = 512 << 20;
// One round of store maintenance: its mailbox, the batches of 128 values that are sealed again, and
// the time for the patterns. Other work waits for the thread during this time.
inline constexpr size_t kMaintenanceMailbox = 4;
inline constexpr size_t kResealStepsPerRound = 16;
inline constexpr std::chrono::milliseconds kMaintenanceBudget{20};
// Time between two log lines about patterns that expired or were evicted.
inline constexpr std::chrono::minutes kPatternReportInterval{1};
// Length of a backup's name, which becomes the name of a folder.
inline constexpr size_t kMaxBackupNameBytes = 64;
// Turns of conversations that may wait to be recorded
inline constexpr size_t kWitnessMailbox = 256;
// Records of requests that expire in one step: about 3 MiB to compress and seal.
inline constexpr size_t kWitnessExpiryPerTick = 512;
// Good trajectories that one background round reads, which bounds its time and memory.
inline constexpr size_t kMaxRoundTrajectories = 64;
// Lessons by which two similar patterns are compared before they merge.
inline constexpr size_t kMaxMergeLessons = 8;
// Denoising steps whose latencies are kept, once with and once without learning at the same time.
inline constexpr size_t kMaxLatencies = 1024;
// Newest good completions that a deep round trains on. From only a few hundred it would learn the
// words and not the domain.
inline constexpr size_t kMaxDeepLessons = 4096;
// Largest file of texts to learn from. It is in memory whole while it is cut.
inline constexpr size_t kMaxLessonFileBytes = 16 << 20;
// Files that the node receives at one time, by kind, and the time that each may take to arrive.
// Each is held in memory.
inline constexpr size_t kMaxLessonUploads = 4;
inline constexpr size_t kMaxAdapterUploads = 2;
inline constexpr size_t kMaxPatternUploads = 32;
inline constexpr std::chrono::seconds kUploadPatience{60};
inline constexpr std::chrono::seconds kAdapterUploadPatience{900};
// Largest adapter file that a client can send; larger ones are loaded by their paths.
inline constexpr uint64_t kMaxImportedAdapterBytes = 128ULL << 20;
// Files that the node sends at one time, each of which is held in memory, and the bytes of a file
// in one message
inline constexpr size_t kMaxDownloads = 8;
inline constexpr std::chrono::seconds kDownloadPatience{900};
inline constexpr size_t kMaxChunkBytes = 256 << 10;
// Items of one page of a list
inline constexpr size_t kMaxPageItems = 1000;
// The prompt and the text of a pair may have this many bytes together. Training reads no more than
// the model's context of it.
inline constexpr size_t kMaxLessonPairBytes = 64 << 10;
// Lessons that judge a global adapter or a peer's pattern. They cost about 200 forward passes for
// what serves, and as many for every candidate.
inline constexpr size_t kMaxEvaluationLessons = 32;
// Lessons of one page of an export
inline constexpr size_t kMaxLessonPage = 100;
// Adapters of patterns that are kept in memory. Cores of rank 32 on two layers of the 29M model
// take 2.5 MiB as factors. The newest few stay whatever they take, because one request needs them
// together.
inline constexpr size_t kMaxCachedAdapters = 1024;
inline constexpr size_t kMinCachedAdapters = 8;
inline constexpr uint64_t kMaxCachedAdapterBytes = 256 << 20;

}  // namespace ruvd::limits
