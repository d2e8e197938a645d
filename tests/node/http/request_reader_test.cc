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

TEST(RequestReaderTest, AnEmptyBodyInChunksMayComeInAnyPieces) {
  const std::string request = std::string(kPost) + "Transfer-Encoding: chunked\r\n\r\n";
  for (const std::string last : {"0\r\n\r\n", "000\r\n\r\n", "0\r\nTrailer: x\r\n\r\n"}) {
    for (size_t cut = 1; cut < last.size(); ++cut) {
      RequestReader reader;
      FeedAll(reader, request);
      for (const size_t shown : {cut, last.size()}) {
        const size_t used = reader.Feed(std::string_view(last).substr(0, shown));
        EXPECT_TRUE(used == 0 || shown == last.size()) << last << cut;
      }
      EXPECT_EQ(reader.stage(), Stage::kComplete) << last << cut;
    }
    EXPECT_EQ(StatusOf(request + last), 200);
  }
}

TEST(RequestReaderTest, AFoldedFieldIsRefused) {
  const std::string line = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(StatusOf(line + "X: y\r\n z\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf(line + "X: y\r\n\tz\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf(line + "X: y\r\n\r\n y"), 200) << "what follows is another request";
}

TEST(RequestReaderTest, OnlyARequestOfHttp11ExpectsAndOnlyToGoOn) {
  const std::string post(kPost);
  RequestReader reader;
  FeedAll(reader, post + "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_TRUE(reader.head().expects_continue);
  EXPECT_EQ(StatusOf(post + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\nx"), 417);
  RequestReader older;
  FeedAll(older, "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(older.stage(), Stage::kBody);
  EXPECT_FALSE(older.head().expects_continue) << "it does not wait for an answer";
}

}  // namespace
}  // namespace ruvd::http
