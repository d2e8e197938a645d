// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which certificates a running node takes in place of its own, and what it reports when it
// gets none.

#include "node/admission/certificate_renewer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"
#include "tests/federation/fixture.h"

namespace ruvd::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kIssued = test::kWallStart;
constexpr int64_t kEnds = kIssued + 10 * test::kDayMillis;
constexpr int64_t kLater = kIssued + 20 * test::kDayMillis;
constexpr int64_t kDue = kIssued + 9 * test::kDayMillis;

class CertificateRenewerTest : public ::testing::Test {
 protected:
  CertificateRenewerTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    clock_.StepWall(kIssued + 1 - clock_.WallMillis());
    Open({});
  }
  ~CertificateRenewerTest() override { std::filesystem::remove_all(folder_); }

  privacy::AdmissionCert CertOf(const std::string& name, int64_t ends_ms,
                                const privacy::ClusterAuthority& authority = test::Authority(),
                                uint64_t key = 1) const {
    return test::CertificateFor(privacy::NodeKey::FromSeed(test::SeedOf(key)), name, authority,
                                privacy::roles::kMember, kIssued, ends_ms);
  }
  void Open(std::vector<std::string> addresses) {
    admission::CertificateRenewerOptions options{
        .path = path_,
        .load = [this] { return stored_; },
        .key = &key_,
        .clock = &clock_,
        .addresses = std::move(addresses),
        .renew = [this](const std::string& address,
                        const privacy::AdmissionCert&) -> absl::StatusOr<privacy::AdmissionCert> {
          asked_.push_back(address);
          return answers_.at(address);
        },
        .take = [this](const privacy::AdmissionCert& taken) { taken_.push_back(taken); },
        .stopped = [this] { return asked_.size() >= stop_after_; }};
    keeper_ = std::make_unique<admission::CertificateRenewer>(std::move(options), own_);
  }
  void WaitUntilDue() { clock_.StepWall(kDue - clock_.WallMillis()); }
  // Returns what Look reports if each of `answers` is the reason of one address.
  std::string ReasonAfter(const std::vector<std::string>& answers) {
    std::vector<std::string> addresses;
    answers_.clear();
    asked_.clear();
    for (size_t i = 0; i < answers.size(); ++i) {
      addresses.push_back(std::to_string(i));
      answers_.emplace(addresses.back(),
                       Error(absl::StatusCode::kUnavailable, answers[i].c_str(), "no"));
    }
    Open(addresses);
    return ReasonOf(keeper_->CheckCertificate());
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ / "node.cert";
  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  const privacy::AdmissionCert own_ = CertOf("a", kEnds);
  ManualClock clock_;
  absl::StatusOr<privacy::AdmissionCert> stored_ = own_;
  std::map<std::string, absl::StatusOr<privacy::AdmissionCert>> answers_;
  std::vector<std::string> asked_;
  std::vector<privacy::AdmissionCert> taken_;
  size_t stop_after_ = 100;
  std::unique_ptr<admission::CertificateRenewer> keeper_;
};

TEST_F(CertificateRenewerTest, ANewerFileOfTheSameMemberIsTakenOnce) {
  stored_ = CertOf("a", kLater);
  ASSERT_TRUE(keeper_->CheckCertificate().ok());
  ASSERT_TRUE(keeper_->CheckCertificate().ok());
  EXPECT_THAT(taken_, ElementsAre(*stored_));
  EXPECT_EQ(keeper_->present(), *stored_);
  stored_ = own_;  // an older one, as from a backup
  ASSERT_TRUE(keeper_->CheckCertificate().ok());
  EXPECT_EQ(keeper_->present().not_after_ms, kLater);
}

// Regression test: the certificate was taken. The gossip core refused it later, and the node
// believed that it had it.
TEST_F(CertificateRenewerTest, AFileOfAnotherNameKeyOrClusterIsRefused) {
  Open({"authority"});
  answers_.emplace("authority", CertOf("a", kLater));
  WaitUntilDue();
  for (const privacy::AdmissionCert& other :
       {CertOf("b", kLater), CertOf("a", kLater, test::Authority(1001)),
        CertOf("a", kLater, test::Authority(), /*key=*/2)}) {
    stored_ = other;
    const absl::Status looked = keeper_->CheckCertificate();
    EXPECT_EQ(ReasonOf(looked), reasons::kCertificateInvalid);
    EXPECT_THAT(MessageOf(looked), HasSubstr("restart the node"));
    EXPECT_EQ(keeper_->present(), own_);
  }
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_THAT(asked_, IsEmpty()) << "what the operator put there is not written over";
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CertificateRenewerTest, OneThatIsDueIsRenewedTakenAndStored) {
  Open({"other", "authority", "third"});
  answers_.emplace("other", Error(absl::StatusCode::kNotFound, reasons::kNotFound, "no"));
  answers_.emplace("authority", CertOf("a", kLater));
  ASSERT_TRUE(keeper_->CheckCertificate().ok());
  EXPECT_THAT(asked_, IsEmpty()) << "it is not due";
  WaitUntilDue();
  ASSERT_TRUE(keeper_->CheckCertificate().ok());
  EXPECT_THAT(asked_, ElementsAre("other", "authority"));
  EXPECT_THAT(taken_, ElementsAre(CertOf("a", kLater)));
  EXPECT_EQ(privacy::AdmissionCert::Parse(AsBytes(ReadFile(path_, 1 << 20).value())).value(),
            taken_[0]);
}

TEST_F(CertificateRenewerTest, ARenewalForAnotherMemberIsRefused) {
  Open({"authority"});
  WaitUntilDue();
  for (const privacy::AdmissionCert& other :
       {CertOf("b", kLater), CertOf("a", kLater, test::Authority(1001)),
        CertOf("a", kLater, test::Authority(), /*key=*/2)}) {
    answers_.insert_or_assign("authority", other);
    EXPECT_EQ(ReasonOf(keeper_->CheckCertificate()), reasons::kCertificateInvalid);
    EXPECT_EQ(keeper_->present(), own_);
  }
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CertificateRenewerTest, TheAuthoritysAnswerIsNamedFirst) {
  WaitUntilDue();
  const std::string none = reasons::kNotFound;
  const std::string away = reasons::kNodeUnreachable;
  const std::string silent = reasons::kDeadlineExceeded;
  const std::string said = reasons::kNodeRevoked;
  EXPECT_EQ(ReasonAfter({none, none}), none);
  EXPECT_EQ(ReasonAfter({none, away, none}), away);
  EXPECT_EQ(ReasonAfter({silent, none}), silent);
  EXPECT_EQ(ReasonAfter({none, said, none}), said);
  EXPECT_EQ(ReasonAfter({said, away}), said);
  EXPECT_EQ(ReasonAfter({said, silent}), said);
  EXPECT_EQ(ReasonAfter({away, said}), said);
  EXPECT_EQ(ReasonAfter({}), none) << "no address to ask";
}

// Regression test: a stop waited for every address that does not answer.
TEST_F(CertificateRenewerTest, AfterAStopNoFurtherAddressIsAsked) {
  WaitUntilDue();
  stop_after_ = 1;
  EXPECT_EQ(ReasonAfter({reasons::kDeadlineExceeded, reasons::kDeadlineExceeded}),
            reasons::kDeadlineExceeded);
  EXPECT_EQ(asked_.size(), 1u);
}

}  // namespace
}  // namespace ruvd::node
