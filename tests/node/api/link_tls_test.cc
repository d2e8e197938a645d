// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// TLS of links, over real connections of the loopback interface.

#include "node/admission/link_tls.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "node/api/server.h"
#include "node/limits.h"
#include "node/transport/tls.h"
#include "privacy/identity/join_token.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/reasons.h"
#include "tests/node/link_party.h"

namespace ruvd::api {
namespace {

namespace fs = std::filesystem;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Reports what TLS knows about the channel of the last call.
class ChannelProbe final : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext* context, const HealthCheckRequest*,
                     HealthCheckResponse*) override {
    seen = transport::PeerCertificateOf(*context->auth_context());
    return grpc::Status::OK;
  }
  std::optional<Digest> seen;
};

class LinkTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    listener_ = one_.LinkTlsAt(folder_ / "listener.pem");
    dialer_ = other_.LinkTlsAt(folder_ / "dialer.pem");
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", listener_->server_credentials(), &port);
    builder.RegisterService(&probe_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  void TearDown() override {
    server_->Shutdown();
    fs::remove_all(folder_);
  }

  // Makes one call over a connection of its own and records what the client then knows about the
  // channel.
  struct Seen {
    grpc::Status status;
    federation::LinkChannel channel;
  };
  Seen Call(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride(transport::kSelfSignedName);
    const auto stub = grpc::health::v1::Health::NewStub(
        grpc::CreateCustomChannel(address_, credentials, arguments));
    grpc::ClientContext context;
    HealthCheckResponse response;
    Seen seen;
    seen.status = stub->Check(&context, HealthCheckRequest(), &response);
    seen.channel = dialer_->ChannelOf(*context.auth_context());
    return seen;
  }

  // Returns the reasons for which the listener refused somebody.
  std::string Refusals() const {
    std::string text;
    for (const auto& [reason, count] : listener_->gate().refusals()) {
      text += reason + " ";
    }
    return text;
  }

  const privacy::ClusterAuthority authority_ = privacy::ClusterAuthority::Generate();
  const test::Member one_{authority_};
  const test::Member other_{authority_};
  fs::path folder_;
  std::unique_ptr<admission::LinkTls> listener_;
  std::unique_ptr<admission::LinkTls> dialer_;
  ChannelProbe probe_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

bool Knows(const admission::LinkTls& tls, const Digest& certificate) {
  const std::vector<Digest> own = tls.own_certificates();
  return std::ranges::find(own, certificate) != own.end();
}

TEST_F(LinkTlsTest, EachEndSeesTheCertificateThatTheOtherKnowsAsItsOwn) {
  const Seen seen = Call(dialer_->channel_credentials());
  ASSERT_TRUE(seen.status.ok()) << seen.status.error_message();
  ASSERT_TRUE(probe_.seen.has_value());
  EXPECT_TRUE(Knows(*dialer_, *probe_.seen));
  EXPECT_TRUE(Knows(*listener_, *seen.channel.peer_certificate));
  EXPECT_NE(*probe_.seen, *seen.channel.peer_certificate);
}

TEST_F(LinkTlsTest, WhoShowsNoCertificateOrSpeaksPlainTextGetsNoWordThrough) {
  EXPECT_FALSE(Call(grpc::InsecureChannelCredentials()).status.ok());
  grpc::SslCredentialsOptions trusting;
  trusting.pem_root_certs = ReadFile(folder_ / "listener.pem", 1 << 16).value();
  const Seen seen = Call(grpc::SslCredentials(trusting));
  EXPECT_FALSE(seen.status.ok()) << "it knows the listener, but does not say who it is";
  EXPECT_FALSE(probe_.seen.has_value());
}

// Found by a hostile review: HTTP/2 of strangers was parsed, and one of them cost a core.
TEST_F(LinkTlsTest, StrangersAreRefusedBeforeAnyByteOfHttp2IsRead) {
  const auto dial = [&](const transport::TlsCertificate& own) {
    return Call(admission::LinkCredentials(own, other_.Gate())).status.ok();
  };
  EXPECT_FALSE(dial(transport::MakeSelfSignedCertificate().value()));
  EXPECT_EQ(Refusals(), "CERTIFICATE_INVALID ");
  EXPECT_FALSE(dial(test::Member(privacy::ClusterAuthority::Generate()).Tls()));
  EXPECT_FALSE(dial(test::Member(authority_, /*life_ms=*/-1000).Tls()));
  const privacy::NodeKey thief = privacy::NodeKey::Generate();
  EXPECT_FALSE(dial(admission::MakeMemberTls(other_.certificate(), thief).value()));
  EXPECT_EQ(Refusals(),
            "CERTIFICATE_EXPIRED CERTIFICATE_FOREIGN CERTIFICATE_INVALID SIGNATURE_INVALID ");
  EXPECT_FALSE(probe_.seen.has_value());
  EXPECT_TRUE(dial(other_.Tls()));
}

TEST_F(LinkTlsTest, ARevokedMemberIsAStranger) {
  ASSERT_TRUE(Call(dialer_->channel_credentials()).status.ok());
  const auto list =
      privacy::RevokeNodes({}, {other_.key().id()}, SystemClock().WallMillis(), authority_);
  ASSERT_TRUE(listener_->gate().Revoke(list.value()).ok());
  EXPECT_FALSE(Call(dialer_->channel_credentials()).status.ok());
  EXPECT_EQ(Refusals(), "NODE_REVOKED ");
}

TEST_F(LinkTlsTest, ADiallerAcceptsMembersOnly) {
  // The listener is a member of a cluster, but not of the dialler's.
  const test::Member elsewhere(privacy::ClusterAuthority::Generate());
  listener_->gate().AdmitApplicants([](const auto&, const Digest&) { return true; });
  absl::Status judged;
  const auto call = Call(admission::LinkCredentials(
      elsewhere.Tls(), elsewhere.Gate(), [&](const absl::Status& status) { judged = status; }));
  EXPECT_FALSE(call.status.ok());
  EXPECT_EQ(ReasonOf(judged), reasons::kCertificateForeign);
}

TEST_F(LinkTlsTest, ATokenOpensTheGateOnlyWhereTheAuthorityIs) {
  privacy::JoinTokens tokens(authority_, {}, [](std::string_view) { return absl::OkStatus(); });
  const int64_t now_ms = SystemClock().WallMillis();
  const privacy::JoinInvitation invitation = {
      .token = tokens.Issue(privacy::roles::kMember, now_ms, 60'000).value(),
      .cluster = authority_.cluster_id()};
  const auto credentials =
      admission::LinkCredentials(admission::MakeApplicantTls(invitation).value(), other_.Gate());
  EXPECT_FALSE(Call(credentials).status.ok());
  EXPECT_EQ(Refusals(), "TOKEN_INVALID ");
  listener_->gate().AdmitApplicants([&](const auto& credential, const Digest& key) {
    return tokens.Recognizes(credential, key, now_ms);
  });
  EXPECT_TRUE(Call(credentials).status.ok());
}

TEST_F(LinkTlsTest, ANewCertificateOfTheNodeIsShown) {
  ASSERT_TRUE(dialer_->SetCertificate(other_.certificate()).ok());
  EXPECT_TRUE(Call(dialer_->channel_credentials()).status.ok());
  const test::Member expired(authority_, /*life_ms=*/-1000);
  const auto late = expired.LinkTlsAt(folder_ / "late.pem");
  EXPECT_FALSE(Call(late->channel_credentials()).status.ok());
  const auto renewed = authority_.Issue({.node_key = expired.key().public_key(),
                                         .name = "member",
                                         .not_before_ms = SystemClock().WallMillis() - 1000,
                                         .not_after_ms = SystemClock().WallMillis() + 60'000,
                                         .serial = 2});
  ASSERT_TRUE(late->SetCertificate(renewed.value()).ok());
  EXPECT_TRUE(Call(late->channel_credentials()).status.ok());
}

TEST_F(LinkTlsTest, ANewKeyIsUsedByNewLinksWithoutARestart) {
  const Digest former = *Call(dialer_->channel_credentials()).channel.peer_certificate;
  ASSERT_TRUE(listener_->Rotate().ok());
  ASSERT_TRUE(dialer_->Rotate().ok());
  Digest now = former;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (now == former && std::chrono::steady_clock::now() < patience) {
    const Seen seen = Call(dialer_->channel_credentials());
    ASSERT_TRUE(seen.status.ok()) << "no call fails while the key changes";
    now = *seen.channel.peer_certificate;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(now, former);
  EXPECT_TRUE(Knows(*listener_, now));
  EXPECT_TRUE(Knows(*listener_, former)) << "a link that opened a moment ago names it";
}

TEST_F(LinkTlsTest, OnlyTheOwnerReadsTheKey) {
  struct stat info = {};
  ASSERT_EQ(::stat((folder_ / "listener.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LinkTlsTest, FormerCertificatesAreForgottenOneByOne) {
  for (size_t i = 0; i < 2 * limits::kMaxLinkCertificates; ++i) {
    ASSERT_TRUE(dialer_->Rotate().ok());
  }
  EXPECT_EQ(dialer_->own_certificates().size(), limits::kMaxLinkCertificates);
}

// Connects with a client of OpenSSL's own that speaks `version` only. Returns the version that was
// agreed on; 0 for none.
int HandshakeAt(const std::string& address, int version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  SSL_CTX_clear_options(context.get(), SSL_OP_NO_TLSv1_2);  // RequireTls13 sets this here as well
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_ssl_connect(context.get()),
                                                          BIO_free_all);
  SSL* ssl = nullptr;
  BIO_get_ssl(bio.get(), &ssl);
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl, kHttp2, sizeof(kHttp2));
  BIO_set_conn_hostname(bio.get(), address.c_str());
  return BIO_do_handshake(bio.get()) == 1 ? SSL_version(ssl) : 0;
}

TEST_F(LinkTlsTest, NothingOlderThanTls13IsSpoken) {
  EXPECT_EQ(HandshakeAt(address_, TLS1_3_VERSION), TLS1_3_VERSION);
  EXPECT_EQ(HandshakeAt(address_, TLS1_2_VERSION), 0);
}

class ServerCertificateTest : public LinkTlsTest {
 protected:
  std::string Write(const std::string& name, const std::string& text, uint32_t mode = 0600) {
    const std::string path = folder_ / name;
    EXPECT_TRUE(WriteFileAtomically(path, text, mode).ok());
    return path;
  }
};

TEST_F(ServerCertificateTest, WhatAServerCannotUseIsNamedAtTheStart) {
  const transport::TlsCertificate one =
      transport::MakeSelfSignedCertificate("DNS:a.example,IP:127.0.0.1").value();
  const transport::TlsCertificate other = transport::MakeSelfSignedCertificate().value();
  const std::string certificate = Write("c.pem", one.certificate);
  const std::string key = Write("k.pem", one.private_key);
  const int64_t now = 1'800'000'000'000;
  EXPECT_TRUE(transport::CheckServerCertificate(certificate, key, now).ok());
  EXPECT_EQ(ReasonOf(transport::CheckServerCertificate(certificate,
                                                       Write("o.pem", other.private_key), now)),
            reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOf(transport::CheckServerCertificate(key, key, now)), reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOf(transport::CheckServerCertificate(certificate, certificate, now)),
            reasons::kConfigInvalid);
  EXPECT_EQ(ReasonOf(transport::CheckServerCertificate(certificate, folder_ / "none", now)),
            reasons::kFileNotFound);
  EXPECT_EQ(ReasonOf(transport::CheckServerCertificate(
                certificate, Write("open.pem", one.private_key, 0644), now)),
            reasons::kKeyFileMode);
  const absl::Status early = transport::CheckServerCertificate(certificate, key, 1'000'000'000'000);
  EXPECT_EQ(ReasonOf(early), reasons::kCertificateExpired);
  EXPECT_NE(MessageOf(early).find("check the clock"), std::string::npos);
}

TEST_F(ServerCertificateTest, ANameThatIsNoneIsRefused) {
  EXPECT_EQ(ReasonOf(transport::MakeSelfSignedCertificate("nonsense").status()),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::api
