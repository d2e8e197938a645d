// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"

namespace ruvd::campaign {

// A disk whose power can be cut. It passes everything on to the real disk and remembers what is
// durable: bytes up to a file's last fsync, names up to their folder's last fsync. From the cut on
// it drops what is written. Apply() then changes the real folder into what a machine may find after
// such a cut: unsynced bytes are dropped, kept in part, or torn by sectors; unsynced names are gone
// or there; unsynced renames and removals happened or did not.
class PowerCutFiles final : public rocksdb::FileSystemWrapper {
 public:
  // The power fails with the `operations`-th write, fsync, rename or removal from now. `trash` is a
  // folder on the same disk for removed files that may come back.
  PowerCutFiles(std::string folder, std::string trash, uint64_t operations);

  bool dead() const { return dead_.load(); }
  void Cut() { dead_.store(true); }
  // Must be called after the store is closed.
  void Apply(Random& random);

  const char* Name() const override { return "ruvd.PowerCutFiles"; }
  using Context = rocksdb::IODebugContext*;
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    Context debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    Context debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 Context debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               Context debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, Context debug) override;

  // Called by the files it opened. Counts an operation; returns false once the power is off.
  bool Alive();
  void Wrote(const std::string& name, uint64_t size);
  void Synced(const std::string& name);
  void SyncedFolder();

 private:
  struct File {
    uint64_t size = 0;
    uint64_t synced = 0;
    bool name_durable = false;
    bool in_place = false;
    std::string before;  // in place: the contents as of the last fsync
  };
  struct Removal {
    std::string path;
    std::string kept;  // where its bytes still are
  };
  struct Rename {
    std::string from;
    std::string to;
    std::string kept;  // the bytes that `to` named before; empty: it did not exist
  };
  std::string KeepBytes(const std::string& path);
  void ApplyBytes(const std::string& path, const File& file, Random& random);
  void ApplyNames(Random& random);

  const std::string folder_;
  const std::string trash_;
  std::atomic<uint64_t> left_;
  std::atomic<bool> dead_{false};
  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::vector<Removal> removals_;
  std::vector<Rename> renames_;
  uint64_t kept_ = 0;
};

}  // namespace ruvd::campaign
