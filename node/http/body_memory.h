// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "node/transport/peer_address.h"

namespace ruvd::http {

// The memory of the bodies that are arriving or are being worked on. A body counts by the bytes of
// it that have come and not by what its head announces, and all bodies of one source together have
// a part of the memory only: otherwise one caller could hold it without sending much. Not
// thread-safe.
class BodyMemory {
 public:
  BodyMemory(size_t most, size_t most_of_source) : most_(most), most_of_source_(most_of_source) {}

  // The part that one request has. It borrows the memory.
  class Share {
   public:
    Share(BodyMemory& memory, const transport::PeerSource& source)
        : memory_(memory), source_(source) {}
    ~Share() { Become(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    // Returns false, and gives the whole share back, if it would grow above what there is for all
    // or for its source: so one body ends, and not each that grows beside it.
    bool Become(size_t bytes) {
      const bool has_room = memory_.Replace(source_, bytes_, bytes);
      if (!has_room) {
        memory_.Replace(source_, bytes_, 0);
      }
      bytes_ = has_room ? bytes : 0;
      return has_room;
    }

   private:
    BodyMemory& memory_;
    const transport::PeerSource source_;
    size_t bytes_ = 0;
  };

  size_t taken() const { return taken_; }

 private:
  bool Replace(const transport::PeerSource& source, size_t before, size_t after) {
    const auto found = of_source_.find(source);
    const size_t of_source = (found == of_source_.end() ? 0 : found->second) - before + after;
    const size_t all = taken_ - before + after;
    if (after > before && (all > most_ || of_source > most_of_source_)) {
      return false;
    }
    taken_ = all;
    if (of_source > 0) {
      of_source_[source] = of_source;
    } else if (found != of_source_.end()) {
      of_source_.erase(found);
    }
    return true;
  }

  const size_t most_;
  const size_t most_of_source_;
  size_t taken_ = 0;
  std::map<transport::PeerSource, size_t> of_source_;  // of each that has any
};

}  // namespace ruvd::http
