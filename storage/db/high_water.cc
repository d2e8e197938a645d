// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/high_water.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/db/rocks_options.h"

namespace ruvd::storage::db {
namespace {

constexpr std::string_view kMagic = "RUVDHWM1";
constexpr uint64_t kClean = 1;
constexpr size_t kChecksumBytes = 16;
constexpr size_t kFileBytes = 2 * kHighWaterSlotSpacing;

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// The file is complete and fsynced before it gets its name, so no open can take it for damaged.
IOStatus CreateFile(FileSystem& files, const std::string& folder, const std::string& path) {
  const std::string candidate = path + ".new";
  std::unique_ptr<rocksdb::FSWritableFile> file;
  std::string bytes = EncodeHighWater({.counter = 1, .sequence = 0, .clean = false});
  bytes.resize(kFileBytes, '\0');
  const IOOptions options;
  IOStatus status = files.NewWritableFile(candidate, FileOptions(), &file, nullptr);
  if (status.ok()) {
    status = file->Append(bytes, options, nullptr);
  }
  if (status.ok()) {
    status = file->Fsync(options, nullptr);
  }
  if (status.ok()) {
    status = file->Close(options, nullptr);
  }
  if (status.ok()) {
    status = files.RenameFile(candidate, path, options, nullptr);
  }
  std::unique_ptr<rocksdb::FSDirectory> directory;
  if (status.ok()) {
    status = files.NewDirectory(folder, options, &directory, nullptr);
  }
  return status.ok() ? directory->Fsync(options, nullptr) : status;
}

IOStatus ReadSlots(const rocksdb::FSRandomRWFile& file, std::optional<HighWater>* newest,
                   size_t* other_slot) {
  for (size_t slot = 0; slot < 2; ++slot) {
    char scratch[kHighWaterSlotBytes];
    Slice bytes;
    const IOStatus status = file.Read(slot * kHighWaterSlotSpacing, kHighWaterSlotBytes,
                                      IOOptions(), &bytes, scratch, nullptr);
    if (!status.ok()) {
      return status;
    }
    const auto mark = DecodeHighWater({bytes.data(), bytes.size()});
    if (mark && (!*newest || mark->counter > (*newest)->counter)) {
      *newest = mark;
      *other_slot = 1 - slot;
    }
  }
  return IOStatus::OK();
}

}  // namespace

std::string EncodeHighWater(const HighWater& mark) {
  std::string slot = ByteWriter()
                         .WriteText(kMagic)
                         .Write(mark.counter)
                         .Write(mark.sequence)
                         .Write(mark.clean ? kClean : uint64_t{0})
                         .Take();
  const Digest digest = Sha256(slot);
  return slot.append(AsText(digest).substr(0, kChecksumBytes));
}

std::optional<HighWater> DecodeHighWater(std::string_view slot) {
  ByteReader reader(AsBytes(slot));
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto counter = reader.Read<uint64_t>();
  const auto sequence = reader.Read<uint64_t>();
  const auto flags = reader.Read<uint64_t>();
  if (reader.failed() || slot.size() != kHighWaterSlotBytes || AsText(*magic) != kMagic) {
    return std::nullopt;
  }
  const HighWater mark{.counter = *counter, .sequence = *sequence, .clean = (*flags & kClean) != 0};
  return EncodeHighWater(mark) == slot ? std::optional(mark) : std::nullopt;
}

absl::StatusOr<HighWaterFile::Opened> HighWaterFile::Open(FileSystem& files,
                                                          const std::string& folder) {
  const std::string path = folder + "/" + kHighWaterFile;
  Opened opened;
  const IOStatus exists = files.FileExists(path, IOOptions(), nullptr);
  if (exists.IsNotFound()) {
    return opened;
  }
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  IOStatus status = exists;
  if (status.ok()) {
    status = files.NewRandomRWFile(path, FileOptions(), &file, nullptr);
  }
  size_t slot = 0;
  if (status.ok()) {
    status = ReadSlots(*file, &opened.mark, &slot);
  }
  if (status.ok()) {
    status = file->Sync(IOOptions(), nullptr);
  }
  RETURN_IF_ERROR(FromRocks(status, "opening the high-water mark"));
  opened.file.reset(
      new HighWaterFile(std::move(file), opened.mark ? opened.mark->counter : 0, slot));
  return opened;
}

absl::StatusOr<std::unique_ptr<HighWaterFile>> HighWaterFile::Create(FileSystem& files,
                                                                     const std::string& folder) {
  RETURN_IF_ERROR(FromRocks(CreateFile(files, folder, folder + "/" + kHighWaterFile),
                            "creating the high-water mark"));
  ASSIGN_OR_RETURN(Opened opened, Open(files, folder));
  return std::move(opened.file);
}

absl::Status HighWaterFile::Write(uint64_t sequence, bool clean, bool sync) {
  ++counter_;
  const std::string bytes =
      EncodeHighWater({.counter = counter_, .sequence = sequence, .clean = clean});
  IOStatus status = file_->Write(slot_ * kHighWaterSlotSpacing, bytes, IOOptions(), nullptr);
  if (status.ok() && sync) {
    status = file_->Sync(IOOptions(), nullptr);
    slot_ = 1 - slot_;
  }
  return FromRocks(status, "writing the high-water mark");
}

}  // namespace ruvd::storage::db
