// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests how answers end: whole, cut off, late, or without a reader.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "node/http/limits.h"
#include "tests/node/http_server_fixture.h"

namespace ruvd::http {
namespace {

using std::chrono::milliseconds;
using test::HttpAnswer;
using test::WaitUntil;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HttpAnswerEndTest : public HttpServerTest {};

TEST_F(HttpAnswerEndTest, ACallerThatSendsTooMuchDuringAnAnswerIsEnded) {
  Start(Options());
  const auto caller = Call();
  caller->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  EXPECT_FALSE(exchange->is_gone());
  // More than may wait: behind it the server could not see that the caller leaves.
  caller->Send(std::string(limits::kMaxHttpUnparsedBytes, 'x'));
  EXPECT_TRUE(WaitUntil([&] { return exchange->is_gone(); }));
  EXPECT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kSentAhead) == 1; }));
  EXPECT_EQ(Ended(RequestEnd::kCallerLeft), 0);
}

TEST_F(HttpAnswerEndTest, ARequestOfHttp10IsTheLastOneOfItsConnection) {
  Start(Options());
  for (const std::string path : {"/echo", "/none"}) {
    const auto caller = Call();
    caller->Send("GET " + path + " HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(caller->Read().fields.at("connection"), "close") << path;
    EXPECT_TRUE(caller->IsEnded()) << path;
  }
}

TEST_F(HttpAnswerEndTest, WhatTheNodeCutsOffIsNotBlamedOnTheCaller) {
  Start(Options());
  const auto dropped = Call();
  dropped->Get("/later");
  Kept().reset();
  const HttpAnswer none = dropped->Read();
  EXPECT_EQ(none.status, 500);
  EXPECT_THAT(none.body, HasSubstr("refused: the node gave no answer"))
      << "in the form of other errors";
  dropped->Get("/later");
  std::shared_ptr<Exchange> half = Kept();
  half->BeginStream(kTextType);
  half->Send("half");
  half.reset();
  EXPECT_FALSE(dropped->Read().is_whole);
  ASSERT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kCutOff) == 1; }));
  const auto busy = Call();
  busy->Get("/later");
  const std::shared_ptr<Exchange> running = Kept();
  running->BeginStream(kTextType);
  EXPECT_EQ(busy->ReadHead().status, 200);
  server_->Shutdown(Duration(0));
  EXPECT_EQ(Ended(RequestEnd::kDrained), 1);
  EXPECT_EQ(Ended(RequestEnd::kCallerLeft), 0);
  EXPECT_THAT(Answered(), ElementsAre(std::pair("/later", 500), std::pair("/later", 500),
                                      std::pair("/later", 503)));
}

TEST_F(HttpAnswerEndTest, AStreamThatEndsWithAnErrorCountsAsThatError) {
  Start(Options());
  const auto caller = Call();
  caller->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kEventStreamType);
  exchange->Send("data: an error\n\n");
  exchange->FailStream(504);
  const HttpAnswer answer = caller->Read();
  EXPECT_EQ(answer.status, 200) << "it had begun";
  EXPECT_TRUE(answer.is_whole);
  ASSERT_TRUE(WaitUntil([&] { return !Answered().empty(); }));
  EXPECT_THAT(Answered(), ElementsAre(std::pair("/later", 504)));
}

TEST_F(HttpAnswerEndTest, ASlowReaderThatGoesOnReadingGetsAllOfALongAnswer) {
  ServerOptions options = Options();
  options.times.write = milliseconds(2'000);
  Start(std::move(options));
  const auto caller = Call();
  caller->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  const size_t size = 32 << 20;  // more than the kernel takes at once
  exchange->Respond({.content_type = kTextType, .body = std::string(size, 'x')});
  // It takes some of the answer within each time, and all of it in several times.
  const TimePoint begun = SystemClock().Now();
  size_t read = 0;
  std::string piece(256 << 10, '\0');
  for (int part = 1; part <= 8; ++part) {
    WaitUntil([&] { return SystemClock().Now() - begun > part * milliseconds(300); });
    for (const size_t until = read + (2 << 20); read < until;) {
      const ssize_t count = ::recv(caller->socket(), piece.data(), piece.size(), 0);
      ASSERT_GT(count, 0) << "after " << read << " bytes";
      read += static_cast<size_t>(count);
    }
  }
  while (read < size) {
    const ssize_t count = ::recv(caller->socket(), piece.data(), piece.size(), 0);
    ASSERT_GT(count, 0) << "after " << read << " bytes";
    read += static_cast<size_t>(count);
  }
  EXPECT_EQ(Ended(RequestEnd::kCallerSlow), 0);
}

}  // namespace
}  // namespace ruvd::http
