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
// Twice the largest federated update (8 MiB compressed), so that no real value comes near it.
inline constexpr size_t kMaxRowValueBytes = 16 << 20;
// A batch is copied into the log at once and held in memory while it is sealed.
inline constexpr size_t kMaxBatchBytes = 64 << 20;

// Callers hash longer names of users.
inline constexpr size_t kMaxScopeIdBytes = 128;
inline constexpr size_t kMaxScopeNameBytes = kMaxScopeIdBytes + 16;
// All data keys are in locked memory while the store is open (32 bytes each, of the 8 MiB that a
// process may lock by default), and one batch wraps them anew when the node's key changes.
inline constexpr size_t kMaxDataKeys = 65'536;
// The part of them that users' keys cannot take, reserved for families and collections, without
// which nothing works.
inline constexpr size_t kReservedDataKeys = 2048;
// A rotation of all keys doubles their number until the values of the old keys are sealed anew.
inline constexpr size_t kMaxDataKeysInRotation = 2 * kMaxDataKeys;
// Users whose rows have all expired or were evicted need no key any more. A key younger than this
// age is kept, because its user may be about to write. The walk that counts uses reads the whole
// store, so it is rare unless half of the keys are taken.
inline constexpr std::chrono::hours kKeyReclaimAge{6};
inline constexpr std::chrono::hours kKeyReclaimInterval{24};
inline constexpr std::chrono::minutes kScarceKeyReclaimInterval{10};
// The most that one step seals anew or sweeps while writers wait: about a millisecond.
inline constexpr size_t kMaxSweepRows = 128;
inline constexpr size_t kMaxSweepBytes = 1 << 20;
// The high-water mark is fsynced at most this often. A loss of this much time can stay unnoticed if
// a power cut and damage to the log happen at the same moment.
inline constexpr std::chrono::milliseconds kHighWaterSyncInterval{20};
// Memtables are flushed at this size.
inline constexpr size_t kMemtableBytes = 8 << 20;

// The free space is read at most this often: statvfs is cheap but not free,
inline constexpr std::chrono::milliseconds kReserveProbeInterval{1000};
// and also after this many bytes were written (fewer if the hard reserve is small).
inline constexpr uint64_t kReserveProbeBytes = 8 << 20;
// Defaults of the disk reserve. RocksDB needs room to flush its memtables and log after writes
// stop.
inline constexpr uint64_t kSoftReserveBytes = 512 << 20;
inline constexpr uint64_t kHardReserveBytes = 256 << 20;

// Embeddings are hidden states; the largest model served has rows of 8192.
inline constexpr uint32_t kMaxDimension = 16384;
// A larger M costs more memory than it saves work (Malkov and Yashunin 2018, section 4.1).
inline constexpr uint32_t kMaxHnswM = 128;
inline constexpr uint32_t kMaxEfConstruction = 4096;
// Breadth and number of results of one search; they bound the work of one request.
inline constexpr size_t kMaxSearchEf = 4096;
inline constexpr size_t kMaxSearchHits = 1000;
// Every link takes 4 bytes. More than a million patterns would need a layout with a row for each
// node.
inline constexpr uint32_t kMaxPatterns = 1 << 20;

// The number of models whose patterns one store may hold side by side.
inline constexpr uint32_t kMaxCollections = 1024;

// Default boundaries give 3 timestep banks; this leaves room for finer schedules.
inline constexpr uint32_t kMaxBanks = 64;
// Ranges of the attributes that a vector search can filter by; they take 17 bytes for each row.
inline constexpr uint32_t kMaxFilterTasks = 1 << 16;
inline constexpr uint32_t kMaxFilterTiers = 8;
inline constexpr int64_t kMaxFilterTimeMs = (int64_t{1} << 48) - 1;  // the year 10889
inline constexpr size_t kMaxFilterValues =
    64;  // for one attribute; each costs a pass over its bits
// Node numbers of a vector index: one for each row, and as many for rows being removed or moved.
inline constexpr uint32_t kMaxHnswNodes = 2 * kMaxPatterns;
// A chunk is about 16 KiB and at most one record longer, which has up to 2 * kMaxHnswM links.
inline constexpr size_t kMaxCheckpointChunkBytes = 32 << 10;
// The number of queries in one batch search and of rows that a range search returns.
inline constexpr size_t kMaxBatchQueries = 1024;
inline constexpr size_t kMaxRangeHits = 4096;
inline constexpr size_t kMaxTaskBytes = 256;
inline constexpr size_t kMaxStoredAdapterNameBytes = 256;
// A pattern's payload is a small adapter; 8 MiB is the largest update that peers may exchange.
inline constexpr size_t kMaxPatternPayloadBytes = 8 << 20;
inline constexpr uint32_t kMaxListPageSize = 1000;
// The default capacity: about 120 MB of index and 400 MB of rows with 768 values.
inline constexpr size_t kPatternCapacity = 100'000;
// A pattern that no request retrieves for a month loses half of its value.
inline constexpr std::chrono::hours kPatternHalfLife{30 * 24};
// A peer that was away for longer may bring a deleted pattern back.
inline constexpr std::chrono::hours kTombstoneRetention{90 * 24};
// One call of maintenance looks for tombstones in this many rows, which takes a few milliseconds; a
// new walk over all rows starts after this interval.
inline constexpr size_t kTombstoneWalkRows = 1024;
inline constexpr std::chrono::hours kTombstoneWalkInterval{1};
// A checkpoint of 100,000 rows writes 15 MB. That is worth the wear once this many changed links
// would be lost without it, and every ten minutes if there was any change.
inline constexpr size_t kCheckpointChanges = 2000;
inline constexpr std::chrono::minutes kCheckpointInterval{10};
// A peer that is further behind than this reconciles by ranges instead of replaying the log.
inline constexpr uint64_t kMaxOplogRows = 65536;

// Feedback arrives within minutes; ten thousand completions are days of an edge node's work.
inline constexpr size_t kMaxTrajectories = 10000;
// Lessons are among those with feedback, so requests without feedback do not displace them. Deep
// rounds hold 4,096 lessons and a memory of 300,000 tokens some 3,000.
inline constexpr size_t kMaxTrajectoriesWithFeedback = 10000;
inline constexpr size_t kMaxResponseIdBytes = 128;
// Prompt, completion and edit of one request; several times the longest context.
inline constexpr size_t kMaxTrajectoryTextBytes = 1 << 20;
inline constexpr size_t kMaxTrajectorySteps = 65536;
// A token has at least a byte of text.
inline constexpr size_t kMaxTrajectoryPromptTokens = kMaxTrajectoryTextBytes;

// Texts are stored as lessons. A hundred thousand lessons of 128 tokens are some 60 MiB; the sum of
// their bytes bounds longer ones. The longest lesson is a pair of prompt and answer, which is not
// cut. A source's name is a path inside the folder that was given.
inline constexpr size_t kMaxLessons = 100'000;
inline constexpr uint64_t kMaxLessonBytes = 512 << 20;
inline constexpr size_t kMaxLessonTextBytes = 64 << 10;  // prompt and text of one lesson
inline constexpr size_t kMaxLessonSources = 10'000;
inline constexpr size_t kMaxSourceNameBytes = 1024;
// One batch has this many lessons and bytes, so that other writers do not wait for a whole source.
inline constexpr size_t kLessonBatch = 4096;
inline constexpr size_t kLessonBatchBytes = 16 << 20;
inline constexpr size_t kMaxLessonPageBytes = 4 << 20;

// The name of a lesson that was read for the token memory.
inline constexpr size_t kMaxObservedNameBytes = 256;

// Header, body and signature of an envelope (privacy/limits.h); payloads are at most 8 MiB.
inline constexpr size_t kMaxItemEnvelopeBytes = 4096;
inline constexpr size_t kMaxItemPayloadBytes = 8 << 20;

// The write-behind queue of the witness log: writing 100 entries together costs little more than
// writing one, and a crash may lose the entries of one second.
inline constexpr size_t kWitnessBatch = 100;
inline constexpr std::chrono::milliseconds kMaxWitnessWait{1000};
// Ten batches, about 6 MiB: minutes of an edge node's requests while the disk stalls.
inline constexpr size_t kMaxWitnessQueue = 1000;
// The default number of entries kept, whatever their age. Two embeddings of 768 values take 6 KiB,
// so all entries take 600 MiB.
inline constexpr size_t kMaxWitnessEntries = 100'000;
inline constexpr std::chrono::hours kWitnessRetention{7 * 24};
// The names and the error of one entry: 72 adapters with the longest names take most of it. The
// second limit is for the error, the third for the ids, adapters and models in each list.
inline constexpr size_t kMaxWitnessTextBytes = 32 << 10;
inline constexpr size_t kMaxWitnessMessageBytes = 1024;
inline constexpr size_t kMaxWitnessListItems = 256;
// The entries that one query looks at (a few microseconds each) and the intervals of one trend.
inline constexpr size_t kMaxWitnessScan = 200'000;
inline constexpr size_t kMaxWitnessIntervals = 1000;
// The entries that one step removes, and the uncompressed bytes of one frame of an archive: more
// than the largest entry, but small enough for memory.
inline constexpr size_t kWitnessExpiryBatch = 4096;
inline constexpr size_t kMaxArchiveFrameBytes = 1 << 20;

// The largest nodes have a thousand active sessions at a time. All sessions are in memory, with an
// embedding of 3 KiB each.
inline constexpr size_t kMaxSessions = 10'000;
inline constexpr std::chrono::hours kSessionIdle{7 * 24};
inline constexpr size_t kMaxStoredSessionIdBytes = 128;
// One batch removes this many sessions of an erased user while turns of other users wait.
inline constexpr size_t kForgottenSessions = 128;
inline constexpr size_t kMaxUserIdBytes = 128;
// Names, locations and metadata of one session.
inline constexpr size_t kMaxSessionTextBytes = 16 << 10;
inline constexpr size_t kMaxSessionMetadata = 64;

// The length of a graph id is one byte of a key. The other limits bound one query of the graph: the
// heaviest edges of a node, and the rows read for them.
inline constexpr size_t kMaxGraphIdBytes = 128;
inline constexpr size_t kMaxNeighbours = 1000;
inline constexpr size_t kMaxEdgesLookedAt = 20'000;

// The name of a release in the privacy ledger
inline constexpr size_t kMaxLedgerSubjectBytes = 256;
// The counter file of the privacy ledger has 417 numbers of at most 20 digits.
inline constexpr size_t kMaxLedgerCounterBytes = 12 << 10;
// An exported ledger is read in one piece. A release with a curve takes about 900 bytes in its
// three entries, so this is one every hour for eight years.
inline constexpr size_t kMaxLedgerFileBytes = size_t{64} << 20;

// Values of the node's state (storage/state). The largest one is the checkpoint of a deep round: 32
// bytes for each trained parameter, so up to 67 million of them fit. Protobuf reads less than 2 GiB
// of a message, whose length is an int. A value is stored in chunks, which are written a few at a
// time, so that other writers do not wait for all of it.
inline constexpr size_t kMaxStateBytes = (size_t{2} << 30) - (size_t{1} << 20);
inline constexpr size_t kMaxStateChunkBytes = 4 << 20;
inline constexpr size_t kStateBatchBytes = 16 << 20;
// The longest name is that of a learned adapter, which holds the adapter's name and version.
inline constexpr size_t kMaxStateNameBytes = 320;

// This many policies are what the loops learn in months. A router is below a megabyte. A Fisher
// diagonal of two million values covers every adapter of a small model and fits into one row (8
// MiB).
inline constexpr size_t kMaxPolicies = 10'000;
inline constexpr size_t kCachedPolicies = 256;
inline constexpr std::chrono::seconds kPolicyCacheTtl{60};
inline constexpr uint32_t kMaxRouterSize = 512;
inline constexpr size_t kMaxPolicyPatterns = 4096;
inline constexpr size_t kMaxFisherValues = 2 << 20;

// The number of listed changes by learning: months of an edge node's rounds. A pattern kept from
// before a change is mostly its adapter, some 200 KiB for a 29M model; above the sum of bytes the
// oldest changes cannot be undone any more.
inline constexpr size_t kMaxChanges = 512;
inline constexpr size_t kMaxChangeResponses = 256;
inline constexpr size_t kMaxChangeImages = 2;
inline constexpr uint64_t kMaxChangeImageBytes = 64 << 20;
// The answers that are remembered for feedback that is sent again.
inline constexpr size_t kMaxFeedbackAnswers = 1024;
inline constexpr size_t kMaxFeedbackAnswerBytes = 16 << 10;
// The metadata that a client may attach to feedback.
inline constexpr size_t kMaxFeedbackMetadata = 16;
inline constexpr size_t kMaxFeedbackMetadataKeyBytes = 64;
inline constexpr size_t kMaxFeedbackMetadataValueBytes = 256;

}  // namespace ruvd::limits
