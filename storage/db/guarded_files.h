// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

#include "storage/db/rocks_options.h"

namespace ruvd::storage::db {

// Keeps RocksDB 7.8 from aborting the process after a write error (an assertion that Debian's build
// has: a log whose file once failed must not be touched again, yet a flush in the background does).
// The first error of a log file goes into `latch` and RocksDB is told that all is well; from then
// on nothing more is written to any log, and table files and the manifest can no longer grow, so
// that what RocksDB takes for written never becomes durable in part. Every caller of DB::Write must
// look at the latch before it acknowledges. Files outside `store`, such as those of a backup, are
// left alone: their errors are those of whoever writes them.
std::shared_ptr<rocksdb::FileSystem> MakeGuardedFiles(std::shared_ptr<rocksdb::FileSystem> files,
                                                      std::shared_ptr<FailureLatch> latch,
                                                      const std::string& store);

}  // namespace ruvd::storage::db
