// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ruvd::client {

// The messages of a call that sends a file: one that describes it, and then its bytes in pieces.
// `Request` has a field `data` for a piece. Not thread-safe.
template <typename Request>
class FileMessages {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;

  // `bytes` must outlive this.
  FileMessages(Request header, std::string_view bytes)
      : header_(std::move(header)), bytes_(bytes) {}

  // Writes the next message into `message`; returns false if there are no more.
  bool Next(Request* message) {
    if (!std::exchange(begun_, true)) {
      *message = std::move(header_);
      return true;
    }
    if (bytes_.empty()) {
      return false;
    }
    const size_t size = std::min(bytes_.size(), kPieceBytes);
    message->set_data(std::string(bytes_.substr(0, size)));
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  Request header_;
  std::string_view bytes_;  // that are still to be sent
  bool begun_ = false;
};

}  // namespace ruvd::client
