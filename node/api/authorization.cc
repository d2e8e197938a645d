// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/authorization.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "node/api/callers.h"
#include "privacy/identity/admission.h"

namespace ruvd::api {
namespace {

// A role does not include another role; these sets list the roles of each kind of method. Methods
// that show no user's text and change nothing.
constexpr uint32_t kLook =
    privacy::roles::kObserver | privacy::roles::kContributor | privacy::roles::kAdmin;
// Methods that use the model and the patterns.
constexpr uint32_t kWork = privacy::roles::kContributor | privacy::roles::kAdmin;
// Methods that show other users' text, or change what all users get.
constexpr uint32_t kManage = privacy::roles::kAdmin;

constexpr std::array kRules = {
    RpcRule{"/grpc.health.v1.Health/Check", 0, /*anybody=*/true},
    RpcRule{"/grpc.health.v1.Health/Watch", 0, /*anybody=*/true},
    // The protos are public.
    RpcRule{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kLook},

    RpcRule{"/ruvd.adapter.v1.AdapterService/DiffAdapters", kLook},
    RpcRule{"/ruvd.adapter.v1.AdapterService/ExportAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/GetAdapter", kLook},
    RpcRule{"/ruvd.adapter.v1.AdapterService/ImportAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/ListAdapters", kLook},
    RpcRule{"/ruvd.adapter.v1.AdapterService/LoadAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/PinAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/RollbackAdapter", kManage},
    RpcRule{"/ruvd.adapter.v1.AdapterService/UnloadAdapter", kManage},

    // This is served on the port for peers of the authority's node only; the join token decides who
    // may join.
    RpcRule{"/ruvd.admission.v1.AdmissionService/Join", 0, /*anybody=*/true},

    RpcRule{"/ruvd.cluster.v1.AuthorityService/CreateJoinToken", kManage},
    RpcRule{"/ruvd.cluster.v1.AuthorityService/RevokeNode", kManage},

    RpcRule{"/ruvd.cluster.v1.ClusterService/ListMembers", kLook},

    // This is served on the link port only. The link's own handshake checks the admission
    // certificate and the proof of its key.
    RpcRule{"/ruvd.federation.v1.FederationService/Link", 0, /*anybody=*/true},

    RpcRule{"/ruvd.inference.v1.InferenceService/Embed", kWork},
    RpcRule{"/ruvd.inference.v1.InferenceService/Generate", kWork},
    RpcRule{"/ruvd.inference.v1.InferenceService/Score", kWork},
    RpcRule{"/ruvd.inference.v1.InferenceService/Tokenize", kWork},

    RpcRule{"/ruvd.learning.v1.LearningService/AddLessons", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/GetLearningStatus", kLook},
    RpcRule{"/ruvd.learning.v1.LearningService/ListChanges", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ListLessonSources", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ListLessons", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ListTextLessons", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/PauseLearning", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/ResumeLearning", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/RunBackground", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/RunDeep", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/SubmitFeedback", kWork},
    RpcRule{"/ruvd.learning.v1.LearningService/Undo", kManage},
    RpcRule{"/ruvd.learning.v1.LearningService/WithdrawLessons", kManage},

    RpcRule{"/ruvd.node.v1.NodeService/GetModel", kLook},
    RpcRule{"/ruvd.node.v1.NodeService/GetStatus", kLook},
    RpcRule{"/ruvd.node.v1.NodeService/ListModels", kLook},

    RpcRule{"/ruvd.node.v1.StoreService/BackUpStore", kManage},
    RpcRule{"/ruvd.node.v1.StoreService/EraseUser", kManage},

    RpcRule{"/ruvd.pattern.v1.PatternService/DeletePattern", kManage},
    RpcRule{"/ruvd.pattern.v1.PatternService/ExportPattern", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/GetPattern", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/ImportPattern", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/ListPatterns", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/SearchPatterns", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/UpsertPattern", kWork},
    RpcRule{"/ruvd.pattern.v1.PatternService/WatchPatterns", kWork},

    RpcRule{"/ruvd.privacy.v1.PrivacyService/GetConsent", kLook},
    RpcRule{"/ruvd.privacy.v1.PrivacyService/ListUserConsents", kManage},
    RpcRule{"/ruvd.privacy.v1.PrivacyService/PreviewRelease", kManage},
    RpcRule{"/ruvd.privacy.v1.PrivacyService/SetConsent", kManage},
    RpcRule{"/ruvd.privacy.v1.PrivacyService/SetUserConsent", kManage},

    RpcRule{"/ruvd.witness.v1.WitnessService/GetEntry", kManage},
    RpcRule{"/ruvd.witness.v1.WitnessService/GetStats", kLook},
    RpcRule{"/ruvd.witness.v1.WitnessService/ListEntries", kManage},
};
static_assert(std::ranges::is_sorted(kRules, {}, &RpcRule::method));

std::string_view ViewOf(grpc::string_ref text) {
  return {text.data(), text.size()};
}

class KeyProcessor final : public grpc::AuthMetadataProcessor {
 public:
  KeyProcessor(std::shared_ptr<const Callers> callers, HearCall on_refused)
      : callers_(std::move(callers)), on_refused_(std::move(on_refused)) {}

  bool IsBlocking() const override { return false; }

  // Consumes no metadata, because AdmitCall reads the key. The AuthContext is that of the whole
  // connection, whose calls may have different keys.
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*,
                       OutputMetadata*) override {
    const auto path = metadata.find(":path");
    const std::string_view method = path == metadata.end() ? "" : ViewOf(path->second);
    const auto header = metadata.find("authorization");
    std::optional<std::string_view> authorization;
    if (header != metadata.end()) {
      authorization = ViewOf(header->second);
    }
    const absl::Status allowed = callers_->Authorize(method, authorization);
    if (!allowed.ok() && on_refused_) {
      on_refused_(EndpointOf(method), allowed, 0);
    }
    return {static_cast<grpc::StatusCode>(allowed.code()), MessageOf(allowed)};
  }

 private:
  const std::shared_ptr<const Callers> callers_;
  const HearCall on_refused_;
};

}  // namespace

std::span<const RpcRule> RpcRules() {
  return kRules;
}

const RpcRule* RuleOf(std::string_view method) {
  const auto* const rule = std::ranges::lower_bound(kRules, method, {}, &RpcRule::method);
  return rule != kRules.end() && rule->method == method ? rule : nullptr;
}

bool IsClientMethod(std::string_view method) {
  return RuleOf(method) != nullptr && !method.starts_with("/ruvd.admission.") &&
         !method.starts_with("/ruvd.federation.");
}

bool MayCall(std::string_view method, uint32_t roles) {
  const RpcRule* const rule = RuleOf(method);
  return rule != nullptr && (rule->anybody || (rule->roles & roles) != 0);
}

bool IsMetered(std::string_view method) {
  const RpcRule* const rule = RuleOf(method);
  return rule != nullptr && rule->roles == kWork;
}

std::shared_ptr<grpc::AuthMetadataProcessor> MakeKeyProcessor(
    std::shared_ptr<const Callers> callers, HearCall on_refused) {
  return std::make_shared<KeyProcessor>(std::move(callers), std::move(on_refused));
}

}  // namespace ruvd::api
