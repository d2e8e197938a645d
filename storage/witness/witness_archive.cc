// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_archive.h"

#include <zstd.h>

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "ruvd/storage/v1/witness.pb.h"
#include "storage/db/column_family.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/witness/witness_rows.h"

namespace ruvd::storage {
namespace {

constexpr std::string_view kMagic = "RUVDWIT1";
constexpr uint8_t kEntriesFrame = 1;
constexpr uint8_t kEndFrame = 2;
constexpr uint32_t kArchiveSchema = 1;
// Embeddings hardly compress, so a higher level costs time and gains nothing.
constexpr int kCompressionLevel = 3;

// Returns the place of a frame: its file and its number in the file.
std::string FrameKey(const ArchiveId& id, uint32_t index) {
  return RowKey().Text("archive/").Bytes(id).U32(index).Take();
}

privacy::SealContext ContextOf(std::string_view frame_key, uint8_t kind) {
  return {.column_family = static_cast<uint32_t>(ColumnFamily::kWitness),
          .key = frame_key,
          .schema = kArchiveSchema,
          .generation = kind};
}

absl::Status Broken(std::string_view cause) {
  return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
               "the archive of witness entries {}; take another copy of the file", cause);
}

absl::Status Undecodable() {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "a frame of the archive of witness entries does not decode; take another copy of "
               "the file");
}

absl::StatusOr<std::string> Compress(std::string_view raw) {
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const size_t size =
      ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), kCompressionLevel);
  if (ZSTD_isError(size) != 0) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal, "zstd: {}",
                 ZSTD_getErrorName(size));
  }
  out.resize(size);
  return out;
}

absl::StatusOr<std::string> Decompress(std::span<const uint8_t> packed, uint32_t raw_size) {
  if (raw_size > limits::kMaxArchiveFrameBytes) {
    return Undecodable();
  }
  std::string raw(raw_size, '\0');
  const size_t size = ZSTD_decompress(raw.data(), raw.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != raw_size) {
    return Undecodable();
  }
  return raw;
}

absl::Status ShowEntries(std::string_view payload, const ArchiveCallback& callback,
                         uint64_t* entries) {
  ByteReader packed(AsBytes(payload));
  const auto raw_size = packed.Read<uint32_t>();
  if (!raw_size) {
    return Undecodable();
  }
  ASSIGN_OR_RETURN(const std::string raw,
                   Decompress(*packed.ReadBytes(packed.remaining()), *raw_size));
  ByteReader reader(AsBytes(raw));
  while (reader.remaining() > 0) {
    const auto size = reader.Read<uint32_t>();
    const auto bytes = reader.ReadBytes(size.value_or(0));
    if (reader.failed()) {
      return Undecodable();
    }
    ASSIGN_OR_RETURN(const WitnessEntry entry, witness::DecodeArchived(AsText(*bytes)));
    ++*entries;
    RETURN_IF_ERROR(callback(entry));
  }
  return absl::OkStatus();
}

absl::StatusOr<WitnessArchiveSummary> ReadEnd(std::string_view payload) {
  v1::WitnessArchiveEnd end;
  if (!end.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return Undecodable();
  }
  return WitnessArchiveSummary{end.entries(), end.first_key(), end.last_key()};
}

struct OpenedFrame {
  uint8_t kind = 0;
  std::string payload;
};

absl::StatusOr<OpenedFrame> ReadFrame(const privacy::SealKey& key, const ArchiveId& id,
                                      uint32_t index, ByteReader* reader) {
  const auto kind = reader->Read<uint8_t>();
  const auto size = reader->Read<uint32_t>();
  const auto sealed = reader->ReadBytes(size.value_or(0));
  if (reader->failed()) {
    return Broken("ends before its last frame");
  }
  const std::string frame_key = FrameKey(id, index);
  absl::StatusOr<std::string> payload = key.Open(ContextOf(frame_key, *kind), AsText(*sealed));
  if (!payload.ok()) {
    return Broken("was changed or belongs to another node");
  }
  return OpenedFrame{*kind, *std::move(payload)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<WitnessArchiveWriter>> WitnessArchiveWriter::Create(
    const std::string& path, privacy::SealKey key) {
  constexpr uint32_t kOwnerOnly = 0600;
  ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, AtomicFile::Create(path, kOwnerOnly));
  ArchiveId id;
  privacy::SecureRandomBytes(id);
  RETURN_IF_ERROR(file->Append(AsBytes(kMagic)));
  RETURN_IF_ERROR(file->Append(id));
  return std::unique_ptr<WitnessArchiveWriter>(
      new WitnessArchiveWriter(std::move(file), std::move(key), id));
}

absl::Status WitnessArchiveWriter::WriteFrame(uint8_t kind, std::string_view payload) {
  const std::string frame_key = FrameKey(id_, frames_);
  const std::string sealed = key_.Seal(ContextOf(frame_key, kind), payload);
  ++frames_;
  return file_->Append(AsBytes(ByteWriter()
                                   .Write(kind)
                                   .Write(static_cast<uint32_t>(sealed.size()))
                                   .WriteText(sealed)
                                   .str()));
}

absl::Status WitnessArchiveWriter::FlushEntries() {
  if (entries_.empty()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string packed, Compress(entries_));
  RETURN_IF_ERROR(WriteFrame(
      kEntriesFrame,
      ByteWriter().Write(static_cast<uint32_t>(entries_.size())).WriteText(packed).str()));
  entries_.clear();
  return absl::OkStatus();
}

absl::Status WitnessArchiveWriter::Add(std::string_view record_key, const WitnessEntry& entry) {
  const std::string bytes = witness::EncodeArchived(entry);
  if (entries_.size() + bytes.size() + sizeof(uint32_t) > limits::kMaxArchiveFrameBytes) {
    RETURN_IF_ERROR(FlushEntries());
  }
  entries_ += ByteWriter().Write(static_cast<uint32_t>(bytes.size())).WriteText(bytes).str();
  if (summary_.entries++ == 0) {
    summary_.first_key = record_key;
  }
  summary_.last_key = record_key;
  return absl::OkStatus();
}

absl::Status WitnessArchiveWriter::Commit() {
  RETURN_IF_ERROR(FlushEntries());
  v1::WitnessArchiveEnd end;
  end.set_entries(summary_.entries);
  end.set_first_key(summary_.first_key);
  end.set_last_key(summary_.last_key);
  RETURN_IF_ERROR(WriteFrame(kEndFrame, end.SerializeAsString()));
  return file_->Commit();
}

absl::StatusOr<WitnessArchiveSummary> ReadWitnessArchiveBytes(std::span<const uint8_t> bytes,
                                                              const privacy::SealKey& key,
                                                              const ArchiveCallback& callback) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto id = reader.ReadArray<std::tuple_size_v<ArchiveId>>();
  if (reader.failed() || AsText(*magic) != kMagic) {
    return Broken("does not begin like an archive");
  }
  uint64_t entries = 0;
  for (uint32_t index = 0;; ++index) {
    ASSIGN_OR_RETURN(const OpenedFrame frame, ReadFrame(key, *id, index, &reader));
    if (frame.kind == kEntriesFrame) {
      RETURN_IF_ERROR(ShowEntries(frame.payload, callback, &entries));
      continue;
    }
    ASSIGN_OR_RETURN(WitnessArchiveSummary summary, ReadEnd(frame.payload));
    if (frame.kind != kEndFrame || summary.entries != entries || reader.remaining() > 0) {
      return Broken("disagrees with its last frame");
    }
    return summary;
  }
}

absl::StatusOr<WitnessArchiveSummary> ReadWitnessArchive(const std::string& path,
                                                         const privacy::SealKey& key,
                                                         const ArchiveCallback& callback) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  return ReadWitnessArchiveBytes(file->bytes(), key, callback);
}

}  // namespace ruvd::storage
