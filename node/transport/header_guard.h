// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace ruvd::transport {

// What gRPC may read of one header block: the HEADERS frame and its CONTINUATION frames (RFC 9113,
// section 4.3). gRPC takes no more than 8 KiB of headers, but says so only at the end of a block,
// and a block has no end that it insists on. It reads all that it holds of an unfinished string
// again with every frame, or part of a frame, that comes (CVE-2023-33953).
inline constexpr size_t kMaxHeaderBlockBytes = size_t{64} << 10;
// Bytes that are read for one block, repetitions included. A block of the size above in packets of
// 1,460 bytes takes 1.5 MiB.
inline constexpr size_t kMaxHeaderBlockReads = size_t{4} << 20;
// The least that a part of a block counts, so that an endless number of empty ones is too much.
inline constexpr size_t kLeastHeaderPart = 64;

// Counts what the header blocks of connections cost to read, and says when one costs too much. A
// connection is named by the address of its parser. Thread-safe.
class HeaderBlocks {
 public:
  // Notes that a frame of a block begins. `is_last` says that its block ends with it.
  void Begin(const void* parser, bool is_last);
  // Counts a part of the frame; `ends_frame` says that it is the last one. Returns false if the
  // block has become too large or too costly; the connection has to end then.
  bool Admit(const void* parser, size_t bytes, bool ends_frame);
  // Forgets a connection that has ended.
  void Forget(const void* parser);

  // Returns how many blocks were too large or too costly.
  uint64_t refused() const;
  // Return how many blocks are unfinished now, and how many bytes they have.
  size_t open() const;
  size_t open_bytes() const;

 private:
  struct Block {
    size_t bytes = 0;
    size_t reads = 0;
    bool ends = false;  // with the frame that is read now
  };
  mutable Mutex mutex_;
  std::map<const void*, Block> blocks_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns the blocks of all connections of this process, in which it is a server or a client. gRPC
// 1.51 has no setting for what a block may cost, so header_guard.cc puts three functions in front
// of those of the shared library that read headers; the dynamic linker finds those of the program
// first. All connections are held within the limits from the start of the process.
HeaderBlocks& ProcessHeaderBlocks();

// Returns whether gRPC asks those functions. False where gRPC is another version, is linked
// statically, or was built so that it calls its own functions directly: then nothing limits a
// header block but the limits of its connection (ConnectionLimits).
bool HeadersAreGuarded();

}  // namespace ruvd::transport
