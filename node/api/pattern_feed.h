// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/executor.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {

// The streams of WatchPatterns. A stream reads the store's own log of changes, a page at a time and
// only while its caller takes what it gets: the log is the buffer, so a slow caller costs one page
// of memory and holds up nobody. One that is behind what the log keeps gets one error with the
// number of the change from which it can go on. Thread-safe.
class PatternFeed {
 public:
  struct Options {
    storage::PatternStore* patterns = nullptr;  // outlives the feed
    Executor* executor = nullptr;  // wakes streams; writers of patterns never wait for them
    size_t max_streams = 0;        // more are refused with RESOURCE_EXHAUSTED
    size_t page = 0;               // changes in memory for each stream
    uint64_t log_id = 0;           // StoreLife: whose changes are numbered
  };
  // Becomes the store's change listener.
  explicit PatternFeed(const Options& options);
  // Every stream has ended by then: destroy the server first.
  ~PatternFeed();
  PatternFeed(const PatternFeed&) = delete;
  PatternFeed& operator=(const PatternFeed&) = delete;

  using Reactor = grpc::ServerWriteReactor<pattern::v1::WatchPatternsResponse>;
  // Begins a stream; it belongs to gRPC and ends by itself.
  Reactor* Watch(const pattern::v1::WatchPatternsRequest& request);

  // Ends every stream with UNAVAILABLE (NODE_DRAINING) and refuses new ones. Idempotent.
  void Close();

  // Streams that have not ended.
  size_t size() const;

 private:
  class Stream;
  class Hub;
  const std::shared_ptr<Hub> hub_;
};

}  // namespace ruvd::api
