// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/http/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "node/http/limits.h"

namespace ruvd::http {
namespace {

using ::testing::HasSubstr;
using Stage = RequestReader::Stage;

constexpr std::string_view kPost =
    "POST /v1/models?x=1 HTTP/1.1\r\nHost: node:1\r\nContent-Type: application/json\r\n"
    "Authorization: Bearer k\r\n";

// Feeds a whole request, `step` bytes at a time, and allows a body when the head is there.
size_t FeedAll(RequestReader& reader, std::string_view bytes, size_t step = 1 << 20,
               size_t most = 1 << 10) {
  size_t used = 0;
  for (size_t shown = 0; shown < bytes.size();) {
    shown = std::min(shown + step, bytes.size());
    for (size_t more = 1; more > 0;) {
      more = reader.Feed(bytes.substr(used, shown - used));
      used += more;
      if (reader.stage() == Stage::kHeadRead) {
        reader.AllowBody(most);
        more = 1;
      }
    }
  }
  return used;
}

int StatusOf(const std::string& request, size_t most = 1 << 10) {
  int status = -1;
  for (const size_t step : {size_t{1}, size_t{7}, request.size()}) {
    RequestReader reader;
    FeedAll(reader, request, step, most);
    const int now = reader.stage() == Stage::kFailed     ? reader.failure().status
                    : reader.stage() == Stage::kComplete ? 200
                                                         : 0;
    EXPECT_TRUE(status == -1 || status == now) << "in pieces of " << step;
    status = now;
  }
  return status;
}

TEST(RequestReaderTest, ReadsAHeadAndABodyWhateverPiecesTheyComeIn) {
  const std::string request = std::string(kPost) + "Content-Length: 5\r\n\r\nhelloGET";
  for (const size_t step : {1, 3, 1000}) {
    RequestReader reader;
    EXPECT_EQ(FeedAll(reader, request, step), request.size() - 3) << "the next request is kept";
    ASSERT_EQ(reader.stage(), Stage::kComplete);
    EXPECT_EQ(reader.head().method, "POST");
    EXPECT_EQ(reader.head().path, "/v1/models");
    EXPECT_EQ(reader.head().query, "x=1");
    EXPECT_EQ(reader.head().host, "node:1");
    EXPECT_EQ(reader.head().authorization, "Bearer k");
    EXPECT_EQ(reader.head().content_length, 5);
    EXPECT_TRUE(reader.head().keep_alive);
    EXPECT_EQ(reader.TakeBody(), "hello");
  }
}

TEST(RequestReaderTest, ReadsChunksUpToTheLimit) {
  const std::string head = std::string(kPost) + "Transfer-Encoding: chunked\r\n\r\n";
  RequestReader reader;
  FeedAll(reader, head + "3\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n", 1);
  ASSERT_EQ(reader.stage(), Stage::kComplete);
  EXPECT_EQ(reader.TakeBody(), "hello");
  EXPECT_EQ(StatusOf(head + "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 5), 200);
  EXPECT_EQ(StatusOf(head + "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 4), 413);
  EXPECT_EQ(StatusOf(head + "ffffffffffff\r\nhel"), 413);
}

TEST(RequestReaderTest, RefusesWhatTwoProgramsCouldReadInTwoWays) {
  const std::string post(kPost);
  EXPECT_EQ(StatusOf(post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), 400);
  EXPECT_EQ(StatusOf(post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), 400);
  EXPECT_EQ(StatusOf(post + "Content-Length: 5, 5\r\n\r\nhello"), 400);
  EXPECT_EQ(StatusOf(post + "Content-Length: +5\r\n\r\nhello"), 400);
  EXPECT_EQ(StatusOf(post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(StatusOf(post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(StatusOf(post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"), 501);
  EXPECT_EQ(StatusOf(post + "Transfer-Encoding: gzip\r\n\r\nxx"), 501);
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(StatusOf(chunked + "x\r\n"), 400);
  EXPECT_EQ(StatusOf(chunked + "1;a=b\r\nx\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400) << "no host";
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(StatusOf("\x16\x03\x01\x02"
                     "garbage\r\n\r\n"),
            400);
}

TEST(RequestReaderTest, HeadsHaveALargestSizeAndNumberOfFields) {
  const std::string line = "GET / HTTP/1.1\r\nHost: a\r\n";
  std::string many = line;
  for (int i = 0; i < 10'000; ++i) {
    many += "X: y\r\n";
  }
  EXPECT_EQ(StatusOf(many + "\r\n"), 431);
  EXPECT_EQ(StatusOf(line + "X: " + std::string(limits::kMaxHttpHeadBytes, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(StatusOf("GET /" + std::string(limits::kMaxHttpHeadBytes, 'x')), 431);
  EXPECT_EQ(StatusOf("GET /" + std::string(limits::kMaxHttpTargetBytes, 'x') +
                     " HTTP/1.1\r\nHost: a\r\n\r\n"),
            414);
  EXPECT_EQ(StatusOf(line + "X: " + std::string(20'000, 'x') + "\r\n\r\n"), 200);
}

TEST(RequestReaderTest, ABodyThatIsTooLargeIsRefusedByItsLength) {
  RequestReader reader;
  const std::string head = std::string(kPost) + "Content-Length: 1025\r\n\r\n";
  FeedAll(reader, head);
  ASSERT_EQ(reader.stage(), Stage::kFailed) << "before a byte of it came";
  EXPECT_EQ(reader.failure().status, 413);
  EXPECT_THAT(reader.failure().message, HasSubstr("1024"));
}

}  // namespace
}  // namespace ruvd::http
