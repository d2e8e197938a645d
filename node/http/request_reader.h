// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "node/http/request_head.h"

namespace ruvd::http {

// Why bytes are no request, as an answer: a status of HTTP (400, 413, 414, 417, 431, 501, 505) and
// a sentence for the caller.
struct BadRequest {
  int status = 400;
  std::string message;
};

// Reads one request of HTTP/1.1 or 1.0 from bytes, whatever pieces they come in. What two programs
// could read in two ways is refused: two lengths, a length beside chunks, another transfer coding,
// extensions of chunks, a folded field. Every limit (limits.h) is checked before memory is taken.
// Not thread-safe.
class RequestReader {
 public:
  enum class Stage : uint8_t {
    kHead,      // needs more bytes of the head
    kHeadRead,  // the head is there; call AllowBody
    kBody,      // needs more bytes of the body
    kComplete,
    kFailed,
  };

  RequestReader();
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes bytes, and returns how many; the caller shows the others again, with more behind them.
  // Takes nothing in the stages kHeadRead, kComplete and kFailed.
  size_t Feed(std::string_view bytes);
  // Goes on from kHeadRead. A body of more than `most` bytes fails with 413.
  void AllowBody(size_t most);

  Stage stage() const;
  // Returns whether any byte was taken.
  bool has_begun() const;
  // Returns the head; it is whole from kHeadRead on.
  const RequestHead& head() const;
  // Returns how many bytes of the body are kept.
  size_t body_bytes() const;
  // Returns what is there of the body, once; all of it in kComplete.
  std::string TakeBody();
  // Returns what is wrong, in kFailed.
  const BadRequest& failure() const;

 private:
  class Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace ruvd::http
