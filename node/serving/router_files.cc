// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/router_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/router/limits.h"
#include "storage/db/column_family.h"

namespace ruvd::serving {
namespace {

constexpr std::string_view kMagic = "RVNR";
constexpr uint16_t kFormat = 1;
constexpr uint64_t kHeadBytes = 4 + 2 + 8 + 4;
constexpr std::string_view kStateMagic = "RVNS";
constexpr uint64_t kStateBytes = 4 + 2 + 1 + 8 + 8 + 8;
constexpr std::string_view kFilePrefix = "router-";

// The seal includes the version, so that a file cannot replace that of another version.
privacy::SealContext ContextOf(uint32_t version) {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = "router",
          .schema = kFormat,
          .generation = version};
}

// The kinds of scorers that a node's router may have.
bool IsScorerKind(uint8_t number) {
  const auto kind = static_cast<inference::ScorerKind>(number);
  return kind == inference::ScorerKind::kLogistic || kind == inference::ScorerKind::kFastGrnn ||
         kind == inference::ScorerKind::kCascade;
}

privacy::SealContext StateContext() {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = "router-state",
          .schema = kFormat};
}

std::optional<uint32_t> VersionOf(std::string_view name) {
  if (!name.starts_with(kFilePrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kFilePrefix.size());
  uint32_t version = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  return error == std::errc() && end == name.data() + name.size() && version > 0
             ? std::optional(version)
             : std::nullopt;
}

}  // namespace

std::string EncodeStoredRouter(const StoredRouter& stored) {
  ByteWriter out;
  out.WriteText(kMagic).Write(kFormat).Write(stored.trained_ms).Write(stored.outcomes);
  return out.WriteText(stored.router->Serialize()).Take();
}

absl::StatusOr<StoredRouter> DecodeStoredRouter(std::string_view bytes,
                                                const inference::RouterOptions& options) {
  ByteReader in(AsBytes(bytes));
  const auto magic = in.ReadBytes(kMagic.size());
  const auto format = in.Read<uint16_t>();
  const auto trained_ms = in.Read<int64_t>();
  const auto outcomes = in.Read<uint32_t>();
  if (!magic || AsText(*magic) != kMagic || format != kFormat || !trained_ms || *trained_ms < 0 ||
      !outcomes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "these bytes are not a stored router; train the router again");
  }
  ASSIGN_OR_RETURN(inference::Router router,
                   inference::Router::Parse(bytes.substr(kHeadBytes), options));
  return StoredRouter{.trained_ms = *trained_ms,
                      .outcomes = *outcomes,
                      .router = std::make_shared<const inference::Router>(std::move(router))};
}

std::string EncodeTrainingState(const RouterTrainingState& state) {
  ByteWriter out;
  out.WriteText(kStateMagic).Write(kFormat).Write(static_cast<uint8_t>(state.kind));
  return out.Write(state.trained_ms).Write(state.outcomes).Write(state.counted_from).Take();
}

absl::StatusOr<RouterTrainingState> DecodeTrainingState(std::string_view bytes) {
  ByteReader in(AsBytes(bytes));
  const auto magic = in.ReadBytes(kStateMagic.size());
  const auto format = in.Read<uint16_t>();
  const auto kind = in.Read<uint8_t>();
  const auto trained_ms = in.Read<int64_t>();
  const auto outcomes = in.Read<uint64_t>();
  const auto counted_from = in.Read<int64_t>();
  if (bytes.size() != kStateBytes || AsText(*magic) != kStateMagic || format != kFormat ||
      !IsScorerKind(*kind) || *trained_ms < 0 || *counted_from < 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "these bytes are not the training state of a router");
  }
  return RouterTrainingState{.kind = static_cast<inference::ScorerKind>(*kind),
                             .trained_ms = *trained_ms,
                             .outcomes = *outcomes,
                             .counted_from = *counted_from};
}

std::string RouterFiles::PathOf(uint32_t version) const {
  return fmt::format("{}/{}{}", folder_, kFilePrefix, version);
}

std::string RouterFiles::StatePath() const {
  return fmt::format("{}/{}state", folder_, kFilePrefix);
}

std::vector<uint32_t> RouterFiles::Versions() const {
  std::error_code error;
  std::vector<uint32_t> versions;
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
    if (const auto version = VersionOf(file.path().filename().string())) {
      versions.push_back(*version);
    }
  }
  std::ranges::sort(versions);
  return versions;
}

absl::StatusOr<StoredRouter> RouterFiles::Read(uint32_t version) const {
  constexpr uint64_t kMostBytes =
      limits::kMaxRouterBytes + kHeadBytes + privacy::kSealOverheadBytes;
  ASSIGN_OR_RETURN(const std::string sealed, ReadFile(PathOf(version), kMostBytes));
  ASSIGN_OR_RETURN(const std::string bytes, key_.Open(ContextOf(version), sealed));
  return DecodeStoredRouter(bytes, options_);
}

absl::StatusOr<RouterTrainingState> RouterFiles::ReadState() const {
  std::error_code error;
  if (!std::filesystem::exists(StatePath(), error)) {
    return RouterTrainingState{};
  }
  ASSIGN_OR_RETURN(const std::string sealed,
                   ReadFile(StatePath(), kStateBytes + privacy::kSealOverheadBytes));
  ASSIGN_OR_RETURN(const std::string bytes, key_.Open(StateContext(), sealed));
  return DecodeTrainingState(bytes);
}

absl::Status RouterFiles::WriteState(const RouterTrainingState& state) {
  return WriteFileAtomically(StatePath(), key_.Seal(StateContext(), EncodeTrainingState(state)),
                             0600);
}

absl::Status RouterFiles::Write(uint32_t version, const StoredRouter& stored) {
  RETURN_IF_ERROR(WriteFileAtomically(
      PathOf(version), key_.Seal(ContextOf(version), EncodeStoredRouter(stored)), 0600));
  const std::vector<uint32_t> versions = Versions();
  for (size_t i = 0; i + kKept < versions.size(); ++i) {
    Remove(versions[i]).IgnoreError();  // the next write tries again
  }
  return absl::OkStatus();
}

absl::Status RouterFiles::Remove(uint32_t version) {
  std::error_code error;
  const bool removed = std::filesystem::remove(PathOf(version), error);
  if (error) {
    return FileWriteError(PathOf(version), error.value());
  }
  return removed ? absl::OkStatus()
                 : Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                         "version {} of the router no longer exists", version);
}

}  // namespace ruvd::serving
