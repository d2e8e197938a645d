// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/limits.h"
#include "node/learning/deep_limits.h"
#include "node/log/log.h"
#include "storage/db/column_family.h"
#include "storage/limits.h"

namespace ruvd::learning {
namespace {

constexpr std::string_view kDeepMemoryMagic = "RVDM";
constexpr uint32_t kDeepMemoryFormat = 1;
constexpr std::string_view kPrefix = "memory-";

absl::Status NoMemory() {
  return Error(
      absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
      "these bytes are not the EWC++ memory of a deep round; the next round runs without it");
}

privacy::SealContext ContextOf(std::string_view key) {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = key,
          .schema = kDeepMemoryFormat};
}

void WriteFloats(std::span<const float> values, ByteWriter* out) {
  out->WriteBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

bool ReadFloats(ByteReader& in, uint64_t count, std::vector<float>* values) {
  const auto raw = in.ReadBytes(count * sizeof(float));
  if (!raw) {
    return false;
  }
  values->resize(count);
  if (count > 0) {
    std::memcpy(values->data(), raw->data(), raw->size());
  }
  return std::ranges::all_of(*values, [](float value) { return std::isfinite(value); });
}

bool ReadResponses(ByteReader& in, std::vector<std::string>* responses) {
  const auto count = in.Read<uint32_t>();
  if (!count || *count > limits::kMaxMemoryResponses) {
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
    responses->emplace_back(AsText(*id));
  }
  return true;
}

bool ReadNumbers(ByteReader& in, inference::train::EwcMemory* ewc) {
  const auto count = in.Read<uint64_t>();
  if (!count || *count > limits::kMaxTrainedParameters ||
      *count != in.remaining() / (2 * sizeof(float)) || in.remaining() % (2 * sizeof(float)) != 0) {
    return false;
  }
  std::vector<float> fisher;
  if (!ReadFloats(in, *count, &ewc->anchor) || !ReadFloats(in, *count, &fisher)) {
    return false;
  }
  ewc->fisher.assign(fisher.begin(), fisher.end());
  return std::ranges::all_of(fisher,
                             [](float value) { return value >= 0 && !std::signbit(value); });
}

// A memory must hold nothing from a user who was erased. A lesson that newer ones displaced looks
// the same as an erased one, so it costs the memory, too.
bool SomeAreGone(const storage::TrajectoryStore& trajectories,
                 const std::vector<std::string>& responses) {
  return std::ranges::any_of(responses, [&](const std::string& response) {
    return absl::IsNotFound(trajectories.Get(response).status());
  });
}

void RemoveFile(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) {
    LogWarning("{} cannot be deleted: {}", path, error.message());
  }
}

}  // namespace

bool DeepMemory::operator==(const DeepMemory& other) const {
  return version == other.version && adapter == other.adapter && responses == other.responses &&
         ewc.anchor == other.ewc.anchor && ewc.fisher == other.ewc.fisher;
}

std::string EncodeDeepMemory(const DeepMemory& memory) {
  ByteWriter out;
  out.WriteText(kDeepMemoryMagic)
      .Write(kDeepMemoryFormat)
      .Write(memory.version)
      .WriteBytes(memory.adapter);
  out.Write(static_cast<uint32_t>(memory.responses.size()));
  for (const std::string& response : memory.responses) {
    out.Write(static_cast<uint16_t>(response.size())).WriteText(response);
  }
  const std::vector<float> fisher(memory.ewc.fisher.begin(), memory.ewc.fisher.end());
  out.Write(static_cast<uint64_t>(memory.ewc.anchor.size()));
  WriteFloats(memory.ewc.anchor, &out);
  WriteFloats(fisher, &out);
  return out.Take();
}

absl::StatusOr<DeepMemory> DecodeDeepMemory(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.ReadBytes(kDeepMemoryMagic.size());
  const auto format = in.Read<uint32_t>();
  const auto version = in.Read<uint32_t>();
  const auto adapter = in.ReadArray<sizeof(Digest)>();
  if (!magic || AsText(*magic) != kDeepMemoryMagic || format != kDeepMemoryFormat || !adapter) {
    return NoMemory();
  }
  DeepMemory memory{.version = *version, .adapter = *adapter};
  if (!ReadResponses(in, &memory.responses) || !ReadNumbers(in, &memory.ewc)) {
    return NoMemory();
  }
  return memory;
}

std::string DeepMemories::PathOf(uint32_t version) const {
  return fmt::format("{}/{}{}", folder_, kPrefix, version);
}

std::vector<uint32_t> DeepMemories::Versions() const {
  std::vector<uint32_t> versions;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = file.path().filename().string();
    uint32_t version = 0;
    const char* const end = name.data() + name.size();
    if (name.starts_with(kPrefix) &&
        std::from_chars(name.data() + kPrefix.size(), end, version).ptr == end) {
      versions.push_back(version);
    }
  }
  return versions;
}

absl::Status DeepMemories::Keep(const DeepMemory& memory) const {
  const std::string key = fmt::format("deep-memory-{}", memory.version);
  const std::string bytes = EncodeDeepMemory(memory);
  if (bytes.size() > limits::kMaxDeepMemoryBytes ||
      memory.responses.size() > limits::kMaxMemoryResponses) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the memory of deep@{} has {} bytes of {} and {} responses of {}; choose "
                 "an experimental.deep_guard without ewc",
                 memory.version, bytes.size(), limits::kMaxDeepMemoryBytes, memory.responses.size(),
                 limits::kMaxMemoryResponses);
  }
  return WriteFileAtomically(PathOf(memory.version), key_.Seal(ContextOf(key), bytes), 0600);
}

std::optional<DeepMemory> DeepMemories::Find(uint32_t version) const {
  const std::string path = PathOf(version);
  const absl::StatusOr<std::string> sealed =
      ReadFile(path, limits::kMaxDeepMemoryBytes + privacy::kSealOverheadBytes);
  if (absl::IsNotFound(sealed.status())) {
    return std::nullopt;
  }
  const std::string key = fmt::format("deep-memory-{}", version);
  absl::StatusOr<std::string> bytes =
      sealed.ok() ? key_.Open(ContextOf(key), *sealed) : sealed.status();
  absl::StatusOr<DeepMemory> memory =
      bytes.ok() ? DecodeDeepMemory(AsBytes(*bytes)) : bytes.status();
  if (memory.ok() && memory->version == version) {
    return *std::move(memory);
  }
  LogWarning("the EWC++ memory of deep@{} cannot be used, so the next round runs without it: {}",
             version, MessageOf(memory.ok() ? NoMemory() : memory.status()));
  if (sealed.ok()) {  // the file will not become readable
    RemoveFile(path);
  }
  return std::nullopt;
}

void DeepMemories::Sweep(const std::function<bool(uint32_t version)>& wanted,
                         const storage::TrajectoryStore& trajectories) const {
  for (const uint32_t version : Versions()) {
    if (!wanted(version)) {
      RemoveFile(PathOf(version));
      continue;
    }
    const std::optional<DeepMemory> memory = Find(version);
    if (memory && SomeAreGone(trajectories, memory->responses)) {
      LogInfo(
          "the EWC++ memory of deep@{} is removed, because lessons of users in it left the store",
          version);
      RemoveFile(PathOf(version));
    }
  }
}

}  // namespace ruvd::learning
