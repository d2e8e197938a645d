// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// A release under the tier dp is charged first, and refused if it cannot be charged.

#include "node/sharing/dp_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/release_fields.h"
#include "privacy/identity/node_key.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "storage/consent/consent_book.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr char kTestPolicy[] =
    "version = 1\n[scope.lab]\ntiers = [\"dp\"]\npurposes = [\"training\", \"sharing\"]\n"
    "[scope.ward]\ntiers = [\"masked\"]\npurposes = [\"training\", \"sharing\"]\n";

class DpReleaseTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    frame_.id.fill(7);
    frame_.target = test::kTarget;
    frame_.rank = 2;
    store_ = std::make_unique<storage::UserConsentStore>(*database_);
    book_ = storage::ConsentBook::Open(*store_, key_).value();
    // One release costs a little more than a third of this, and less than half.
    Open({});
  }
  struct Terms {
    double epsilon = 30;
    double node_epsilon = 70;
    std::string scope = "lab";
    std::chrono::seconds interval{100};
    double signal = 1;
  };
  void Open(const Terms& terms) {
    release_.reset();
    ledger_.reset();
    DpReleaseOptions options{.policy = privacy::SitePolicy::Parse(kTestPolicy).value(),
                             .scope = terms.scope,
                             .epsilon = terms.epsilon,
                             .signal = terms.signal,
                             .interval = terms.interval,
                             .layout = {.frame = &frame_, .boundaries = boundaries_},
                             .random = test::EntropyOf(1),
                             .clock = &clock_};
    options.budget =
        privacy::UnitBudget::Within(privacy::PrivacyUnit::kNode, terms.node_epsilon, options.delta)
            .value();
    ledger_ = storage::PrivacyLedgerStore::Open(*database_,
                                                {.budgets = {options.budget},
                                                 .key = &key_,
                                                 .counter_file = (folder_ / "counter").string()})
                  .value();
    options.ledger = ledger_.get();
    release_ = DpRelease::Create(options);
  }
  // Returns an update with equal values in every bank.
  federation::AdapterUpdate Update() {
    return UpdateOfBanks({.frame = &frame_, .boundaries = boundaries_},
                         federation::BankedValues(boundaries_.size() + 1, {0.3F, 0.4F, 0, 0}), 5);
  }
  absl::StatusOr<federation::AdapterUpdate> Release() {
    const privacy::Contributor whose[] = {book_->ContributorOf({.user_id = user_})};
    return release_->Release(Update(), whose,
                             book_->ForRelease(privacy::ConsentTier::kDp, clock_.WallMillis()));
  }
  // Returns the epsilon that the status prints as sufficient; empty if it prints none.
  std::string Advised(privacy::ConsentTier tier) const {
    const auto fields = cli::ReleaseFields(release_->View(tier));
    const std::string& line = fields.back().second;
    const std::string before = "epsilon ";
    const size_t begin = line.find(before) + before.size();
    return fields.back().first != "would suffice"
               ? ""
               : line.substr(begin, line.find(' ', begin) - begin);
  }
  uint64_t Spent() const { return ledger_->totals(privacy::PrivacyUnit::kNode).rho_q32; }

  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  inference::ProjectionFrame frame_;
  std::string user_;               // empty: the operator
  std::vector<float> boundaries_;  // none: one bank
  std::unique_ptr<storage::UserConsentStore> store_;
  std::unique_ptr<storage::ConsentBook> book_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  std::unique_ptr<DpRelease> release_;
};

TEST_F(DpReleaseTest, AReleaseIsChargedNoisedAndNotedAsSent) {
  const auto delta = Release();
  ASSERT_TRUE(delta.ok()) << delta.status();
  ASSERT_EQ(delta->banks.size(), 1u);
  EXPECT_EQ(delta->modules, (std::vector<federation::ModuleShape>{{test::kTarget, 2, 2}}));
  EXPECT_NE(delta->banks[0].values, (std::vector<float>{0.3F, 0.4F, 0, 0}));
  EXPECT_EQ(delta->examples, 0u) << "how many there were is not noised";
  std::vector<privacy::LedgerKind> kinds;
  ASSERT_TRUE(ledger_
                  ->ForEach([&kinds](const privacy::LedgerEntry& entry) {
                    kinds.push_back(entry.kind);
                    return true;
                  })
                  .ok());
  EXPECT_THAT(kinds,
              testing::ElementsAre(privacy::LedgerKind::kReserve, privacy::LedgerKind::kSpend,
                                   privacy::LedgerKind::kRelease));
  const admin::v1::ReleaseStatus view = release_->View();
  EXPECT_EQ(view.releases(), 1u);
  EXPECT_NEAR(view.spent_epsilon(), view.epsilon(), 1e-6);
  EXPECT_LE(view.epsilon(), 30);
  EXPECT_GT(view.epsilon(), 25);
  EXPECT_GE(view.predicted_snr(), 1);
  EXPECT_TRUE(view.refusal().empty());
}

// Regression test: the gauges showed what a noised update would be even when the operator's tier
// was masked.
TEST_F(DpReleaseTest, WhatTheNextOneWouldBeIsSaidOfTheOperatorsTier) {
  const admin::v1::ReleaseStatus update = release_->View(privacy::ConsentTier::kDp);
  const admin::v1::ReleaseStatus share = release_->View(privacy::ConsentTier::kMasked);
  ASSERT_NE(update.contributors(), share.contributors());
  ASSERT_NE(update.predicted_snr(), share.predicted_snr());
  EXPECT_EQ(release_->View().predicted_snr(), update.predicted_snr()) << "at first";
  release_->SetTier(privacy::ConsentTier::kMasked);
  EXPECT_EQ(release_->View().predicted_snr(), share.predicted_snr());
  EXPECT_EQ(release_->View().contributors(), share.contributors());
  release_->SetTier(privacy::ConsentTier::kPrivate);
  EXPECT_EQ(release_->View().predicted_snr(), update.predicted_snr());
}

TEST_F(DpReleaseTest, MoreNoiseThanSignalIsRefusedAndCostsNothing) {
  Open({.epsilon = 1});
  const absl::Status refused = Release().status();
  EXPECT_EQ(ReasonOf(refused), reasons::kSignalTooWeak);
  EXPECT_THAT(MessageOf(refused), HasSubstr("predicted signal is 0."));
  EXPECT_THAT(MessageOf(refused), HasSubstr("allow a larger epsilon"));
  EXPECT_EQ(Spent(), 0u);
  EXPECT_EQ(release_->View().refusal_reason(), reasons::kSignalTooWeak);
  const admin::v1::ReleaseStatus view = release_->View();
  EXPECT_LT(view.predicted_snr(), 1);
  // What is reported as sufficient is sufficient, and a little less is not.
  Open({.epsilon = view.needed_epsilon() * 1.01, .node_epsilon = 2 * view.needed_epsilon()});
  EXPECT_TRUE(release_->Check().ok()) << release_->Check();
  EXPECT_EQ(release_->View().needed_epsilon(), 0);
  Open({.epsilon = view.needed_epsilon() * 0.9, .node_epsilon = 2 * view.needed_epsilon()});
  EXPECT_EQ(ReasonOf(release_->Check()), reasons::kSignalTooWeak);
  Open({.epsilon = 1});
  release_->SetContributors(static_cast<size_t>(view.needed_contributors()));
  EXPECT_TRUE(release_->Check().ok()) << release_->Check();
  release_->SetContributors(static_cast<size_t>(view.needed_contributors()) - 1);
  EXPECT_EQ(ReasonOf(release_->Check()), reasons::kSignalTooWeak);
  // With more nodes the mean has less noise.
  release_->SetContributors(1000);
  EXPECT_TRUE(Release().ok());
  EXPECT_EQ(release_->View().refusal(), "");
}

// Regression test: "epsilon 2.38e+03" was advised, and 2380 was then refused with the same advice.
TEST_F(DpReleaseTest, TheEpsilonThatIsPrintedAsSufficientIs) {
  boundaries_ = {0.25F, 0.5F, 0.75F};
  for (const privacy::ConsentTier tier :
       {privacy::ConsentTier::kDp, privacy::ConsentTier::kMasked}) {
    const bool masked = tier == privacy::ConsentTier::kMasked;
    for (size_t nodes = masked ? 4 : 1; nodes <= 12; ++nodes) {
      for (const double signal : {0.1, 0.3, 0.9}) {
        Terms terms{.epsilon = 0.5, .scope = masked ? "ward" : "lab", .signal = signal};
        Open(terms);
        release_->SetContributors(nodes);
        const std::string advice = Advised(tier);
        ASSERT_NE(advice, "");
        terms.epsilon = std::stod(advice);
        terms.node_epsilon = 1e6;
        Open(terms);
        release_->SetContributors(nodes);
        const absl::Status allowed = masked ? release_->CheckMasked(nodes) : release_->Check();
        EXPECT_TRUE(allowed.ok()) << advice << " for " << nodes << ": " << allowed;
        EXPECT_EQ(Advised(tier), "");
        // It is also not more than is needed.
        terms.epsilon *= 0.9;
        Open(terms);
        release_->SetContributors(nodes);
        EXPECT_NE(Advised(tier), "") << advice << " for " << nodes;
      }
    }
  }
}

// Regression test: the status continued to print what was refused under another tier.
TEST_F(DpReleaseTest, ARefusalUnderOneTierIsNotSaidOfTheNext) {
  Open({.epsilon = 1});
  ASSERT_EQ(ReasonOf(Release().status()), reasons::kSignalTooWeak);
  release_->SetTier(privacy::ConsentTier::kMasked);
  EXPECT_EQ(release_->View().refusal_reason(), reasons::kPolicyRefuses);
  release_->SetTier(privacy::ConsentTier::kPublic);
  EXPECT_EQ(release_->View().refusal(), "") << release_->View().refusal();
  EXPECT_EQ(release_->View().refusals(), 1u);
}

// Regression test: "no" was printed until a release was tried, even where it was known that it
// would be refused.
TEST_F(DpReleaseTest, WhatWouldBeRefusedIsSaidBeforeItIsTried) {
  Open({.epsilon = 1});
  EXPECT_EQ(release_->View().refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_EQ(release_->View().refusals(), 0u) << "nothing was";
  release_->SetTier(privacy::ConsentTier::kPrivate);
  EXPECT_EQ(release_->View().refusal(), "") << "nothing would be tried";
  release_->SetContributors(1000);
  release_->SetTier(privacy::ConsentTier::kDp);
  EXPECT_EQ(release_->View().refusal(), "") << release_->View().refusal();
}

TEST_F(DpReleaseTest, TheBudgetEndsAndNothingIsEverGivenBack) {
  int made = 0;
  absl::Status status;
  while ((status = Release().status()).ok()) {
    ASSERT_LT(++made, 10);
  }
  EXPECT_GE(made, 2);
  EXPECT_EQ(ReasonOf(status), reasons::kPrivacyBudgetSpent);
  const uint64_t spent = Spent();
  Open({});  // a restart
  EXPECT_EQ(ReasonOf(Release().status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(Spent(), spent);
  EXPECT_LE(release_->View().spent_epsilon(), 70);
  EXPECT_EQ(release_->View().releases(), static_cast<uint64_t>(made));
}

TEST_F(DpReleaseTest, WithoutABudgetNothingLeaves) {
  Open({.node_epsilon = 0});
  EXPECT_EQ(ReasonOf(Release().status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(Spent(), 0u);
}

TEST_F(DpReleaseTest, TheSitePolicyDecidesFirst) {
  Open({.scope = "garden"});
  EXPECT_EQ(ReasonOf(release_->CheckTier(privacy::ConsentTier::kDp)), reasons::kScopeUnknown);
  EXPECT_EQ(ReasonOf(Release().status()), reasons::kScopeUnknown);
  Open({.scope = "ward"});
  EXPECT_EQ(ReasonOf(Release().status()), reasons::kPolicyRefuses);
  EXPECT_EQ(ReasonOf(release_->CheckTier(privacy::ConsentTier::kPublic)), reasons::kPolicyRefuses);
  EXPECT_EQ(Spent(), 0u);
}

TEST_F(DpReleaseTest, AUserIsAskedAgainAtTheRelease) {
  user_ = "alice";
  EXPECT_EQ(ReasonOf(Release().status()), reasons::kConsentMissing);
  privacy::UserConsent consent{.subject = {.id = "alice"},
                               .purposes = privacy::consent_purposes::kAll,
                               .widest = privacy::ConsentTier::kDp,
                               .expires_ms = 1000};
  const int64_t now_ms = clock_.WallMillis();
  ASSERT_TRUE(book_->Record(consent, now_ms).ok());
  EXPECT_TRUE(Release().ok());
  const uint64_t spent = Spent();
  consent.purposes = 0;
  ASSERT_TRUE(book_->Record(consent, now_ms).ok()) << "also within the same millisecond";
  EXPECT_EQ(ReasonOf(Release().status()), reasons::kConsentMissing);
  EXPECT_EQ(Spent(), spent);
}

// Found on a busy machine: the operator's consent expired a millisecond after it was asked for.
TEST_F(DpReleaseTest, AReleaseThatTakesAWhileStillHasTheOperatorsWord) {
  const privacy::Contributor whose[] = {book_->ContributorOf({})};
  const privacy::ConsentRegister consents =
      book_->ForRelease(privacy::ConsentTier::kDp, clock_.WallMillis());
  clock_.Advance(std::chrono::milliseconds(50));
  const auto delta = release_->Release(Update(), whose, consents);
  EXPECT_TRUE(delta.ok()) << delta.status();
}

TEST_F(DpReleaseTest, TheIntervalHoldsOverARestart) {
  EXPECT_TRUE(release_->Due());
  ASSERT_TRUE(Release().ok());
  EXPECT_FALSE(release_->Due());
  Open({});
  EXPECT_FALSE(release_->Due());
  clock_.Advance(std::chrono::seconds(99));
  EXPECT_FALSE(release_->Due());
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(release_->Due());
}

TEST_F(DpReleaseTest, ALedgerThatDoesNotOpenStopsReleases) {
  const auto release = DpRelease::Create({.policy = privacy::SitePolicy::Parse(kTestPolicy).value(),
                                          .scope = "lab",
                                          .layout = {.frame = &frame_, .boundaries = boundaries_},
                                          .unavailable = absl::DataLossError("broken"),
                                          .clock = &clock_});
  EXPECT_TRUE(absl::IsDataLoss(release->CheckTier(privacy::ConsentTier::kDp)));
  EXPECT_TRUE(absl::IsDataLoss(release->Check()));
  // Regression test: "spent 0.000, refused no" was all that the status printed.
  for (const privacy::ConsentTier tier :
       {privacy::ConsentTier::kPrivate, privacy::ConsentTier::kDp}) {
    release->SetTier(tier);
    EXPECT_NE(release->View().refusal(), "");
    EXPECT_NE(release->View().unknown(), "");
  }
}

// The payload begins with what a preview shows of it.
TEST_F(DpReleaseTest, ThePayloadBeginsAsThePreviewSays) {
  const DpRelease::Layout layout = release_->LayoutOfPayload();
  const auto delta = Release();
  ASSERT_TRUE(delta.ok()) << delta.status();
  const std::string payload = federation::EncodeAdapterUpdate(*delta);
  EXPECT_EQ(payload.substr(0, layout.head.size()), layout.head);
  EXPECT_EQ(payload.size(), layout.head.size() + layout.value_bytes);
  EXPECT_EQ(layout.value_bytes, 4 * sizeof(float));
}

// All banks are one release: they are clipped by their joint norm, noised with equal noise, and
// charged once.
TEST_F(DpReleaseTest, SeveralBanksAreClippedJointlyAndChargedOnce) {
  Open({.epsilon = 2000, .node_epsilon = 10'000});
  const auto one = Release();
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NEAR(one->banks[0].values[1], 0.4F, 0.1F) << "norm 0.5: not clipped";
  boundaries_ = {0.25F, 0.5F, 0.75F};
  const uint64_t spent = Spent();
  Open({.epsilon = 2000, .node_epsilon = 10'000});
  const auto four =
      release_->Release(UpdateOfBanks({.frame = &frame_, .boundaries = boundaries_},
                                      federation::BankedValues(4, {0.6F, 0.8F, 0, 0}), 5),
                        std::vector{book_->ContributorOf({})},
                        book_->ForRelease(privacy::ConsentTier::kDp, clock_.WallMillis()));
  ASSERT_TRUE(four.ok()) << four.status();
  ASSERT_EQ(four->banks.size(), 4u);
  EXPECT_EQ(four->boundaries, boundaries_);
  for (const federation::BankValues& bank : four->banks) {
    EXPECT_NEAR(bank.values[0], 0.3F, 0.1F) << "norm 2 of all four, clipped to 1";
    EXPECT_NEAR(bank.values[1], 0.4F, 0.1F);
  }
  EXPECT_NE(four->banks[0].values, four->banks[1].values);
  EXPECT_EQ(Spent(), 2 * spent);
  EXPECT_EQ(release_->View().values(), 16u);
  const std::string payload = federation::EncodeAdapterUpdate(*four);
  const DpRelease::Layout layout = release_->LayoutOfPayload();
  EXPECT_EQ(payload.substr(0, layout.head.size()), layout.head);
  EXPECT_EQ(payload.size(), layout.head.size() + layout.value_bytes);
}

}  // namespace
}  // namespace ruvd::sharing
