// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/executor.h"
#include "node/transport/grpc_types.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {

// The streams of WatchPatterns. A stream reads the store's log of changes one page at a time, and
// only as fast as its caller reads. The log is the buffer, so a slow caller needs one page of
// memory and delays no other caller. A stream that falls behind the beginning of the log gets an
// error with the number of the change from which it can continue. Thread-safe.
class PatternFeed {
 public:
  struct Options {
    storage::PatternStore* patterns = nullptr;  // must outlive the feed
    Executor* executor =
        nullptr;             // wakes the streams, so that writers of patterns never wait for them
    size_t max_streams = 0;  // further streams are refused with RESOURCE_EXHAUSTED
    size_t page = 0;         // changes in memory per stream
    uint64_t log_id =
        0;  // id of the log (StoreIncarnation), to which the numbers of changes belong
  };
  // Becomes the store's change listener.
  explicit PatternFeed(const Options& options);
  // All streams must have ended: destroy the server first.
  ~PatternFeed();
  PatternFeed(const PatternFeed&) = delete;
  PatternFeed& operator=(const PatternFeed&) = delete;

  using Reactor = grpc::ServerWriteReactor<pattern::v1::WatchPatternsResponse>;
  // Begins a stream; it belongs to gRPC and ends by itself. It holds `held` until then; an error
  // ends it at once.
  Reactor* Watch(const pattern::v1::WatchPatternsRequest& request,
                 absl::StatusOr<std::shared_ptr<const void>> held = nullptr);

  // Ends every stream with UNAVAILABLE (NODE_DRAINING) and refuses new ones. Idempotent.
  void Close();

  // Returns the number of streams that have not ended.
  size_t size() const;

 private:
  class Stream;
  class Hub;
  const std::shared_ptr<Hub> hub_;
};

}  // namespace ruvd::api
