// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

#include "storage/db/rocks_options.h"

namespace ruvd::storage::db {

// Keeps RocksDB 7.8 from aborting the process after a write error. Debian's build has an assertion:
// a log whose file once failed must not be touched again, yet a background flush touches it. The
// first error of a log file goes into `latch`, and RocksDB is told that the write succeeded. From
// then on nothing is written to any log, and table files and the manifest cannot grow, so that
// nothing RocksDB takes for written becomes durable in part. Every caller of DB::Write must check
// the latch before it acknowledges. Files outside `store`, such as those of a backup, are not
// guarded: their writers handle the errors.
std::shared_ptr<rocksdb::FileSystem> MakeGuardedFiles(std::shared_ptr<rocksdb::FileSystem> files,
                                                      std::shared_ptr<FailureLatch> latch,
                                                      const std::string& store);

}  // namespace ruvd::storage::db
