// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_checkpoint.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "storage/db/column_family.h"
#include "storage/limits.h"

namespace ruvd::learning {
namespace {

constexpr char kCheckpointMagic[] = "RVDC";
constexpr size_t kCheckpointMagicBytes = 4;
constexpr uint32_t kCheckpointFormat = 1;
// A generous limit for everything but the run: ids and numbers.
constexpr uint64_t kMaxHeadBytes = 1 << 20;

constexpr privacy::SealContext kCheckpointContext{
    .column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
    .key = "deep-checkpoint",
    .schema = kCheckpointFormat};

absl::Status NoCheckpoint() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "these bytes are not a checkpoint of a deep round; the next round starts afresh");
}

void WriteIds(const std::vector<std::string>& ids, ByteWriter* out) {
  out->Write(static_cast<uint32_t>(ids.size()));
  for (const std::string& id : ids) {
    out->Write(static_cast<uint16_t>(id.size())).WriteText(id);
  }
}

bool ReadIds(ByteReader& in, std::vector<std::string>* ids) {
  const auto count = in.Read<uint32_t>();
  if (!count || *count > limits::kMaxDeepLessons) {
    return false;
  }
  for (uint32_t i = 0; i < *count; ++i) {
    const auto length = in.Read<uint16_t>();
    if (!length || *length > limits::kMaxResponseIdBytes) {
      return false;
    }
    const auto id = in.ReadBytes(*length);
    if (!id) {
      return false;
    }
    ids->emplace_back(AsText(*id));
  }
  return true;
}

}  // namespace

std::string EncodeDeepCheckpoint(const DeepCheckpoint& checkpoint) {
  ByteWriter out;
  out.WriteText(std::string_view(kCheckpointMagic, kCheckpointMagicBytes))
      .Write(kCheckpointFormat)
      .Write(checkpoint.seed);
  out.Write(checkpoint.version).Write(checkpoint.base);
  WriteIds(checkpoint.taught, &out);
  WriteIds(checkpoint.held_back, &out);
  out.Write(static_cast<uint64_t>(checkpoint.run.size())).WriteText(checkpoint.run);
  return out.Take();
}

absl::StatusOr<DeepCheckpoint> DecodeDeepCheckpoint(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.ReadBytes(kCheckpointMagicBytes);
  const auto format = in.Read<uint32_t>();
  if (!magic || AsText(*magic) != std::string_view(kCheckpointMagic, kCheckpointMagicBytes) ||
      format != kCheckpointFormat) {
    return NoCheckpoint();
  }
  DeepCheckpoint checkpoint;
  checkpoint.seed = in.Read<uint64_t>().value_or(0);
  checkpoint.version = in.Read<uint32_t>().value_or(0);
  checkpoint.base = in.Read<uint32_t>().value_or(0);
  if (!ReadIds(in, &checkpoint.taught) || !ReadIds(in, &checkpoint.held_back)) {
    return NoCheckpoint();
  }
  const auto length = in.Read<uint64_t>();
  if (!length || *length != in.remaining()) {
    return NoCheckpoint();
  }
  checkpoint.run = std::string(AsText(*in.ReadBytes(*length)));
  return checkpoint;
}

absl::Status WriteDeepCheckpoint(const std::string& path, const privacy::SealKey& key,
                                 const DeepCheckpoint& checkpoint) {
  return WriteFileAtomically(path, key.Seal(kCheckpointContext, EncodeDeepCheckpoint(checkpoint)),
                             0600);
}

absl::StatusOr<std::optional<DeepCheckpoint>> ReadDeepCheckpoint(const std::string& path,
                                                                 const privacy::SealKey& key) {
  const absl::StatusOr<std::string> sealed =
      ReadFile(path, limits::kMaxDeepCheckpointBytes + kMaxHeadBytes);
  if (absl::IsNotFound(sealed.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(sealed.status());
  ASSIGN_OR_RETURN(const std::string bytes, key.Open(kCheckpointContext, *sealed));
  ASSIGN_OR_RETURN(DeepCheckpoint checkpoint, DecodeDeepCheckpoint(AsBytes(bytes)));
  return checkpoint;
}

absl::Status RemoveDeepCheckpoint(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  return error ? FileWriteError(path, error.value()) : absl::OkStatus();
}

}  // namespace ruvd::learning
