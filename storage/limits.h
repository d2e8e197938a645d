// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Limits of the storage room, each with its reason.
namespace ruvd::limits {

// Keys are ids and counters; the longest is a response id with its prefix.
inline constexpr size_t kMaxRowKeyBytes = 512;
// Twice the largest federated update (8 MiB compressed), so that no value of ours ever comes near.
inline constexpr size_t kMaxRowValueBytes = 16 << 20;
// A batch is copied into the log at once and held in memory while it is sealed.
inline constexpr size_t kMaxBatchBytes = 64 << 20;

// Longer names of users are hashed by whoever makes them.
inline constexpr size_t kMaxScopeIdBytes = 128;
inline constexpr size_t kMaxScopeNameBytes = kMaxScopeIdBytes + 16;
// All are in locked memory while the store is open (32 bytes each, of 8 MiB that a process may lock
// by default) and wrapped anew in one batch when the node's key changes.
inline constexpr size_t kMaxDataKeys = 65'536;
// Of them, those that no user's key takes: of families and collections, without which nothing
// works.
inline constexpr size_t kReservedDataKeys = 2048;
// A rotation of all keys makes as many again, until the values of the old ones are sealed anew.
inline constexpr size_t kMaxDataKeysInRotation = 2 * kMaxDataKeys;
// Users whose rows have all left, by age or because newer ones took their place, need no key any
// more. A key is left alone for so long, because its user may just be about to write; the walk that
// counts uses reads the whole store, so it is rare unless half of the keys are taken.
inline constexpr std::chrono::hours kKeyReclaimAge{6};
inline constexpr std::chrono::hours kKeyReclaimInterval{24};
inline constexpr std::chrono::minutes kScarceKeyReclaimInterval{10};
// What is sealed again, migrated or swept in one go while writers wait: about a millisecond.
inline constexpr size_t kMaxSweepRows = 128;
inline constexpr size_t kMaxSweepBytes = 1 << 20;
// The high-water mark is fsynced at most this often: what a power cut and a damage of the log in
// the same moment may hide.
inline constexpr std::chrono::milliseconds kHighWaterSyncInterval{20};
// Memtables are flushed at this size.
inline constexpr size_t kMemtableBytes = 8 << 20;

// The free space is asked for at most this often: statvfs is cheap, not free.
inline constexpr std::chrono::milliseconds kReserveProbeInterval{1000};
// ... or after this much was written since, less where the hard reserve is small.
inline constexpr uint64_t kReserveProbeBytes = 8 << 20;
// Defaults of the disk reserve. RocksDB needs room to flush its memtables and log after we stop.
inline constexpr uint64_t kSoftReserveBytes = 512 << 20;
inline constexpr uint64_t kHardReserveBytes = 256 << 20;

// Embeddings are hidden states; the largest model served has rows of 8192.
inline constexpr uint32_t kMaxDimension = 16384;
// Above this the graph costs more memory than it saves work (Malkov and Yashunin 2018, 4.1).
inline constexpr uint32_t kMaxHnswM = 128;
inline constexpr uint32_t kMaxEfConstruction = 4096;
// Breadth and result count of one search: bounds the work one request can cause.
inline constexpr size_t kMaxSearchEf = 4096;
inline constexpr size_t kMaxSearchHits = 1000;
// 4 bytes a slot in every link list; beyond a million patterns per-node rows are due.
inline constexpr uint32_t kMaxPatterns = 1 << 20;

// Models whose patterns one store may hold side by side.
inline constexpr uint32_t kMaxCollections = 1024;

// Default boundaries give 3 timestep banks; room for finer schedules.
inline constexpr uint32_t kMaxBanks = 64;
// What a vector search can filter by; 17 bytes a row in all.
inline constexpr uint32_t kMaxFilterTasks = 1 << 16;
inline constexpr uint32_t kMaxFilterTiers = 8;
inline constexpr int64_t kMaxFilterTimeMs = (int64_t{1} << 48) - 1;  // the year 10889
inline constexpr size_t kMaxFilterValues = 64;  // of one attribute; each costs a pass over its bits
// Numbers of nodes in a vector index: rows, as many again removed or being moved.
inline constexpr uint32_t kMaxHnswNodes = 2 * kMaxPatterns;
// A chunk is about 16 KiB and one record longer: 2 * kMaxHnswM links.
inline constexpr size_t kMaxCheckpointChunkBytes = 32 << 10;
// Queries of one batch search, rows that a range search returns.
inline constexpr size_t kMaxBatchQueries = 1024;
inline constexpr size_t kMaxRangeHits = 4096;
inline constexpr size_t kMaxTaskBytes = 256;
inline constexpr size_t kMaxStoredAdapterNameBytes = 256;
// A pattern's payload is a small adapter; 8 MiB is the largest update that may travel.
inline constexpr size_t kMaxPatternPayloadBytes = 8 << 20;
inline constexpr uint32_t kMaxListPageSize = 1000;
// Patterns kept by default: about 120 MB of index and 400 MB of rows at 768 values.
inline constexpr size_t kPatternCapacity = 100'000;
// A pattern that nobody retrieves for a month is worth half.
inline constexpr std::chrono::hours kPatternHalfLife{30 * 24};
// Peers that were away for longer may bring a deleted pattern back.
inline constexpr std::chrono::hours kTombstoneRetention{90 * 24};
// Rows that one call of maintenance looks at for tombstones, a few milliseconds, and how long a
// walk over all of them is good for.
inline constexpr size_t kTombstoneWalkRows = 1024;
inline constexpr std::chrono::hours kTombstoneWalkInterval{1};
// A checkpoint of 100,000 rows is 15 MB: worth the wear when that many links would be lost with it,
// or a little every ten minutes.
inline constexpr size_t kCheckpointChanges = 2000;
inline constexpr std::chrono::minutes kCheckpointInterval{10};
// Peers further behind than this reconcile by ranges instead of replaying the log.
inline constexpr uint64_t kMaxOplogRows = 65536;

// Feedback arrives within minutes; ten thousand completions are days of an edge node's work.
inline constexpr size_t kMaxTrajectories = 10000;
inline constexpr size_t kMaxResponseIdBytes = 128;
// Prompt, completion and edit of one request: the longest context, several times over.
inline constexpr size_t kMaxTrajectoryTextBytes = 1 << 20;
inline constexpr size_t kMaxTrajectorySteps = 65536;
// A token has at least a byte of text.
inline constexpr size_t kMaxTrajectoryPromptTokens = kMaxTrajectoryTextBytes;

// Header, body and signature of an envelope (privacy/limits.h); payloads are at most 8 MiB.
inline constexpr size_t kMaxItemEnvelopeBytes = 4096;
inline constexpr size_t kMaxItemPayloadBytes = 8 << 20;

// The write-behind queue of the witness log: one write of 100 entries costs little more than one of
// one, and a second's entries are what a crash may take.
inline constexpr size_t kWitnessBatch = 100;
inline constexpr std::chrono::milliseconds kMaxWitnessWait{1000};
// Ten batches: minutes of an edge node's requests while the disk stalls, about 6 MiB.
inline constexpr size_t kMaxWitnessQueue = 1000;
// Default of the entries kept, whatever their age: two embeddings of 768 make 6 KiB, all of them
// 600 MiB.
inline constexpr size_t kMaxWitnessEntries = 100'000;
inline constexpr std::chrono::hours kWitnessRetention{7 * 24};
// Names and the error of one entry, of which 72 adapters with the longest names take most; ids,
// adapters and models in its lists.
inline constexpr size_t kMaxWitnessTextBytes = 32 << 10;
inline constexpr size_t kMaxWitnessMessageBytes = 1024;
inline constexpr size_t kMaxWitnessListItems = 256;
// Entries one query looks at (a few microseconds each) and intervals of one trend.
inline constexpr size_t kMaxWitnessScan = 200'000;
inline constexpr size_t kMaxWitnessIntervals = 1000;
// Entries that leave in one step, and the uncompressed bytes of one frame of an archive: above the
// largest entry, small enough to hold in memory.
inline constexpr size_t kWitnessExpiryBatch = 4096;
inline constexpr size_t kMaxArchiveFrameBytes = 1 << 20;

// Sessions: a thousand are active at a time on the largest nodes. All are in memory, with an
// embedding of 3 KiB each.
inline constexpr size_t kMaxSessions = 10'000;
inline constexpr std::chrono::hours kSessionIdle{7 * 24};
inline constexpr size_t kMaxStoredSessionIdBytes = 128;
// Sessions of an erased user that leave in one batch, while turns of others wait.
inline constexpr size_t kForgottenSessions = 128;
inline constexpr size_t kMaxUserIdBytes = 128;
// Names, locations and metadata of one session.
inline constexpr size_t kMaxSessionTextBytes = 16 << 10;
inline constexpr size_t kMaxSessionMetadata = 64;

// Edges: an id's length is one byte of a key. What one question to the graph may cost: a node's
// heaviest edges, hops and the nodes they find, and the rows read for all that.
inline constexpr size_t kMaxGraphIdBytes = 128;
inline constexpr size_t kMaxNeighbours = 1000;
inline constexpr size_t kMaxEdgesLookedAt = 20'000;
inline constexpr size_t kMaxHopEdgesLookedAt = 100'000;
inline constexpr size_t kMaxHopDepth = 6;
inline constexpr size_t kMaxHopNodes = 10'000;

// A charge of the privacy ledger: the orders of the usual grids, and the name of what is released.
inline constexpr size_t kMaxLedgerOrders = 256;
inline constexpr size_t kMaxLedgerSubjectBytes = 256;
// An exported ledger, which is read whole: some 300,000 entries, a release every hour for ten
// years.
inline constexpr size_t kMaxLedgerFileBytes = size_t{64} << 20;

// Policies: what the loops learn in months. A router is below a megabyte; a Fisher diagonal of two
// million values covers every adapter of a small model and fits one row (8 MiB).
inline constexpr size_t kMaxPolicies = 10'000;
inline constexpr size_t kCachedPolicies = 256;
inline constexpr std::chrono::seconds kPolicyCacheTtl{60};
inline constexpr uint32_t kMaxRouterSize = 512;
inline constexpr size_t kMaxPolicyPatterns = 4096;
inline constexpr size_t kMaxFisherValues = 2 << 20;

// Changes that learning made and that can be undone: months of an edge node's rounds. A pattern
// before its change is mostly its adapter, some 200 KiB of a 29M model; above the sum the oldest
// changes can be undone no more.
inline constexpr size_t kMaxChanges = 512;
inline constexpr size_t kMaxChangeResponses = 256;
inline constexpr size_t kMaxChangeImages = 2;
inline constexpr uint64_t kMaxChangeImageBytes = 64 << 20;
// Answers remembered for feedback that is sent again.
inline constexpr size_t kMaxFeedbackAnswers = 1024;
inline constexpr size_t kMaxFeedbackAnswerBytes = 16 << 10;
// What clients note with a feedback.
inline constexpr size_t kMaxFeedbackMetadata = 16;
inline constexpr size_t kMaxFeedbackMetadataKeyBytes = 64;
inline constexpr size_t kMaxFeedbackMetadataValueBytes = 256;

}  // namespace ruvd::limits
