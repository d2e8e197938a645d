// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error_details.h"
#include "base/executor.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/talora_file.h"
#include "node/api/adapter_messages.h"
#include "node/api/chunk_stream-inl.h"
#include "node/api/file_upload-inl.h"
#include "node/api/pages.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/reasons.h"
#include "node/serving/adapter_catalog.h"
#include "ruvd/adapter/v1/adapter.grpc.pb.h"

namespace ruvd::api {
namespace {

std::optional<uint32_t> VersionOf(const adapter::v1::AdapterRef& ref) {
  return ref.has_version() ? std::optional(ref.version()) : std::nullopt;
}

template <typename T>
std::optional<float> WeightOf(const T& request) {
  return request.has_weight() ? std::optional(request.weight()) : std::nullopt;
}

using AdapterUpload = FileUpload<adapter::v1::ImportAdapterRequest>;
using AdapterDownload = ChunkStream<adapter::v1::ExportAdapterResponse>;

absl::StatusOr<uint64_t> CheckAdapterFile(const adapter::v1::AdapterFile& file) {
  if (file.bytes() > limits::kMaxImportedAdapterBytes) {
    return WithLimit(
        WithField(Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                        "the file has {} bytes, more than the {} that can be sent; copy it to the "
                        "node's machine and load it by its path (inference.adapters)",
                        file.bytes(), limits::kMaxImportedAdapterBytes),
                  "file.bytes"),
        {.limit = limits::kMaxImportedAdapterBytes, .value = file.bytes()});
  }
  return file.bytes();
}

// The order of a list: by name, then by version.
std::string KeyOf(const serving::CatalogEntry& entry) {
  return fmt::format("{}{}{:010}", entry.info.name, '\0', entry.info.version);
}

class AdapterServiceImpl final : public adapter::v1::AdapterService::CallbackService {
 public:
  explicit AdapterServiceImpl(const ServiceDependencies& dependencies)
      : catalog_(*dependencies.adapters),
        model_(*dependencies.model),
        paths_are_local_(dependencies.paths_are_local),
        executor_(*dependencies.pattern_calls),
        lane_(dependencies.pattern_calls, limits::kMaxWaitingAdapterCalls) {}

  grpc::ServerUnaryReactor* ListAdapters(grpc::CallbackServerContext* context,
                                         const adapter::v1::ListAdaptersRequest* request,
                                         adapter::v1::ListAdaptersResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      std::vector<serving::CatalogEntry> entries = catalog_.List();
      std::erase_if(entries, [request](const serving::CatalogEntry& entry) {
        return !request->name().empty() && request->name() != entry.info.name;
      });
      std::ranges::sort(entries, {}, KeyOf);
      RETURN_IF_ERROR(WritePage(
          entries, *request, limits::kMaxPageItems, KeyOf,
          [response](const serving::CatalogEntry& entry) {
            WriteAdapter(entry, response->add_adapters());
          },
          response));
      const inference::RegistryStats stats = catalog_.Stats();
      response->set_hot_bytes(stats.hot_bytes);
      response->set_budget_bytes(stats.budget);
      response->set_loads(stats.loads);
      response->set_evictions(stats.evictions);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* GetAdapter(grpc::CallbackServerContext* context,
                                       const adapter::v1::GetAdapterRequest* request,
                                       adapter::v1::GetAdapterResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const serving::CatalogEntry entry, Find(request->adapter()));
      WriteAdapter(entry, response->mutable_adapter());
      WriteTargets(*entry.adapter, response);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* DiffAdapters(grpc::CallbackServerContext* context,
                                         const adapter::v1::DiffAdaptersRequest* request,
                                         adapter::v1::DiffAdaptersResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const serving::CatalogEntry a, Find(request->a()));
      ASSIGN_OR_RETURN(const serving::CatalogEntry b, Find(request->b()));
      WriteDifference(*a.adapter, *b.adapter, response);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* LoadAdapter(grpc::CallbackServerContext* context,
                                        const adapter::v1::LoadAdapterRequest* request,
                                        adapter::v1::LoadAdapterResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      if (!paths_are_local_) {
        return Error(absl::StatusCode::kFailedPrecondition, reasons::kPathsAreLocal,
                     "clients on other machines can call this node (api.listen, api.allow_remote), "
                     "so it does not read files by path; send the file with `ruvd adapter import`");
      }
      ASSIGN_OR_RETURN(const serving::CatalogEntry entry,
                       catalog_.Load(request->path(), WeightOf(*request)));
      WriteAdapter(entry, response->mutable_adapter());
      return absl::OkStatus();
    });
  }

  grpc::ServerReadReactor<adapter::v1::ImportAdapterRequest>* ImportAdapter(
      grpc::CallbackServerContext* context, adapter::v1::ImportAdapterResponse* response) override {
    return AdapterUpload::Start(
        context, {.uploads = &uploads_,
                  .most_uploads = limits::kMaxAdapterUploads,
                  .patience = limits::kAdapterUploadPatience,
                  .check = CheckAdapterFile,
                  .store = [this, response](const adapter::v1::AdapterFile& file, std::string bytes,
                                            const AdapterUpload::Done& done) {
                    lane_.Post(
                        [this, response, file, bytes = std::move(bytes)]() -> absl::Status {
                          ASSIGN_OR_RETURN(const serving::CatalogEntry entry,
                                           catalog_.Import(bytes, WeightOf(file)));
                          WriteAdapter(entry, response->mutable_adapter());
                          return absl::OkStatus();
                        },
                        done);
                  }});
  }

  grpc::ServerUnaryReactor* UnloadAdapter(grpc::CallbackServerContext* context,
                                          const adapter::v1::UnloadAdapterRequest* request,
                                          adapter::v1::UnloadAdapterResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const uint32_t version,
                       catalog_.Unload(request->adapter().name(), VersionOf(request->adapter())));
      response->set_version(version);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* PinAdapter(grpc::CallbackServerContext* context,
                                       const adapter::v1::PinAdapterRequest* request,
                                       adapter::v1::PinAdapterResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const serving::CatalogEntry entry,
                       catalog_.SetPinned(request->adapter().name(), VersionOf(request->adapter()),
                                          request->pinned()));
      WriteAdapter(entry, response->mutable_adapter());
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* RollbackAdapter(
      grpc::CallbackServerContext* context, const adapter::v1::RollbackAdapterRequest* request,
      adapter::v1::RollbackAdapterResponse* response) override {
    return Run(context, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const serving::CatalogEntry entry,
                       catalog_.Rollback(request->adapter().name(), VersionOf(request->adapter())));
      WriteAdapter(entry, response->mutable_adapter());
      return absl::OkStatus();
    });
  }

  grpc::ServerWriteReactor<adapter::v1::ExportAdapterResponse>* ExportAdapter(
      grpc::CallbackServerContext* context,
      const adapter::v1::ExportAdapterRequest* request) override {
    if (downloads_.fetch_add(1) >= limits::kMaxDownloads) {
      downloads_.fetch_sub(1);
      return AdapterDownload::Refuse(context, TooManyDownloads());
    }
    return AdapterDownload::Start(
        context, executor_, [this, request] { return Export(*request); },
        [this] { downloads_.fetch_sub(1); });
  }

 private:
  // Runs on another thread than gRPC's, because files are read and written.
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                std::function<absl::Status()> answer) {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, std::move(answer));
    return reactor;
  }

  absl::StatusOr<serving::CatalogEntry> Find(const adapter::v1::AdapterRef& ref) {
    return catalog_.Find(ref.name(), VersionOf(ref));
  }

  absl::StatusOr<std::string> FileOf(const adapter::v1::ExportAdapterRequest& request,
                                     const inference::Talora& talora) {
    if (request.part_case() == adapter::v1::ExportAdapterRequest::PART_NOT_SET) {
      return SerializeTaloraFile(talora, model_);
    }
    const bool bank = request.part_case() == adapter::v1::ExportAdapterRequest::kBank;
    ASSIGN_OR_RETURN(const auto plain,
                     inference::PlainAdapter(
                         talora, bank ? std::optional<size_t>(request.bank()) : std::nullopt));
    return SerializeAdapterFile(*plain, model_, talora.words);
  }

  absl::StatusOr<AdapterDownload::Next> Export(const adapter::v1::ExportAdapterRequest& request) {
    ASSIGN_OR_RETURN(const serving::CatalogEntry entry, Find(request.adapter()));
    ASSIGN_OR_RETURN(std::string file, FileOf(request, *entry.adapter));
    if (file.size() > limits::kMaxImportedAdapterBytes) {
      return WithLimit(Error(absl::StatusCode::kFailedPrecondition, reasons::kLimitExceeded,
                             "the file has {} bytes, more than the {} that can be sent; {}",
                             file.size(), limits::kMaxImportedAdapterBytes,
                             entry.path.empty() ? "export its parts one by one"
                                                : fmt::format("copy {} on the node's machine",
                                                              SanitizeForDisplay(entry.path, 256))),
                       {.limit = limits::kMaxImportedAdapterBytes, .value = file.size()});
    }
    return [file = std::move(file),
            sent = size_t{0}](adapter::v1::ExportAdapterResponse* next) mutable {
      next->set_total_bytes(file.size());
      next->set_data(file.substr(sent, limits::kMaxChunkBytes));
      sent += next->data().size();
      return !next->data().empty();
    };
  }

  serving::AdapterCatalog& catalog_;
  const inference::Model& model_;
  const bool paths_are_local_;
  Executor& executor_;
  QueryLane lane_;
  std::atomic<size_t> uploads_{0};
  std::atomic<size_t> downloads_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdapterService(const ServiceDependencies& dependencies) {
  return std::make_unique<AdapterServiceImpl>(dependencies);
}

}  // namespace ruvd::api
