// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ruvd::storage {

// Returns how many bytes an ordinary process may still write to the file system of a path.
using FreeBytesProbe = std::function<absl::StatusOr<uint64_t>(const std::string& path)>;

// Asks the operating system (statvfs). Returns FILE_UNREADABLE when the path does not exist.
absl::StatusOr<uint64_t> FreeBytesOfFileSystem(const std::string& path);

enum class ReserveLevel : uint8_t { kEnough, kBelowSoft, kBelowHard };

class DiskReserve;

// Space that was promised to one write. When the claim is destroyed, the bytes count as written.
// Movable; the reserve must outlive it.
class SpaceClaim {
 public:
  SpaceClaim(DiskReserve& reserve, uint64_t bytes) : reserve_(&reserve), bytes_(bytes) {}
  SpaceClaim(SpaceClaim&& other) noexcept
      : reserve_(std::exchange(other.reserve_, nullptr)), bytes_(other.bytes_) {}
  SpaceClaim& operator=(SpaceClaim&&) = delete;
  ~SpaceClaim();

 private:
  DiskReserve* reserve_;
  uint64_t bytes_;
};

// Keeps the store away from a full disk. RocksDB may abort the process after ENOSPC, so writes stop
// earlier: bulk data at a soft reserve and everything at a hard one. Writes continue by themselves
// when space is freed. The probe's answer is kept, less what was written since, for
// kReserveProbeInterval or until the writes are a notable part of the hard reserve. Thread-safe.
class DiskReserve {
 public:
  struct Options {
    std::string path;
    uint64_t soft_bytes = 0;
    uint64_t hard_bytes = 0;
    FreeBytesProbe probe;
    const Clock* clock = nullptr;  // must outlive the reserve
  };
  explicit DiskReserve(Options options);

  // Returns the level if `bytes` more were written now. When the probe fails, the last known value
  // is used.
  ReserveLevel LevelFor(uint64_t bytes);
  // Claims the bytes if the level afterwards is at least `lowest`, otherwise returns that level. It
  // is one step, so that concurrent writers do not all get the same space.
  using Answer = std::variant<SpaceClaim, ReserveLevel>;
  Answer Claim(uint64_t bytes, ReserveLevel lowest);
  // Returns the free bytes at the last probe, less what was claimed and written since.
  uint64_t free_bytes() const;

 private:
  friend class SpaceClaim;
  ReserveLevel LevelAfter(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts claimed bytes as written.
  void Wrote(uint64_t bytes);
  void ProbeIfStale() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  bool probed_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint probed_at_ ABSL_GUARDED_BY(mutex_);
  uint64_t free_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t claimed_ ABSL_GUARDED_BY(mutex_) = 0;  // claimed and not written yet
};

}  // namespace ruvd::storage
