// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ruvd::http {

inline constexpr char kJsonType[] = "application/json";
inline constexpr char kTextType[] = "text/plain; charset=utf-8";
inline constexpr char kEventStreamType[] = "text/event-stream";

// A whole answer. The server adds the length, the date and what concerns the connection.
struct Answer {
  int status = 200;
  std::string content_type = kJsonType;
  std::string body = {};
  // More fields, such as {"Retry-After", "1"}; no line breaks
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// One request, as the handler that answers it sees it: either Respond once, or BeginStream, Send
// any number of times, and EndStream. What is dropped without an answer is answered with 500.
// Thread-safe, and no call blocks. It may outlive the server.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Answers with all that there is to say. Does nothing if an answer was begun.
  virtual void Respond(Answer answer) = 0;
  // Begins an answer (200) that comes in pieces. Does nothing if an answer was begun. A stream of
  // the type kEventStreamType that is silent gets comments, so that no proxy takes it for dead.
  virtual void BeginStream(std::string content_type) = 0;
  // Sends one piece. Returns false if it can never arrive: the caller is gone, or reads so slowly
  // that more than limits::kMaxHttpUnsentBytes wait.
  virtual bool Send(std::string piece) = 0;
  virtual void EndStream() = 0;
  // Ends a stream whose last piece tells of an error. `status` is the one that the error would have
  // had before the stream; metrics show it.
  virtual void FailStream(int status) = 0;
  // Returns true once no answer is wanted any more.
  virtual bool is_gone() const = 0;
  // Returns whether pieces wait that were not written to the connection yet.
  virtual bool is_behind() const = 0;
};

}  // namespace ruvd::http
