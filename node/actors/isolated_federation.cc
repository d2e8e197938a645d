// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/federation_actor.h"

namespace ruvd {
namespace {

class IsolatedFederation final : public FederationActor {
 public:
  explicit IsolatedFederation(const Clock& clock) : clock_(clock) {}
  LinkId OpenLink(std::shared_ptr<LinkSink> sink, std::string, LinkChannel) override {
    sink->Close();
    return 1;
  }
  void OnDialFailed(std::string) override {}
  bool OnFrame(LinkId, std::shared_ptr<const federation::v1::Frame>) override { return false; }
  void OnClosed(LinkId) override {}
  void Leave(Duration) override {}
  void SetRevocations(RevocationList) override {}
  void SetCertificate(AdmissionCert) override {}
  void OnPatternStored(const PatternId&) override {}
  void View(std::function<void(absl::StatusOr<FederationView>)> done) override {
    FederationView view;
    view.now = clock_.Now();
    done(view);
  }
  void SetConsent(ConsentTier, std::function<void(absl::StatusOr<ConsentAnswer>)> done) override {
    done(Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "this node does not federate; set federation.enabled and restart it"));
  }
  void OnConsentsChanged(std::function<void(absl::StatusOr<ConsentsAnswer>)> done) override {
    done(ConsentsAnswer());
  }
  void Preview(ConsentTier, std::function<void(absl::StatusOr<ReleasePreview>)> done) override {
    done(Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "this node does not federate, so nothing leaves it; set federation.enabled and "
               "restart it"));
  }

 private:
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<FederationActor> MakeIsolatedFederation(const Clock& clock) {
  return std::make_unique<IsolatedFederation>(clock);
}

}  // namespace ruvd
