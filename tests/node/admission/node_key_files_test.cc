// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The replacement of a node's key, cut off anywhere.

#include "node/admission/node_key_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/admission_controller.h"
#include "node/admission/authority_files.h"
#include "node/admission/revocation_file.h"
#include "privacy/identity/certificate_renewal.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/rotated_key.h"

namespace ruvd::admission {
namespace {

namespace fs = std::filesystem;

constexpr privacy::JoinWelcome::Nonce kNonce{5};

class NodeKeyFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(Node());
    fs::create_directories(Office());
    const auto authority = FoundAuthority(Office(), /*days=*/365, clock_);
    ASSERT_TRUE(authority.ok()) << authority.status();
    key_.emplace(LoadNodeKey(Node(), clock_).value());
    ASSERT_TRUE(IssueCertificate(*authority, {.node_key = key_->public_key(), .name = "b"}, clock_,
                                 fs::path(Node()) / kNodeCertificateFile)
                    .ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Node() const { return folder_ / "node"; }
  std::string Office() const { return folder_ / "office"; }
  bool Has(const char* file) const { return fs::exists(fs::path(Node()) / file); }
  privacy::AdmissionCert Certificate() const { return LoadStoredCertificate(Node()).value(); }

  // What the authority answers, which has just started.
  absl::StatusOr<Membership> Ask(const privacy::AdmissionCert& present, const privacy::NodeKey& key,
                                 const privacy::KeyRotation& rotation, bool ends_former = false) {
    RevocationFile revocations(Office());
    ASSIGN_OR_RETURN(const auto office, AdmissionController::Open(Office(), revocations, clock_));
    return office->Renew(
        privacy::CertificateRenewal::Sign(present, kNonce, key, rotation, ends_former), kNonce);
  }
  absl::StatusOr<privacy::AdmissionCert> Replace() {
    return ReplaceNodeKey(
        Node(),
        [this](const auto& present, const auto& key, const auto& rotation) {
          return Ask(present, key, rotation);
        },
        clock_);
  }
  // Checks that key and certificate belong together, and to the node as it was.
  void ExpectWhole(uint32_t least_epoch, uint32_t most_epoch) {
    const auto key = LoadNodeKey(Node(), clock_);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(key->id(), key_->id());
    EXPECT_GE(key->epoch(), least_epoch);
    EXPECT_LE(key->epoch(), most_epoch);
    EXPECT_EQ(Certificate().node_key, key->public_key());
    EXPECT_EQ(Certificate().key_epoch, key->epoch());
    EXPECT_EQ(Certificate().node_id, key->id());
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  ManualClock clock_;
  std::optional<privacy::NodeKey> key_;  // the first one
};

TEST_F(NodeKeyFilesTest, TheKeyIsReplacedAndTheIdStays) {
  for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
    const auto replaced = Replace();
    ASSERT_TRUE(replaced.ok()) << replaced.status();
    EXPECT_EQ(replaced->key_epoch, epoch);
    ExpectWhole(epoch, epoch);
    EXPECT_FALSE(Has("node.key.next") || Has("node.cert.next"));
  }
  const privacy::NodeKey last = LoadNodeKey(Node(), clock_).value();
  EXPECT_TRUE(last.HasSigned(AsBytes("m"), key_->Sign(AsBytes("m"))));
}

TEST_F(NodeKeyFilesTest, AnAuthorityThatDoesNotAnswerChangesNothing) {
  const auto refused = ReplaceNodeKey(
      Node(),
      [](const auto&, const auto&, const auto&) -> absl::StatusOr<Membership> {
        return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable, "no answer");
      },
      clock_);
  EXPECT_EQ(ReasonOf(refused.status()), reasons::kNodeUnreachable);
  ExpectWhole(0, 0);
  ASSERT_TRUE(Replace().ok());
  ExpectWhole(1, 1);
}

// The authority has granted the key, and its answer was lost.
TEST_F(NodeKeyFilesTest, ALostAnswerIsAskedForAgainWithTheSameKey) {
  std::optional<privacy::PublicKey> asked;
  const auto lost = ReplaceNodeKey(
      Node(),
      [&](const auto& present, const auto& key,
          const auto& rotation) -> absl::StatusOr<Membership> {
        asked = rotation.next;
        EXPECT_TRUE(Ask(present, key, rotation, /*ends_former=*/true).ok());
        return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable, "cut off");
      },
      clock_);
  EXPECT_FALSE(lost.ok());
  ExpectWhole(0, 0);
  // Meanwhile a thief of the former key gets neither a key of its own nor more time.
  const privacy::SigningKey own = privacy::SigningKey::Generate();
  EXPECT_EQ(ReasonOf(Ask(Certificate(), *key_, key_->RotateTo(own, 1)).status()),
            reasons::kKeyEpochRefused);
  RevocationFile revocations(Office());
  const auto office = AdmissionController::Open(Office(), revocations, clock_).value();
  EXPECT_EQ(
      ReasonOf(
          office->Renew(privacy::CertificateRenewal::Sign(Certificate(), kNonce, *key_), kNonce)
              .status()),
      reasons::kKeyEpochRefused);
  EXPECT_TRUE(office->MayEndRotation(Certificate()));
  ASSERT_TRUE(Replace().ok());
  EXPECT_EQ(Certificate().node_key, asked);
  ExpectWhole(1, 1);
  EXPECT_FALSE(office->MayEndRotation(Certificate()));
}

TEST_F(NodeKeyFilesTest, TheFormerKeyEndsAtOnceOrAfterADay) {
  RevocationFile revocations(Office());
  const auto office = AdmissionController::Open(Office(), revocations, clock_).value();
  const privacy::AdmissionCert former = Certificate();
  const privacy::SigningKey next = privacy::SigningKey::Generate();
  const auto renew = [&](bool ends_former) {
    return office
        ->Renew(privacy::CertificateRenewal::Sign(
                    former, kNonce, *key_, key_->RotateTo(next, clock_.WallMillis()), ends_former),
                kNonce)
        .value()
        .revocations.LeastEpoch(key_->id());
  };
  EXPECT_EQ(renew(false), 0U);
  clock_.StepWall(limits::kKeyOverlapMillis - 1);
  EXPECT_EQ(office->RefreshRevocations()->LeastEpoch(key_->id()), 0U);
  clock_.StepWall(1);
  EXPECT_EQ(office->RefreshRevocations()->LeastEpoch(key_->id()), 1U);
  EXPECT_FALSE(office->RefreshRevocations()->Revokes(key_->id()));
  EXPECT_EQ(renew(true), 1U) << "again, after the answer was lost";
}

TEST_F(NodeKeyFilesTest, AKeyThatTurnsOutToBeStolenEndsEarlierThanPlanned) {
  RevocationFile revocations(Office());
  const auto office = AdmissionController::Open(Office(), revocations, clock_).value();
  const privacy::KeyRotation rotation = key_->RotateTo(privacy::SigningKey::Generate(), 1);
  for (const bool ends_former : {false, true}) {
    const auto granted = office->Renew(
        privacy::CertificateRenewal::Sign(Certificate(), kNonce, *key_, rotation, ends_former),
        kNonce);
    ASSERT_TRUE(granted.ok()) << granted.status();
    EXPECT_EQ(granted->revocations.LeastEpoch(key_->id()), ends_former ? 1U : 0U);
  }
}

// Found by a review: a token let a thief of the first key take the node's id over.
TEST_F(NodeKeyFilesTest, AThiefWithATokenMadeRotationsOfItsOwn) {
  const privacy::NodeKey stolen = privacy::NodeKey::FromSeed(privacy::KeySeed{1});
  ASSERT_TRUE(privacy::SigningKey::FromSeed(privacy::KeySeed{1})
                  .Save(fs::path(Node()) / kNodeKeyFile, privacy::KeyUse::kNode)
                  .ok());
  RevocationFile revocations(Office());
  const auto office = AdmissionController::Open(Office(), revocations, clock_).value();
  ASSERT_TRUE(IssueCertificate(
                  privacy::ClusterAuthority::Load(fs::path(Office()) / kAuthorityKeyFile).value(),
                  {.node_key = stolen.public_key(), .name = "b"}, clock_,
                  fs::path(Node()) / kNodeCertificateFile)
                  .ok());
  ASSERT_TRUE(ReplaceNodeKey(
                  Node(),
                  [&](const auto& present, const auto& key, const auto& rotation) {
                    return office->Renew(
                        privacy::CertificateRenewal::Sign(present, kNonce, key, rotation, true),
                        kNonce);
                  },
                  clock_)
                  .ok());
  const auto join = [&](const privacy::NodeKey& key) {
    const Invitation invited = office->Invite(privacy::roles::kMember, 60'000).value();
    return ReasonOf(
        office
            ->Admit(privacy::JoinRequest::Sign(invited.text.token, "b", invited.text.cluster, key))
            .status());
  };
  const privacy::NodeKey once = test::RotatedKey(privacy::KeySeed{1}, privacy::KeySeed{7});
  privacy::NodeKeys keys = once.keys();
  privacy::SigningKey third = privacy::SigningKey::FromSeed(privacy::KeySeed{8});
  ASSERT_TRUE(keys.Rotate(once.RotateTo(third, 1)).ok());
  const privacy::NodeKey twice = privacy::NodeKey::Create(std::move(third), keys).value();
  for (const privacy::NodeKey* thief : {&stolen, &once, &twice}) {
    EXPECT_EQ(join(*thief), reasons::kKeyEpochRefused) << thief->epoch();
  }
  const privacy::NodeKey honest = LoadNodeKey(Node(), clock_).value();
  EXPECT_EQ(honest.id(), stolen.id());
  EXPECT_EQ(join(honest), "");
  EXPECT_EQ(office->RefreshRevocations()->LeastEpoch(honest.id()), 1U);
}

TEST_F(NodeKeyFilesTest, ARevokedNodeGetsNoNextKey) {
  RevocationFile revocations(Office());
  const auto office = AdmissionController::Open(Office(), revocations, clock_).value();
  ASSERT_TRUE(office->Revoke(key_->id()).ok());
  EXPECT_EQ(ReasonOf(Replace().status()), reasons::kNodeRevoked);
  ExpectWhole(0, 0);
}

// Each state that a crash can leave behind, after the certificate of the next key has come.
TEST_F(NodeKeyFilesTest, WhatACrashCutsOffIsCompletedAtTheNextStart) {
  enum Step { kCertificate, kRotations, kKey, kOwnCertificate, kSteps };
  for (int last = kCertificate; last < kSteps; ++last) {
    SetUp();
    const privacy::SigningKey next = privacy::SigningKey::LoadOrCreate(
                                         fs::path(Node()) / "node.key.next", privacy::KeyUse::kNode)
                                         .value();
    const privacy::KeyRotation rotation = key_->RotateTo(next, 1);
    const std::string granted = Ask(Certificate(), *key_, rotation)->certificate.Encode();
    ASSERT_TRUE(WriteFileAtomically(fs::path(Node()) / "node.cert.next", granted).ok());
    if (last >= kRotations) {
      ASSERT_TRUE(WriteFileAtomically(fs::path(Node()) / "node.rotations", rotation.Encode()).ok());
    }
    if (last >= kKey) {
      ASSERT_TRUE(next.Save(fs::path(Node()) / kNodeKeyFile, privacy::KeyUse::kNode).ok());
    }
    if (last >= kOwnCertificate) {
      ASSERT_TRUE(WriteFileAtomically(fs::path(Node()) / kNodeCertificateFile, granted).ok());
    }
    ExpectWhole(1, 1);
    EXPECT_FALSE(Has("node.key.next") || Has("node.cert.next"));
  }
}

// The operator hears of the theft after the command was cut off.
TEST_F(NodeKeyFilesTest, AKeyThatIsStolenIsReplacedAlsoAfterACutOffReplacement) {
  const privacy::SigningKey next =
      privacy::SigningKey::LoadOrCreate(fs::path(Node()) / "node.key.next", privacy::KeyUse::kNode)
          .value();
  const auto granted = Ask(Certificate(), *key_, key_->RotateTo(next, 1));
  ASSERT_TRUE(
      WriteFileAtomically(fs::path(Node()) / "node.cert.next", granted->certificate.Encode()).ok());
  const auto replaced = ReplaceNodeKey(
      Node(),
      [this](const auto& present, const auto& key, const auto& rotation) {
        return Ask(present, key, rotation, /*ends_former=*/true);
      },
      clock_, /*always_asks=*/true);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->key_epoch, 2U);
  ExpectWhole(2, 2);
  EXPECT_EQ(RevocationFile(Node()).Load(replaced->issuer.root)->LeastEpoch(key_->id()), 2U);
}

TEST_F(NodeKeyFilesTest, OneProcessAtATimeReplacesTheKey) {
  {
    const auto held = FolderLock::Take(Node(), /*waits=*/false);
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_EQ(ReasonOf(Replace().status()), reasons::kStoreLocked);
    ExpectWhole(0, 0);
  }
  EXPECT_TRUE(Replace().ok());
  EXPECT_FALSE(FolderLock::Take(Node() + "/none", /*waits=*/false).ok());
}

// The certificate of the former key has ended meanwhile, so that only a token helps.
TEST_F(NodeKeyFilesTest, ANodeWhoseReplacementWasCutOffJoinsWithItsNextKey) {
  const auto lost = ReplaceNodeKey(
      Node(),
      [&](const auto& present, const auto& key,
          const auto& rotation) -> absl::StatusOr<Membership> {
        EXPECT_TRUE(Ask(present, key, rotation).ok());
        return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable, "cut off");
      },
      clock_);
  ASSERT_FALSE(lost.ok());
  RevocationFile revocations(Office());
  const auto office = AdmissionController::Open(Office(), revocations, clock_).value();
  const Invitation invited = office->Invite(privacy::roles::kMember, 60'000).value();
  const auto joined = JoinWithNodeKey(
      Node(),
      [&](const privacy::NodeKey& key) {
        return office->Admit(
            privacy::JoinRequest::Sign(invited.text.token, "b", invited.text.cluster, key));
      },
      clock_);
  ASSERT_TRUE(joined.ok()) << joined.status();
  ExpectWhole(1, 1);
  EXPECT_FALSE(Has("node.key.next") || Has("node.cert.next"));
}

TEST_F(NodeKeyFilesTest, FilesThatDoNotBelongTogetherAreNamed) {
  ASSERT_TRUE(privacy::SigningKey::Generate()
                  .Save(fs::path(Node()) / "node.key.next", privacy::KeyUse::kNode)
                  .ok());
  const auto authority =
      privacy::ClusterAuthority::Load(fs::path(Office()) / kAuthorityKeyFile).value();
  ASSERT_TRUE(IssueCertificate(authority,
                               {.node_key = privacy::NodeKey::Generate().public_key(), .name = "b"},
                               clock_, fs::path(Node()) / "node.cert.next")
                  .ok());
  const auto loaded = LoadNodeKey(Node(), clock_);
  EXPECT_EQ(ReasonOf(loaded.status()), reasons::kKeyInvalid);
  EXPECT_NE(MessageOf(loaded.status()).find("from one backup"), std::string::npos);
}

// Kills a process that replaces the key before each of its system calls in turn. The node is always
// whole afterwards, and can go on to replace its key.
TEST_F(NodeKeyFilesTest, AKillBeforeAnySystemCallLeavesTheNodeWhole) {
  constexpr int kNotTraced = 77;
  bool may_trace = true;
  // Returns whether the process was killed before its system call of this number: it may end
  // before.
  const auto killed_before = [this, &may_trace](int call) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
        ::_exit(kNotTraced);  // otherwise no process would continue it
      }
      ::raise(SIGSTOP);
      ::_exit(Replace().ok() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    // It stops twice for each call.
    for (int stops = 0; WIFSTOPPED(status) && stops < 2 * call - 1; ++stops) {
      EXPECT_EQ(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
      EXPECT_EQ(::waitpid(child, &status, 0), child);
    }
    if (!WIFSTOPPED(status)) {
      may_trace = !WIFEXITED(status) || WEXITSTATUS(status) != kNotTraced;
      EXPECT_TRUE(!may_trace || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
      return false;
    }
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    return true;
  };
  uint32_t epoch = 0;
  uint32_t replaced = 0;
  for (int call = 1; killed_before(call); ++call) {
    ExpectWhole(epoch, epoch + 1);
    ASSERT_FALSE(HasFailure()) << "killed before system call " << call;
    replaced += Certificate().key_epoch - epoch;
    epoch = Certificate().key_epoch;
    if (epoch > limits::kMaxKeyRotations / 2) {
      SetUp();
      epoch = 0;
    }
  }
  if (!may_trace) {
    GTEST_SKIP() << "another program traces this one, or it may trace none";
  }
  EXPECT_GT(replaced, 0U) << "some came late enough";
  ExpectWhole(epoch, epoch + 1);
}

}  // namespace
}  // namespace ruvd::admission
