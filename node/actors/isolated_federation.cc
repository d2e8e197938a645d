// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/federation_actor.h"

namespace ruvd::actors {
namespace {

class IsolatedFederation final : public sharing::FederationActor {
 public:
  explicit IsolatedFederation(const Clock& clock) : clock_(clock) {}
  federation::LinkId OpenLink(std::shared_ptr<sharing::LinkSink> sink, std::string,
                              federation::LinkChannel) override {
    sink->Close();
    return 1;
  }
  void OnDialFailed(std::string) override {}
  bool OnFrame(federation::LinkId, std::shared_ptr<const federation::v1::WireFrame>) override {
    return false;
  }
  void OnClosed(federation::LinkId) override {}
  void Leave(Duration) override {}
  void SetRevocations(privacy::RevocationList) override {}
  void SetCertificate(privacy::AdmissionCert) override {}
  void OnPatternStored(const storage::PatternId&) override {}
  void OnLessonsWithdrawn() override {}
  void OnRated(sharing::RatedUse) override {}
  void View(std::function<void(absl::StatusOr<sharing::FederationView>)> done) override {
    sharing::FederationView view;
    view.now = clock_.Now();
    done(view);
  }
  void SetConsent(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<admin::v1::SetConsentResponse>)> done) override {
    done(Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "this node does not federate; set federation.enabled and restart it"));
  }
  void OnConsentsChanged(std::function<void(absl::StatusOr<sharing::OptOutAnswer>)> done) override {
    done(sharing::OptOutAnswer());
  }
  void Preview(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<admin::v1::PreviewReleaseResponse>)> done) override {
    done(Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "this node does not federate, so nothing leaves it; set federation.enabled and "
               "restart it"));
  }

 private:
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<sharing::FederationActor> MakeIsolatedFederation(const Clock& clock) {
  return std::make_unique<IsolatedFederation>(clock);
}

}  // namespace ruvd::actors
