// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/power_cut_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace ruvd::campaign {
namespace {

namespace fs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using Context = rocksdb::IODebugContext*;

constexpr uint64_t kSector = 512;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Returns a file that is written in place, where some of the bytes written since the last fsync
// arrived and others did not: all, none, or those before a point.
std::string Torn(const std::string& before, const std::string& after, Random& random) {
  if (before.size() != after.size() || random.Bernoulli(0.3)) {
    return random.Bernoulli(0.5) ? before : after;
  }
  std::vector<size_t> changed;
  for (size_t i = 0; i < after.size(); ++i) {
    if (before[i] != after[i]) {
      changed.push_back(i);
    }
  }
  std::string torn = before;
  for (size_t came = random.Below(changed.size() + 1), i = 0; i < came; ++i) {
    torn[changed[i]] = after[changed[i]];
  }
  return torn;
}

class TrackedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TrackedFile(PowerCutFiles& disk, std::string name, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), name_(std::move(name)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, Context debug) override {
    if (!disk_.Alive()) {
      return IOStatus::OK();
    }
    const IOStatus status = target()->Append(data, options, debug);
    size_ += status.ok() ? data.size() : 0;
    disk_.Wrote(name_, size_);
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*verification*/, Context debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, Context debug) override { return Fsync(options, debug); }
  IOStatus Fsync(const IOOptions& options, Context debug) override {
    if (!disk_.Alive()) {
      return IOStatus::OK();
    }
    const IOStatus status = target()->Flush(options, debug);
    disk_.Synced(name_);
    return status;
  }
  IOStatus RangeSync(uint64_t /*offset*/, uint64_t /*bytes*/, const IOOptions& /*options*/,
                     Context /*debug*/) override {
    return IOStatus::OK();  // promises nothing
  }

 private:
  PowerCutFiles& disk_;
  const std::string name_;
  uint64_t size_ = 0;
};

// The file that a writer gets after the cut.
class NullFile final : public rocksdb::FSWritableFile {
 public:
  IOStatus Append(const Slice& data, const IOOptions& /*options*/, Context /*debug*/) override {
    size_ += data.size();
    return IOStatus::OK();
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*verification*/, Context debug) override {
    return Append(data, options, debug);
  }
  IOStatus Close(const IOOptions&, Context) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions&, Context) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, Context) override { return IOStatus::OK(); }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions&, Context) override { return size_; }

 private:
  uint64_t size_ = 0;
};

class TrackedRwFile final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  TrackedRwFile(PowerCutFiles& disk, std::string name,
                std::unique_ptr<rocksdb::FSRandomRWFile> file)
      : FSRandomRWFileOwnerWrapper(std::move(file)), disk_(disk), name_(std::move(name)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 Context debug) override {
    return disk_.Alive() ? FSRandomRWFileOwnerWrapper::Write(offset, data, options, debug)
                         : IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& /*options*/, Context /*debug*/) override {
    if (disk_.Alive()) {
      disk_.Synced(name_);
    }
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& options, Context debug) override { return Sync(options, debug); }

 private:
  PowerCutFiles& disk_;
  const std::string name_;
};

class TrackedFolder final : public rocksdb::FSDirectory {
 public:
  explicit TrackedFolder(PowerCutFiles& disk) : disk_(disk) {}
  IOStatus Fsync(const IOOptions& /*options*/, Context /*debug*/) override {
    if (disk_.Alive()) {
      disk_.SyncedFolder();
    }
    return IOStatus::OK();
  }
  IOStatus Close(const IOOptions& /*options*/, Context /*debug*/) override {
    return IOStatus::OK();
  }

 private:
  PowerCutFiles& disk_;
};

}  // namespace

PowerCutFiles::PowerCutFiles(std::string folder, std::string trash, uint64_t operations)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      folder_(std::move(folder)),
      trash_(std::move(trash)),
      left_(operations) {
  fs::create_directories(trash_);
}

bool PowerCutFiles::Alive() {
  if (dead_.load()) {
    return false;
  }
  if (left_.fetch_sub(1) == 1) {
    dead_.store(true);
  }
  return !dead_.load();
}

void PowerCutFiles::Wrote(const std::string& name, uint64_t size) {
  const std::lock_guard lock(mutex_);
  files_[name].size = size;
}

// The power may fail between the operation and this call: then the operation counts as not done.
void PowerCutFiles::Synced(const std::string& name) {
  const std::lock_guard lock(mutex_);
  File& file = files_[name];
  file.synced = file.size;
  if (file.in_place) {
    file.before = ReadAll(name);
  }
}

void PowerCutFiles::SyncedFolder() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, file] : files_) {
    file.name_durable = true;
  }
  removals_.clear();
  renames_.clear();
}

std::string PowerCutFiles::KeepBytes(const std::string& path) {
  std::string kept = trash_ + "/" + std::to_string(kept_++);
  std::error_code error;
  fs::create_hard_link(path, kept, error);
  return error ? std::string() : kept;
}

IOStatus PowerCutFiles::NewWritableFile(const std::string& name, const FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        Context debug) {
  if (!Alive()) {
    *result = std::make_unique<NullFile>();
    return IOStatus::OK();
  }
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const IOStatus status = target()->NewWritableFile(name, options, &file, debug);
  if (status.ok()) {
    const std::lock_guard lock(mutex_);
    files_[name] = File{};
    *result = std::make_unique<TrackedFile>(*this, name, std::move(file));
  }
  return status;
}

IOStatus PowerCutFiles::NewRandomRWFile(const std::string& name, const FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                        Context debug) {
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  const IOStatus status = target()->NewRandomRWFile(name, options, &file, debug);
  if (status.ok()) {
    const std::lock_guard lock(mutex_);
    File& tracked = files_[name];
    tracked.in_place = true;
    tracked.before = ReadAll(name);
    *result = std::make_unique<TrackedRwFile>(*this, name, std::move(file));
  }
  return status;
}

IOStatus PowerCutFiles::NewDirectory(const std::string& /*name*/, const IOOptions& /*options*/,
                                     std::unique_ptr<rocksdb::FSDirectory>* result,
                                     Context /*debug*/) {
  *result = std::make_unique<TrackedFolder>(*this);
  return IOStatus::OK();
}

IOStatus PowerCutFiles::DeleteFile(const std::string& name, const IOOptions& options,
                                   Context debug) {
  if (!Alive()) {
    return IOStatus::OK();
  }
  const std::lock_guard lock(mutex_);
  if (std::string kept = KeepBytes(name); !kept.empty()) {
    removals_.push_back({name, std::move(kept)});
  }
  files_.erase(name);
  return target()->DeleteFile(name, options, debug);
}

IOStatus PowerCutFiles::RenameFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, Context debug) {
  if (!Alive()) {
    return IOStatus::OK();
  }
  const std::lock_guard lock(mutex_);
  renames_.push_back({from, to, KeepBytes(to)});
  if (const auto found = files_.find(from); found != files_.end()) {
    files_[to] = found->second;
    files_.erase(from);
  }
  return target()->RenameFile(from, to, options, debug);
}

void PowerCutFiles::ApplyBytes(const std::string& path, const File& file, Random& random) {
  if (!fs::exists(path)) {
    return;
  }
  if (file.in_place) {
    WriteAll(path, Torn(file.before, ReadAll(path), random));
    return;
  }
  std::string bytes = ReadAll(path);
  if (bytes.size() <= file.synced) {
    return;
  }
  const uint64_t loose = bytes.size() - file.synced;
  switch (random.Below(3)) {
    case 0:
      bytes.resize(file.synced);
      break;
    case 1:
      bytes.resize(file.synced + random.Below(loose + 1));
      break;
    default:  // some sectors arrived, in any order
      for (uint64_t at = file.synced; at < bytes.size();) {
        const uint64_t end = std::min<uint64_t>(bytes.size(), (at / kSector + 1) * kSector);
        if (random.Bernoulli(0.5)) {
          std::fill(bytes.begin() + static_cast<ptrdiff_t>(at),
                    bytes.begin() + static_cast<ptrdiff_t>(end), '\0');
        }
        at = end;
      }
  }
  WriteAll(path, bytes);
}

void PowerCutFiles::ApplyNames(Random& random) {
  // A journal orders renames: every rename after some moment did not happen.
  const size_t kept = random.Below(renames_.size() + 1);
  while (renames_.size() > kept) {
    const Rename& last = renames_.back();
    std::error_code error;
    fs::rename(last.to, last.from, error);
    if (!last.kept.empty()) {
      fs::rename(last.kept, last.to, error);
    }
    renames_.pop_back();
  }
  for (const Removal& removal : removals_) {
    std::error_code error;
    if (random.Bernoulli(0.5) && !fs::exists(removal.path)) {
      fs::rename(removal.kept, removal.path, error);
    }
  }
}

void PowerCutFiles::Apply(Random& random) {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, file] : files_) {
    ApplyBytes(path, file, random);
    if (!file.name_durable && !file.in_place && random.Bernoulli(0.5)) {
      fs::remove(path);
    }
  }
  ApplyNames(random);
  fs::remove_all(trash_);
}

}  // namespace ruvd::campaign
