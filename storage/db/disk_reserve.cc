// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/disk_reserve.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/limits.h"

namespace ruvd::storage {
namespace {

// Written data may take several times its size for a while: log, table file, compaction.
constexpr uint64_t kProbesPerHardReserve = 16;

}  // namespace

absl::StatusOr<uint64_t> FreeBytesOfFileSystem(const std::string& path) {
  struct statvfs info = {};
  if (::statvfs(path.c_str(), &info) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
                 "cannot read the free space of {}: {}; check the data folder", path,
                 std::strerror(errno));
  }
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

DiskReserve::DiskReserve(Options options) : options_(std::move(options)) {}

void DiskReserve::ProbeIfStale() {
  const TimePoint now = options_.clock->Now();
  if (probed_ && now - probed_at_ < limits::kReserveProbeInterval &&
      written_ <
          std::min(limits::kReserveProbeBytes, options_.hard_bytes / kProbesPerHardReserve)) {
    return;
  }
  absl::StatusOr<uint64_t> free = options_.probe(options_.path);
  if (free.ok()) {
    free_ = *free;
    written_ = 0;
  }
  probed_ = true;
  probed_at_ = now;
}

ReserveLevel DiskReserve::LevelAfter(uint64_t bytes) {
  ProbeIfStale();
  const uint64_t used = written_ + claimed_ + bytes;
  const uint64_t left = free_ > used ? free_ - used : 0;
  if (left < options_.hard_bytes) {
    return ReserveLevel::kBelowHard;
  }
  return left < options_.soft_bytes ? ReserveLevel::kBelowSoft : ReserveLevel::kEnough;
}

ReserveLevel DiskReserve::LevelFor(uint64_t bytes) {
  MutexLock lock(mutex_);
  return LevelAfter(bytes);
}

DiskReserve::Answer DiskReserve::Claim(uint64_t bytes, ReserveLevel lowest) {
  MutexLock lock(mutex_);
  const ReserveLevel level = LevelAfter(bytes);
  if (level > lowest) {
    return level;
  }
  claimed_ += bytes;
  return Answer(std::in_place_type<SpaceClaim>, *this, bytes);
}

void DiskReserve::Wrote(uint64_t bytes) {
  MutexLock lock(mutex_);
  claimed_ -= bytes;
  written_ += bytes;
}

uint64_t DiskReserve::free_bytes() const {
  MutexLock lock(mutex_);
  const uint64_t used = written_ + claimed_;
  return free_ > used ? free_ - used : 0;
}

SpaceClaim::~SpaceClaim() {
  if (reserve_ != nullptr) {
    reserve_->Wrote(bytes_);
  }
}

}  // namespace ruvd::storage
