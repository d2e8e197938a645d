// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"
#include "node/http/limits.h"
#include "node/http/server.h"
#include "node/transport/port_dial.h"
#include "node/transport/tls.h"
#include "tests/node/http_caller.h"
#include "tests/node/http_server_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpAnswer;
using test::HttpCaller;
using test::WaitUntil;

TEST_F(HttpServerTest, AnswersRequestAfterRequestOverOneConnection) {
  Start(Options());
  const auto caller = Call();
  caller->Post("/echo", "one");
  EXPECT_EQ(caller->Read().body, "one");
  // Two at once are answered in their order.
  caller->Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\ntwo"
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nthree\r\n0\r\n\r\n");
  EXPECT_EQ(caller->Read().body, "two");
  EXPECT_EQ(caller->Read().body, "three");
  caller->Get("/none");
  EXPECT_EQ(caller->Read().status, 404);
  caller->Send("HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(caller->ReadHead().status, 200);
  caller->Get("/echo", "Connection: close\r\n");
  const HttpAnswer last = caller->Read();
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.fields.at("connection"), "close");
  EXPECT_TRUE(caller->IsEnded());
  EXPECT_EQ(server_->counts().requests, 6);
  EXPECT_TRUE(WaitUntil([&] { return server_->acceptor().counts().connections == 0; }));
}

TEST_F(HttpServerTest, StreamsPiecesAsTheyComeAndPingsASilentStream) {
  ServerOptions options = Options();
  options.times.ping = milliseconds(5);
  Start(std::move(options));
  const auto caller = Call();
  caller->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kEventStreamType);
  EXPECT_EQ(caller->ReadHead().fields.at("content-type"), kEventStreamType);
  EXPECT_EQ(caller->ReadChunk(), ": ping\n\n");
  EXPECT_TRUE(exchange->Send("data: 1\n\n"));
  std::string piece = caller->ReadChunk();
  while (piece == ": ping\n\n") {
    piece = caller->ReadChunk();
  }
  EXPECT_EQ(piece, "data: 1\n\n");
  exchange->EndStream();
  while (!piece.empty()) {
    piece = caller->ReadChunk();
  }
  caller->Post("/echo", "again");
  EXPECT_EQ(caller->Read().body, "again") << "the connection is still good";
}

TEST_F(HttpServerTest, ACallerOfHttp10GetsAStreamThatEndsWithTheConnection) {
  Start(Options());
  const auto caller = Call();
  caller->Send("GET /later HTTP/1.0\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kTextType);
  exchange->Send("all of it");
  exchange->EndStream();
  EXPECT_EQ(caller->Read().body, "all of it");
}

TEST_F(HttpServerTest, AnExchangeThatIsDroppedIsAnswered) {
  Start(Options());
  const auto caller = Call();
  caller->Get("/later");
  Kept().reset();
  EXPECT_EQ(caller->Read().status, 500);
  caller->Get("/later");
  std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kTextType);
  exchange->Send("half");
  exchange.reset();
  const HttpAnswer half = caller->Read();
  EXPECT_EQ(half.body, "half");
  EXPECT_FALSE(half.is_whole) << "a cut stream must not look like a whole one";
}

TEST_F(HttpServerTest, TheHandlerHearsThatTheCallerLeft) {
  Start(Options());
  const auto caller = Call();
  caller->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kEventStreamType);
  caller->ReadHead();
  EXPECT_FALSE(exchange->is_gone());
  caller->Leave();
  EXPECT_TRUE(WaitUntil([&] { return exchange->is_gone(); }));
  EXPECT_FALSE(exchange->Send("data: 1\n\n"));
  EXPECT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kCallerLeft) == 1; }));
  EXPECT_THAT(Answered(), ::testing::ElementsAre(std::pair("/later", 499)));
}

TEST_F(HttpServerTest, AReaderThatStandsStillHoldsABoundedAmountAndIsEnded) {
  ServerOptions options = Options();
  options.times.write = milliseconds(50);
  Start(std::move(options));
  const auto stalled = Call();
  stalled->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kEventStreamType);
  // The kernel takes some; what waits behind that is bounded, whatever the handler sends.
  const std::string piece(64 << 10, 'x');
  EXPECT_TRUE(WaitUntil([&] { return !exchange->Send(piece); }));
  EXPECT_TRUE(exchange->is_gone());
  const auto other = Call();
  other->Post("/echo", "served");
  EXPECT_EQ(other->Read().body, "served");
  EXPECT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kCallerSlow) == 1; }));
}

TEST_F(HttpServerTest, SlowHeadsAndBodiesAreRefusedAndIdleConnectionsEnd) {
  ServerOptions options = Options();
  options.times.head = milliseconds(20);
  options.times.body = milliseconds(20);
  options.times.idle = milliseconds(20);
  Start(std::move(options));
  const auto slow_head = Call();
  slow_head->Send("GET /echo HTT");
  EXPECT_EQ(slow_head->Read().status, 408);
  EXPECT_TRUE(slow_head->IsEnded());
  const auto slow_body = Call();
  slow_body->Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
  EXPECT_EQ(slow_body->Read().status, 408);
  EXPECT_TRUE(slow_body->IsEnded());
  EXPECT_TRUE(Call()->IsEnded()) << "without a word";
  EXPECT_EQ(Ended(RequestEnd::kTooLate), 2);
}

TEST_F(HttpServerTest, BytesThatAreNoRequestEndTheirConnectionOnly) {
  Start(Options());
  const auto good = Call();
  good->Post("/echo", "before");
  EXPECT_EQ(good->Read().body, "before");
  const std::vector<std::pair<std::string, int>> bad = {
      {"\x16\x03\x01 garbage\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET /echo HTTP/1.1\r\nHost: a\r\nX: " + std::string(64 << 10, 'x'), 431},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n", 413},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505}};
  for (const auto& [bytes, status] : bad) {
    const auto caller = Call();
    caller->Send(bytes);
    EXPECT_EQ(caller->Read().status, status) << bytes.substr(0, 40);
    EXPECT_TRUE(caller->IsEnded());
  }
  EXPECT_EQ(Ended(RequestEnd::kMalformed), bad.size());
  good->Post("/echo", "after");
  EXPECT_EQ(good->Read().body, "after");
}

TEST_F(HttpServerTest, ALargeBodyIsAskedForOnceItsHeadIsAccepted) {
  Start(Options());
  const std::string expect = "Host: a\r\nExpect: 100-continue\r\nContent-Length: 90000\r\n\r\n";
  const auto caller = Call();
  caller->Send("POST /echo HTTP/1.1\r\n" + expect);
  EXPECT_EQ(caller->ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  caller->Send(std::string(90'000, 'b'));
  EXPECT_EQ(caller->Read().body.size(), 90'000);
  const auto refused = Call();
  refused->Send("POST /none HTTP/1.1\r\n" + expect);
  EXPECT_EQ(refused->Read().status, 404) << "without its body";
  EXPECT_TRUE(refused->IsEnded());
}

TEST_F(HttpServerTest, BodiesTogetherHaveALimit) {
  ServerOptions options = Options();
  options.most_bodies_bytes = 150'000;
  Start(std::move(options));
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n";
  std::vector<std::unique_ptr<HttpCaller>> announced;
  for (int i = 0; i < 20; ++i) {
    announced.push_back(Call());
    announced.back()->Send(head);
  }
  ASSERT_TRUE(WaitUntil([&] { return server_->counts().requests == announced.size(); }));
  const auto sender = Call();
  sender->Post("/echo", std::string(90'000, 'b'));
  EXPECT_EQ(sender->Read().status, 200) << "a body that was announced and never came takes nothing";
  // Two bodies that come are more than there is.
  announced[0]->Send(std::string(89'999, 'b'));
  announced[1]->Send(std::string(89'999, 'b'));
  ASSERT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kBodiesTooBig) == 1; }));
  std::vector<int> statuses;
  for (int i = 0; i < 2; ++i) {
    announced[i]->Send("b");
    statuses.push_back(announced[i]->Read().status);
  }
  EXPECT_THAT(statuses, ::testing::UnorderedElementsAre(200, 503));
  const auto next = Call();
  next->Post("/echo", std::string(90'000, 'b'));
  EXPECT_EQ(next->Read().status, 200) << "they gave their shares back";
}

TEST_F(HttpServerTest, TheBodiesOfOneSourceHaveAPartOfTheMemory) {
  ServerOptions options = Options();
  options.most_bodies_of_source_bytes = 50'000;
  Start(std::move(options));
  const auto caller = Call();
  caller->Post("/echo", std::string(60'000, 'b'));
  EXPECT_EQ(caller->Read().status, 503);
  EXPECT_EQ(Ended(RequestEnd::kBodiesTooBig), 1);
}

TEST_F(HttpServerTest, AStopLetsAnswersEndAndEndsTheRest) {
  Start(Options());
  const auto idle = Call();
  idle->Post("/echo", "x");
  EXPECT_EQ(idle->Read().status, 200);
  const auto busy = Call();
  busy->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  exchange->BeginStream(kTextType);
  busy->ReadHead();
  std::thread stop([&] { server_->Shutdown(seconds(60)); });
  EXPECT_TRUE(idle->IsEnded());
  exchange->Send("the end");
  exchange->EndStream();
  EXPECT_EQ(busy->ReadChunk(), "the end");
  stop.join();
  EXPECT_FALSE(exchange->Send("more")) << "an exchange outlives its server";
}

TEST_F(HttpServerTest, AStopWithoutGraceEndsAnswersThatNeverCome) {
  Start(Options());
  const auto busy = Call();
  busy->Get("/later");
  const std::shared_ptr<Exchange> exchange = Kept();
  server_->Shutdown(Duration(0));
  EXPECT_TRUE(busy->IsEnded());
  EXPECT_TRUE(exchange->is_gone());
  exchange->Respond({});
}

TEST_F(HttpServerTest, ConnectionsCountAgainstTheLimitsOfThePort) {
  ServerOptions options = Options();
  options.connections.connections = 2;
  Start(std::move(options));
  const auto first = Call();
  const auto second = Call();
  for (const auto& caller : {first.get(), second.get()}) {
    caller->Post("/echo", "proof");
    EXPECT_EQ(caller->Read().status, 200);
  }
  EXPECT_TRUE(Call()->IsEnded()) << "proven connections are never displaced";
  EXPECT_EQ(server_->acceptor().counts().unproven, 0);
}

TEST_F(HttpServerTest, TheNodeCanDialItsOwnPort) {
  Start(Options());
  const transport::DialResult dialled = transport::DialOwnPort(
      server_->acceptor(), transport::PortProtocol::kHttp1, seconds(60), nullptr);
  EXPECT_EQ(dialled.sign, transport::PortSign::kAlive) << dialled.detail;
  EXPECT_EQ(server_->acceptor().counts().accepted, 0) << "its own dial is in no count";
}

class HttpTlsTest : public HttpServerTest {
 protected:
  HttpTlsTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) / "http_tls";
    std::filesystem::create_directories(folder_);
    WritePair();
  }
  ~HttpTlsTest() override { std::filesystem::remove_all(folder_); }
  void WritePair() {
    const auto pair = transport::MakeSelfSignedCertificate("IP:127.0.0.1").value();
    hash_ = pair.hash;
    EXPECT_TRUE(WriteFileAtomically(folder_ / "key.pem", pair.private_key, 0600).ok());
    EXPECT_TRUE(WriteFileAtomically(folder_ / "cert.pem", pair.certificate, 0600).ok());
  }
  ServerOptions TlsOptions() {
    ServerOptions options = Options();
    options.tls =
        transport::TlsServerContext::Load(folder_ / "cert.pem", folder_ / "key.pem", clock_)
            .value();
    return options;
  }
  // Returns the hash of the certificate that a new connection shows.
  Digest Shown() const {
    const auto caller = Call(/*tls=*/true);
    unsigned char* der = nullptr;
    X509* const shown = caller->certificate();
    const int size = i2d_X509(shown, &der);
    const Digest hash = Sha256(std::span<const uint8_t>(der, static_cast<size_t>(size)));
    OPENSSL_free(der);
    X509_free(shown);
    return hash;
  }

  std::filesystem::path folder_;
  Digest hash_{};
  ManualClock clock_{SystemClock().WallMillis()};
};

TEST_F(HttpTlsTest, ServesOverTlsAndReadsAChangedPairAgain) {
  Start(TlsOptions());
  const auto caller = Call(/*tls=*/true);
  ASSERT_TRUE(caller->shook_hands());
  caller->Post("/echo", std::string(50'000, 's'));
  EXPECT_EQ(caller->Read().body.size(), 50'000);
  EXPECT_EQ(Shown(), hash_);
  WritePair();
  clock_.Advance(seconds(2));
  EXPECT_EQ(Shown(), hash_) << "the new certificate";
  EXPECT_TRUE(WriteFileAtomically(folder_ / "cert.pem", "nonsense", 0600).ok());
  clock_.Advance(seconds(2));
  EXPECT_EQ(Shown(), hash_) << "the former pair stays";
}

TEST_F(HttpTlsTest, PlainBytesAndSlowHandshakesEnd) {
  ServerOptions options = TlsOptions();
  options.times.handshake = milliseconds(50);
  Start(std::move(options));
  const auto plain = Call();
  plain->Get("/echo");
  EXPECT_EQ(plain->Read().status, 0);
  EXPECT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kTlsFailed) == 1; }));
  EXPECT_TRUE(Call()->IsEnded());
  EXPECT_TRUE(WaitUntil([&] { return Ended(RequestEnd::kTooLate) == 1; }));
}

TEST_F(HttpTlsTest, APairThatCannotBeReadAgainIsToldOnce) {
  const auto tls =
      transport::TlsServerContext::Load(folder_ / "cert.pem", folder_ / "key.pem", clock_).value();
  const auto looked = [&] {
    clock_.Advance(seconds(2));
    EXPECT_NE(tls->Current(), nullptr);
    return tls->TakeProblem();
  };
  EXPECT_TRUE(looked().ok());
  EXPECT_TRUE(WriteFileAtomically(folder_ / "cert.pem", "nonsense", 0600).ok());
  EXPECT_FALSE(looked().ok());
  EXPECT_TRUE(looked().ok()) << "it is still the same problem";
  WritePair();
  EXPECT_TRUE(looked().ok());
  EXPECT_TRUE(WriteFileAtomically(folder_ / "cert.pem", "nonsense", 0600).ok());
  EXPECT_FALSE(looked().ok()) << "it was good between";
}

}  // namespace
}  // namespace ruvd::http
