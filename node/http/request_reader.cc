// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/http/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "node/http/limits.h"

namespace ruvd::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using Field = beast::http::field;
using ParseError = beast::http::error;

std::string_view ViewOf(beast::string_view text) {
  return {text.data(), text.size()};
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// What the parser's own error means.
BadRequest Meaning(const error_code& error) {
  if (error == ParseError::header_limit || error == ParseError::buffer_overflow) {
    return {431, fmt::format("the head of the request has more than {} bytes; send fewer or "
                             "shorter fields",
                             limits::kMaxHttpHeadBytes)};
  }
  if (error == ParseError::bad_version) {
    return {505, "the version of HTTP is unknown here; use HTTP/1.1"};
  }
  if (error == ParseError::bad_content_length || error == ParseError::multiple_content_length ||
      error == ParseError::bad_transfer_encoding) {
    return {400, "the request has no single length; send one Content-Length, or chunks"};
  }
  if (error == ParseError::bad_chunk || error == ParseError::bad_chunk_extension) {
    return {400, "a chunk of the body is malformed; send one Content-Length in place of chunks"};
  }
  return {400, "the request is malformed; send HTTP/1.1"};
}

}  // namespace

// Beast calls this for each part of the request. It keeps what RequestHead needs and no more.
class RequestReader::Parser final : public beast::http::basic_parser<true> {
 public:
  Parser() {
    header_limit(limits::kMaxHttpHeadBytes);
    body_limit(boost::none);  // AllowBody says which one holds
  }

  size_t Take(std::string_view bytes) {
    if (stage == Stage::kHead && taken_ + bytes.size() > limits::kMaxHttpHeadBytes) {
      // What is more belongs to the body, or is too much.
      bytes = bytes.substr(0, limits::kMaxHttpHeadBytes - taken_);
    }
    if (WaitsForLastChunk(bytes)) {
      return 0;
    }
    error_code error;
    const bool was_head = stage == Stage::kHead;
    const size_t used = put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    taken_ += used;
    if (was_head && IsFolded(bytes.substr(0, used))) {
      Fail({400, "a field of the head goes on in the next line; send each in one line"});
      return 0;
    }
    if (error == ParseError::need_more) {
      if (stage == Stage::kHead && taken_ - used + bytes.size() >= limits::kMaxHttpHeadBytes) {
        Fail(Meaning(ParseError::header_limit));
      } else if (used == 0 && bytes.size() >= limits::kMaxHttpUnparsedBytes) {
        Fail(Meaning(ParseError::bad_chunk));
      }
    } else if (error) {
      Fail(failure.message.empty() ? Meaning(error) : failure);
    }
    return stage == Stage::kFailed ? 0 : used;
  }

  void AllowBody(size_t most) {
    if (head.content_length.value_or(0) > most) {
      Fail(TooLarge(most));
      return;
    }
    most_ = most;
    stage = is_done() ? Stage::kComplete : Stage::kBody;
    eager(true);
  }

  void Fail(BadRequest why) {
    failure = std::move(why);
    stage = Stage::kFailed;
    body = std::string();
  }

  bool has_begun() const { return taken_ > 0; }

  Stage stage = Stage::kHead;
  RequestHead head;
  std::string body;
  BadRequest failure;

 private:
  // Beast 1.81 holds it for certain that five bytes are there once it has seen the last chunk,
  // which is not so if that chunk is the first one.
  bool WaitsForLastChunk(std::string_view bytes) const {
    constexpr std::string_view kLast = "0\r\n\r\n";
    return stage == Stage::kBody && chunked() && !has_chunk_ && bytes.size() < kLast.size() &&
           bytes.starts_with(kLast.front());
  }
  // The parser takes a field with all its lines at once, so none is split between two calls.
  static bool IsFolded(std::string_view head) {
    return head.find("\r\n ") != head.npos || head.find("\r\n\t") != head.npos;
  }
  static BadRequest TooLarge(size_t most) {
    return {413, fmt::format("the body has more than {} bytes; send less", most)};
  }
  // Ends the parsing with an answer of our own.
  void Refuse(BadRequest why, error_code& error) {
    failure = std::move(why);
    error = ParseError::bad_field;
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, error_code& error) override {
    const std::string_view whole = ViewOf(target);
    if (whole.size() > limits::kMaxHttpTargetBytes) {
      return Refuse({414, fmt::format("the path has more than {} bytes; send a shorter one",
                                      limits::kMaxHttpTargetBytes)},
                    error);
    }
    if (!whole.starts_with('/')) {
      return Refuse({400, "the path does not begin with '/'; send it alone, without the host"},
                    error);
    }
    if (version != 11 && version != 10) {
      error = ParseError::bad_version;
      return;
    }
    const size_t end = std::min(whole.find('?'), whole.size());
    head.method = ViewOf(method);
    head.path = whole.substr(0, end);
    head.query = end < whole.size() ? whole.substr(end + 1) : "";
    head.takes_chunks = version == 11;
  }

  void on_response_impl(int, beast::string_view, int, error_code&) override {}

  void on_field_impl(Field name, beast::string_view as_sent, beast::string_view text,
                     error_code& error) override {
    if (stage != Stage::kHead) {
      return;  // a trailer, which nothing here reads
    }
    if (++fields_ > limits::kMaxHttpFields) {
      return Refuse({431, fmt::format("the request has more than {} fields; send fewer",
                                      limits::kMaxHttpFields)},
                    error);
    }
    if (name == Field::unknown &&
        absl::EqualsIgnoreCase({as_sent.data(), as_sent.size()}, "Connect-Timeout-Ms")) {
      head.connect_timeout = ViewOf(text);
    } else {
      ReadField(name, ViewOf(text), error);
    }
  }

  void ReadField(Field name, std::string_view value, error_code& error) {
    switch (name) {
      case Field::host:
        hosts_ += 1;
        head.host = value;
        break;
      case Field::content_length:
        if (++lengths_ > 1 || !IsNumber(value)) {
          error = ParseError::multiple_content_length;
        }
        break;
      case Field::transfer_encoding:
        if (!absl::EqualsIgnoreCase(absl::string_view(value.data(), value.size()), "chunked")) {
          Refuse({501, "the transfer coding is not chunked; send chunks or one Content-Length"},
                 error);
        }
        break;
      case Field::content_type:
        head.content_type = value;
        break;
      case Field::sec_fetch_site:
        head.fetch_site = value;
        break;
      case Field::content_encoding:
        head.content_encoding = value;
        break;
      case Field::authorization:
        if (head.authorization) {
          Refuse({400, "the request has two fields Authorization; send one"}, error);
        }
        head.authorization = value;
        break;
      case Field::expect:
        ReadExpect(value, error);
        break;
      default:
        break;
    }
  }

  // RFC 9110, section 10.1.1: a request of HTTP/1.0 expects nothing.
  void ReadExpect(std::string_view value, error_code& error) {
    if (!head.takes_chunks) {
      return;
    }
    head.expects_continue =
        absl::EqualsIgnoreCase(absl::string_view(value.data(), value.size()), "100-continue");
    if (!head.expects_continue) {
      Refuse({417, "the field Expect is not 100-continue; send that, or leave it out"}, error);
    }
  }

  void on_header_impl(error_code& error) override {
    if (hosts_ > 1 || (hosts_ == 0 && head.takes_chunks)) {
      return Refuse({400, "the request does not have one field Host; send it once"}, error);
    }
    head.keep_alive = keep_alive() && head.takes_chunks;  // one request of HTTP/1.0 is enough
    head.has_body = !is_done();
    if (!chunked() && content_length()) {
      head.content_length = *content_length();
    }
    stage = Stage::kHeadRead;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

  size_t Keep(beast::string_view bytes, error_code& error) {
    if (body.size() + bytes.size() > most_) {
      Refuse(TooLarge(most_), error);
      return 0;
    }
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  size_t on_body_impl(beast::string_view bytes, error_code& error) override {
    return Keep(bytes, error);
  }
  void on_chunk_header_impl(std::uint64_t size, beast::string_view extensions,
                            error_code& error) override {
    has_chunk_ = true;
    if (!extensions.empty()) {
      error = ParseError::bad_chunk_extension;
    } else if (size > most_ - body.size()) {
      Refuse(TooLarge(most_), error);
    }
  }
  size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes, error_code& error) override {
    return Keep(bytes, error);
  }
  void on_finish_impl(error_code&) override {
    if (stage == Stage::kBody) {
      stage = Stage::kComplete;
    }
  }

  size_t taken_ = 0;
  size_t fields_ = 0;
  size_t hosts_ = 0;
  size_t lengths_ = 0;
  size_t most_ = 0;
  bool has_chunk_ = false;
};

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {}
RequestReader::~RequestReader() = default;

size_t RequestReader::Feed(std::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && (stage() == Stage::kHead || stage() == Stage::kBody)) {
    const size_t more = parser_->Take(bytes.substr(used));
    if (more == 0) {
      break;
    }
    used += more;
  }
  return used;
}

void RequestReader::AllowBody(size_t most) {
  parser_->AllowBody(most);
}

RequestReader::Stage RequestReader::stage() const {
  return parser_->stage;
}

bool RequestReader::has_begun() const {
  return parser_->has_begun();
}

const RequestHead& RequestReader::head() const {
  return parser_->head;
}

size_t RequestReader::body_bytes() const {
  return parser_->body.size();
}

std::string RequestReader::TakeBody() {
  return std::exchange(parser_->body, "");
}

const BadRequest& RequestReader::failure() const {
  return parser_->failure;
}

}  // namespace ruvd::http
