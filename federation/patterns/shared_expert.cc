// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/patterns/shared_expert.h"

#include <string_view>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

constexpr uint16_t kVersion = 1;
constexpr std::string_view kFileBegins = "GGUF";

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "expert {}; its sender must use this cluster's model and version", what);
}

}  // namespace

absl::Status CheckSharedExpert(const SharedExpert& expert) {
  if (expert.version == 0 || expert.lessons == 0 || expert.created_ms <= 0) {
    return Invalid("has no version, no lessons or no creation time");
  }
  if (!expert.file.starts_with(kFileBegins)) {
    return Invalid("does not contain an adapter file in the format GGUF");
  }
  return absl::OkStatus();
}

std::string EncodeSharedExpert(const SharedExpert& expert) {
  ByteWriter writer;
  writer.Write(kVersion).Write(expert.version).Write(expert.lessons).Write(expert.created_ms);
  writer.Write(static_cast<uint32_t>(expert.file.size())).WriteText(expert.file);
  return writer.Take();
}

absl::StatusOr<SharedExpert> DecodeSharedExpert(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto payload_version = reader.Read<uint16_t>();
  const auto version = reader.Read<uint32_t>();
  const auto lessons = reader.Read<uint32_t>();
  const auto created_ms = reader.Read<int64_t>();
  const auto length = reader.Read<uint32_t>();
  if (payload_version && *payload_version != kVersion) {
    return Invalid(fmt::format("has payload version {} instead of {}", *payload_version, kVersion));
  }
  const auto file = reader.ReadBytes(length.value_or(0));
  if (reader.failed() || !file || reader.remaining() != 0) {
    return Invalid("is truncated, or has extra bytes after its end");
  }
  return SharedExpert{.version = *version,
                      .lessons = *lessons,
                      .created_ms = *created_ms,
                      .file = std::string(AsText(*file))};
}

}  // namespace ruvd::federation
