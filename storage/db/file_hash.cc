// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/file_hash.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::storage::db {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 1 << 20;
constexpr uint32_t kFileMode = 0600;

absl::Status Unreadable(const std::string& path) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
               "cannot read {}; check the folder and its permissions", path);
}

// Calls `piece` with one part of the file after the other.
template <typename Piece>
absl::Status ReadPieces(const std::string& path, const Piece& piece) {
  std::error_code error;
  const bool regular = fs::is_regular_file(path, error);  // to open a pipe would wait for a writer
  std::ifstream in;
  if (regular) {
    in.open(path, std::ios::binary);
  }
  if (!in.is_open()) {
    return Unreadable(path);
  }
  std::string buffer(kPieceBytes, '\0');
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    RETURN_IF_ERROR(piece(AsBytes(buffer).first(static_cast<size_t>(in.gcount()))));
  }
  return in.bad() ? Unreadable(path) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<BackupManifest::File> HashFile(const std::string& folder, const std::string& name) {
  privacy::InitSodium();
  BackupManifest::File file{.name = name};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, file.blake2b.size());
  RETURN_IF_ERROR(ReadPieces(folder + "/" + name, [&](std::span<const uint8_t> piece) {
    crypto_generichash_update(&state, piece.data(), piece.size());
    file.size += piece.size();
    return absl::OkStatus();
  }));
  crypto_generichash_final(&state, file.blake2b.data(), file.blake2b.size());
  return file;
}

absl::StatusOr<std::vector<std::string>> StoreFiles(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const std::string name = entries->path().filename();
    if (!name.starts_with("LOG") && name != "LOCK" && name != "ruvd.lock") {
      names.push_back(name);
    }
  }
  if (error) {
    return Unreadable(folder);
  }
  std::ranges::sort(names);
  return names;
}

absl::Status CopyFileDurably(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> copy, AtomicFile::Create(to, kFileMode));
  RETURN_IF_ERROR(
      ReadPieces(from, [&](std::span<const uint8_t> piece) { return copy->Append(piece); }));
  return copy->Commit();
}

absl::Status SyncFolder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int result = fd < 0 ? -1 : ::fsync(fd);
  const int cause = errno;
  if (fd >= 0) {
    ::close(fd);
  }
  return result == 0
             ? absl::OkStatus()
             : Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                     "cannot sync the folder {}: {}; check the disk", folder, std::strerror(cause));
}

std::optional<uint64_t> ReadBootCounter(const std::string& store) {
  const absl::StatusOr<std::string> text = ReadFile(store + "/boot-counter", 32);
  if (!text.ok()) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, value);
  const bool whole = error == std::errc() && std::string_view(stopped, end) == "\n";
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace ruvd::storage::db
