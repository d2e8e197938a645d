// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The opening of a link over TLS, with and without an attacker in the middle.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/link/handshake.h"
#include "federation/reasons.h"
#include "privacy/limits.h"
#include "tests/federation/fixture.h"

namespace ruvd::federation {
namespace {

using test::Authority;
using test::SeedOf;

Digest CertificateOf(uint8_t number) {
  Digest digest{};
  digest.fill(number);
  return digest;
}
const Digest kDialerCertificate = CertificateOf(1);
const Digest kListenerCertificate = CertificateOf(2);
const Digest kStrangersCertificate = CertificateOf(3);

// What an end sees if its own certificate is `own` and the certificate at the other end is `peer`.
LinkChannel Seeing(const Digest& own, const Digest& peer) {
  return {.peer_certificate = peer, .own_certificates = {own}};
}

class ChannelBindingTest : public ::testing::Test {
 protected:
  using WireFrame = v1::WireFrame;

  struct End {
    explicit End(uint64_t number) : key(privacy::NodeKey::FromSeed(SeedOf(number))) {
      const GossipConfig config = test::ConfigFor(key, number);
      local = {.key = &key,
               .certificate = config.certificate,
               .cluster_id = Authority().cluster_id(),
               .boot_counter = 1,
               .model_hash = config.model_hash,
               .frame_id = config.frame_id,
               .listen_address = config.listen_address};
    }
    privacy::NodeKey key;
    LocalNode local;
    CertificateStore certificates{Authority().public_key()};
    std::unique_ptr<Handshake> handshake;

    absl::StatusOr<std::optional<WireFrame>> Take(const WireFrame& frame) {
      return handshake->OnFrame(frame, certificates, test::kWallStart);
    }
  };

  void Open(LinkChannel dialers, LinkChannel listeners) {
    dialer_.handshake = std::make_unique<Handshake>(dialer_.local, /*dialed=*/true,
                                                    Handshake::Nonce{1}, std::move(dialers));
    listener_.handshake = std::make_unique<Handshake>(listener_.local, /*dialed=*/false,
                                                      Handshake::Nonce{2}, std::move(listeners));
  }
  // Runs the handshake and returns the first refusal. An attacker in the middle may change what
  // each side says that it sees.
  absl::Status Run(std::optional<Digest> dialers_word = std::nullopt,
                   std::optional<Digest> listeners_word = std::nullopt) {
    WireFrame hello = dialer_.handshake->Hello();
    if (dialers_word) {
      hello.mutable_hello()->mutable_introduction()->set_seen_certificate(
          std::string(AsText(*dialers_word)));
    }
    auto ack = listener_.Take(hello);
    RETURN_IF_ERROR(ack.status());
    if (listeners_word) {
      (*ack)->mutable_hello_ack()->mutable_introduction()->set_seen_certificate(
          std::string(AsText(*listeners_word)));
    }
    auto proof = dialer_.Take(**ack);
    RETURN_IF_ERROR(proof.status());
    return listener_.Take(**proof).status();
  }

  End dialer_{1};
  End listener_{2};
};

// Found by a security review: a relay could cut the revocation list from the opening of a link,
// because no signature covered it.
TEST_F(ChannelBindingTest, ARelayThatHidTheRevocationListWasNotSeen) {
  const RevocationNotice notice = NoticeOf(3, "a list");
  for (const bool from_dialer : {true, false}) {
    for (const bool hidden : {false, true}) {
      Open(LinkChannel{.relayed = true}, LinkChannel{.relayed = true});
      dialer_.handshake->Announce(notice);
      listener_.handshake->Announce(notice);
      WireFrame hello = dialer_.handshake->Hello();
      if (hidden && from_dialer) {
        hello.mutable_hello()->mutable_introduction()->clear_revocations();
      }
      auto ack = listener_.Take(hello);
      ASSERT_TRUE(ack.ok()) << ack.status();
      if (hidden && !from_dialer) {
        (*ack)->mutable_hello_ack()->mutable_introduction()->mutable_revocations()->set_number(2);
      }
      const auto proof = dialer_.Take(**ack);
      EXPECT_EQ(ReasonOf(proof.status()), hidden ? reasons::kSignatureInvalid : "");
      EXPECT_EQ(dialer_.handshake->peer_revocations() == notice, from_dialer || !hidden);
    }
  }
}

TEST_F(ChannelBindingTest, ANoticeOfAnImpossibleRevocationListIsRefused) {
  const auto refusal_of = [&](const std::function<void(v1::RevocationNotice&)>& change) {
    Open(LinkChannel(), LinkChannel());
    dialer_.handshake->Announce(NoticeOf(3, "a list"));
    WireFrame hello = dialer_.handshake->Hello();
    change(*hello.mutable_hello()->mutable_introduction()->mutable_revocations());
    return ReasonOf(listener_.Take(hello).status());
  };
  EXPECT_EQ(refusal_of([](auto&) {}), "");
  EXPECT_EQ(refusal_of([](auto& notice) { notice.Clear(); }), "");
  EXPECT_EQ(refusal_of([](auto& notice) { notice.set_number(0); }), reasons::kEnvelopeMalformed);
  EXPECT_EQ(refusal_of([](auto& notice) { notice.set_bytes(0); }), reasons::kEnvelopeMalformed);
  EXPECT_EQ(refusal_of([](auto& notice) { notice.set_hash("short"); }),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(refusal_of([](auto& notice) {
              notice.set_bytes(static_cast<uint32_t>(limits::kMaxRevocationListBytes) + 1);
            }),
            reasons::kLimitExceeded);
}

TEST_F(ChannelBindingTest, BothEndsOfOneTlsChannelLink) {
  Open(Seeing(kDialerCertificate, kListenerCertificate),
       Seeing(kListenerCertificate, kDialerCertificate));
  EXPECT_TRUE(Run().ok());
  EXPECT_TRUE(dialer_.handshake->done());
  EXPECT_TRUE(listener_.handshake->done());
}

TEST_F(ChannelBindingTest, AnEndThatChangedItsKeyAMomentAgoLinks) {
  LinkChannel listeners = Seeing(kStrangersCertificate, kDialerCertificate);
  listeners.own_certificates.push_back(kListenerCertificate);
  Open(Seeing(kDialerCertificate, kListenerCertificate), listeners);
  EXPECT_TRUE(Run().ok());
  EXPECT_TRUE(listener_.handshake->done());
}

// An attacker accepts the dialler's connection with a certificate of its own and passes every frame
// on over another connection.
TEST_F(ChannelBindingTest, ARelayWithAnotherCertificateIsRefused) {
  Open(Seeing(kDialerCertificate, kStrangersCertificate),
       Seeing(kListenerCertificate, kStrangersCertificate));
  const absl::Status refused = Run();
  EXPECT_EQ(ReasonOf(refused), reasons::kChannelBinding);
  EXPECT_NE(MessageOf(refused).find("between the nodes"), std::string::npos);
  EXPECT_FALSE(listener_.handshake->done());
}

// The attacker also changes the frames to say what the ends want to read.
TEST_F(ChannelBindingTest, ARelayThatAltersWhatIsSaidOfCertificatesIsRefused) {
  Open(Seeing(kDialerCertificate, kStrangersCertificate),
       Seeing(kListenerCertificate, kStrangersCertificate));
  EXPECT_EQ(ReasonOf(Run(kListenerCertificate)), reasons::kChannelBinding)
      << "the listener is silenced, the dialler is not";
  EXPECT_FALSE(dialer_.handshake->done());
  Open(Seeing(kDialerCertificate, kStrangersCertificate),
       Seeing(kListenerCertificate, kStrangersCertificate));
  EXPECT_EQ(ReasonOf(Run(kListenerCertificate, kDialerCertificate)), reasons::kSignatureInvalid)
      << "what was altered is signed";
  EXPECT_FALSE(dialer_.handshake->done());
}

TEST_F(ChannelBindingTest, ARelayBeforeOneEndOnlyIsRefused) {
  Open(Seeing(kDialerCertificate, kStrangersCertificate),
       Seeing(kListenerCertificate, kDialerCertificate));
  EXPECT_EQ(ReasonOf(Run()), reasons::kChannelBinding);
  Open(Seeing(kDialerCertificate, kListenerCertificate),
       Seeing(kListenerCertificate, kStrangersCertificate));
  EXPECT_EQ(ReasonOf(Run()), reasons::kChannelBinding);
  EXPECT_FALSE(dialer_.handshake->done());
}

TEST_F(ChannelBindingTest, AnEndThatSeesNoTlsIsRefusedByOneThatDoes) {
  Open(LinkChannel(), Seeing(kListenerCertificate, kDialerCertificate));
  EXPECT_EQ(ReasonOf(Run()), reasons::kChannelBinding);
  Open(Seeing(kDialerCertificate, kListenerCertificate), LinkChannel());
  const absl::Status refused = Run();
  EXPECT_EQ(ReasonOf(refused), reasons::kChannelBinding);
  EXPECT_NE(MessageOf(refused).find("federation.tls"), std::string::npos);
}

TEST_F(ChannelBindingTest, PlainLinksAreAsBefore) {
  Open(LinkChannel(), LinkChannel());
  EXPECT_TRUE(Run().ok());
  EXPECT_TRUE(listener_.handshake->done());
  EXPECT_TRUE(dialer_.handshake->Hello().hello().introduction().seen_certificate().empty());
}

}  // namespace
}  // namespace ruvd::federation
