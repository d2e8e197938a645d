// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The process that crash_test.cc kills or drives into a full disk: writes patterns and
// acknowledges each on stdout.
//
//   storage_crash_writer patterns STORE KEYFILE FIRST   puts patterns FIRST, FIRST + 1, ... for
//   ever storage_crash_writer fill STORE KEYFILE RESERVE     puts until a write is refused, then
//   reads

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/storage/crash_pattern.h"

namespace ruvd::storage {
namespace {

// Writes less than PIPE_BUF bytes with one write(2): the line arrives whole or not at all.
void Acknowledge(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::_exit(3);
  }
}

int Fail(const absl::Status& status) {
  Acknowledge("error " + ReasonOf(status) + " " + MessageOf(status));
  return 2;
}

struct OpenedStore {
  std::unique_ptr<Database> database;
  std::unique_ptr<PatternStore> patterns;
};

absl::StatusOr<OpenedStore> Open(const std::string& path, const std::string& key_file,
                                 uint64_t reserve) {
  ASSIGN_OR_RETURN(privacy::SealKey key, privacy::SealKey::LoadOrCreate(key_file));
  OpenedStore store;
  ASSIGN_OR_RETURN(store.database, Database::Open({.path = path,
                                                   .seal_key = std::move(key),
                                                   .soft_reserve_bytes = reserve,
                                                   .hard_reserve_bytes = reserve / 2}));
  ASSIGN_OR_RETURN(store.patterns, PatternStore::Open(*store.database, CrashPatternOptions()));
  return store;
}

int WritePatterns(OpenedStore store, uint32_t first) {
  for (uint32_t n = first;; ++n) {
    if (absl::Status status = store.patterns->Put(CrashPattern(n, 200)); !status.ok()) {
      return Fail(status);
    }
    Acknowledge("ack " + std::to_string(n));
  }
}

int FillDisk(OpenedStore store) {
  uint32_t n = 0;
  absl::Status status;
  for (;; ++n) {
    status = store.patterns->Put(CrashPattern(n, 60'000));
    if (!status.ok()) {
      break;
    }
    Acknowledge("ack " + std::to_string(n));
  }
  Acknowledge("refused " + ReasonOf(status));
  Acknowledge("health " + std::string(HealthName(store.database->Health())));
  for (uint32_t i = 0; i < n; ++i) {
    if (absl::StatusOr<Pattern> pattern = store.patterns->Get(CrashPattern(i, 0).id);
        !pattern.ok()) {
      return Fail(pattern.status());
    }
  }
  Acknowledge("reads served");
  Acknowledge("again " + ReasonOf(store.patterns->Put(CrashPattern(n, 60'000))));
  return 0;
}

int Main(int argc, char** argv) {
  uint32_t number = 0;
  if (argc != 5 ||
      std::from_chars(argv[4], argv[4] + std::strlen(argv[4]), number).ec != std::errc()) {
    std::fprintf(stderr, "usage: storage_crash_writer patterns|fill STORE KEYFILE NUMBER\n");
    return 64;
  }
  const bool fill = std::string_view(argv[1]) == "fill";
  absl::StatusOr<OpenedStore> store = Open(argv[2], argv[3], fill ? number : 0);
  if (!store.ok()) {
    return Fail(store.status());
  }
  Acknowledge("ready");
  return fill ? FillDisk(std::move(*store)) : WritePatterns(std::move(*store), number);
}

}  // namespace
}  // namespace ruvd::storage

int main(int argc, char** argv) {
  return ruvd::storage::Main(argc, argv);
}
