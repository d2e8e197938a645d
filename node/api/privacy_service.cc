// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/pages.h"
#include "node/api/query_lane.h"
#include "node/api/release_messages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/sharing/federation.h"
#include "ruvd/privacy/v1/privacy.grpc.pb.h"
#include "storage/consent/consent_book.h"

namespace ruvd::api {
namespace {

bool IsTier(privacy::v1::SharingTier tier) {
  return tier >= privacy::v1::SHARING_TIER_PRIVATE && tier <= privacy::v1::SHARING_TIER_PUBLIC;
}

absl::Status UnknownTier(privacy::v1::SharingTier tier) {
  return BadField("tier", "tier {} is not known; use private, masked, dp or public",
                  static_cast<int>(tier));
}

// The order of a list of consents: sessions and users apart, each by its id.
std::string KeyOf(const privacy::UserConsent& consent) {
  return std::to_string(static_cast<int>(consent.subject.kind)) + consent.subject.id;
}

class PrivacyServiceImpl final : public privacy::v1::PrivacyService::CallbackService {
 public:
  explicit PrivacyServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies), lane_(dependencies.upkeep, limits::kMaxWaitingUpkeep) {}

  grpc::ServerUnaryReactor* SetConsent(grpc::CallbackServerContext* context,
                                       const privacy::v1::SetConsentRequest* request,
                                       privacy::v1::SetConsentResponse* response) override {
    auto* reactor = context->DefaultReactor();
    if (!IsTier(request->tier())) {
      reactor->Finish(ToRpcStatus(UnknownTier(request->tier())));
      return reactor;
    }
    node_.federation->SetConsent(
        static_cast<privacy::ConsentTier>(request->tier()),
        [this, reactor, response](const absl::StatusOr<privacy::v1::SetConsentResponse>& answer) {
          if (answer.ok()) {
            *response = *answer;
          }
          if (!answer.ok() || answer->tier() != privacy::v1::SHARING_TIER_PRIVATE) {
            reactor->Finish(ToRpcStatus(answer.status()));
            return;
          }
          node_.federation->View(
              [reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
                if (view.ok() && view->release) {
                  response->set_residual(ResidualText(*view));
                }
                reactor->Finish(grpc::Status::OK);
              });
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* GetConsent(grpc::CallbackServerContext* context,
                                       const privacy::v1::GetConsentRequest*,
                                       privacy::v1::GetConsentResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.federation->View(
        [reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
          if (view.ok()) {
            response->set_tier(static_cast<privacy::v1::SharingTier>(view->tier));
            SetTime(view->consent_since_ms, [&] { return response->mutable_since(); });
            response->set_bytes_shared(view->bytes_shared);
            if (view->release) {
              *response->mutable_release() = *view->release;
            }
          }
          reactor->Finish(ToRpcStatus(view.status()));
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* PreviewRelease(grpc::CallbackServerContext* context,
                                           const privacy::v1::PreviewReleaseRequest* request,
                                           privacy::v1::PreviewReleaseResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto preview = [this, reactor, response](privacy::ConsentTier tier) {
      node_.federation->Preview(
          tier,
          [reactor, response](const absl::StatusOr<privacy::v1::PreviewReleaseResponse>& next) {
            if (next.ok()) {
              *response = *next;
            }
            reactor->Finish(ToRpcStatus(next.status()));
          });
    };
    if (request->tier() != privacy::v1::SHARING_TIER_UNSPECIFIED) {
      if (IsTier(request->tier())) {
        preview(static_cast<privacy::ConsentTier>(request->tier()));
      } else {
        reactor->Finish(ToRpcStatus(UnknownTier(request->tier())));
      }
      return reactor;
    }
    node_.federation->View([reactor, preview](const absl::StatusOr<sharing::FederationView>& view) {
      if (view.ok()) {
        preview(view->tier);
      } else {
        reactor->Finish(ToRpcStatus(view.status()));
      }
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* SetUserConsent(grpc::CallbackServerContext* context,
                                           const privacy::v1::SetUserConsentRequest* request,
                                           privacy::v1::SetUserConsentResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto stored = std::make_shared<absl::Status>();
    // Stores the consent on a thread that may wait for the disk, then tells the actor. A withdrawal
    // that could not be stored reaches the actor too, and holds until the node ends.
    lane_.Run(
        context, reactor,
        [this, request, response, stored] {
          *stored = NoteUserConsent(*request, response);
          const bool withdrawn = !request->training() && !request->sharing();
          return withdrawn && !absl::IsInvalidArgument(*stored) ? absl::OkStatus() : *stored;
        },
        [this, reactor, stored, response] { TakeBack(reactor, stored, response); });
    return reactor;
  }

  grpc::ServerUnaryReactor* ListUserConsents(
      grpc::CallbackServerContext* context, const privacy::v1::ListUserConsentsRequest* request,
      privacy::v1::ListUserConsentsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response] {
      std::vector<privacy::UserConsent> consents = node_.consents->All();
      std::ranges::sort(consents, {}, KeyOf);
      return WritePage(
          consents, *request, limits::kMaxPageItems, KeyOf,
          [response](const privacy::UserConsent& consent) {
            WriteUserConsent(consent, response->add_consents());
          },
          response);
    });
    return reactor;
  }

 private:
  absl::Status NoteUserConsent(const privacy::v1::SetUserConsentRequest& request,
                               privacy::v1::SetUserConsentResponse* response) {
    ASSIGN_OR_RETURN(privacy::UserConsent fields, ReadUserConsent(request));
    ASSIGN_OR_RETURN(const privacy::UserConsent record,
                     node_.consents->Record(std::move(fields), node_.clock->WallMillis()));
    WriteUserConsent(record, response->mutable_consent());
    return absl::OkStatus();
  }

  // Withdraws what may no longer leave, and tells a caller who withdrew a consent what cannot be
  // taken back.
  void TakeBack(grpc::ServerUnaryReactor* reactor, std::shared_ptr<const absl::Status> stored,
                privacy::v1::SetUserConsentResponse* response) {
    const auto finish = [this, reactor, stored,
                         response](const absl::StatusOr<sharing::FederationView>& view) {
      if (view.ok() && view->release && !response->consent().sharing()) {
        response->set_residual(ResidualText(*view));
      }
      lane_.Leave();
      reactor->Finish(ToRpcStatus(*stored));
    };
    node_.federation->OnConsentsChanged([this, reactor, response, finish](
                                            const absl::StatusOr<sharing::OptOutAnswer>& taken) {
      if (!taken.ok()) {
        lane_.Leave();
        reactor->Finish(ToRpcStatus(Annotate(
            taken.status(),
            "the consent is stored, but shared items could not be withdrawn; repeat the call")));
        return;
      }
      response->set_items_taken_back(taken->updates + taken->patterns);
      response->set_patterns_taken_back(taken->patterns);
      response->set_peers_told(taken->peers);
      node_.federation->View(finish);
    });
  }

  const ServiceDependencies node_;
  QueryLane lane_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePrivacyService(const ServiceDependencies& dependencies) {
  return std::make_unique<PrivacyServiceImpl>(dependencies);
}

}  // namespace ruvd::api
