// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/pattern_import.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/limits.h"
#include "node/cli/pattern_file.h"
#include "node/client/busy.h"
#include "node/client/client.h"
#include "node/client/limits.h"
#include "node/client/rpc_error.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/pattern/v1/pattern_file.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using google::protobuf::util::TimeUtil;
using pattern::v1::Pattern;
using pattern::v1::PatternFile;
using pattern::v1::PatternFileLine;
using pattern::v1::UpsertPatternRequest;
using pattern::v1::UpsertPatternResponse;

struct ImportCounts {
  uint64_t created = 0;
  uint64_t replaced = 0;
  uint64_t unchanged = 0;
  uint64_t kept = 0;                          // the pattern of the node is newer
  uint64_t expired = 0;                       // skipped because they are expired
  uint64_t refused = 0;                       // by the node
  std::map<uint64_t, absl::Status> refusals;  // the first refusals, by line
};

// Returns whether the error concerns this pattern only, and not all patterns.
bool IsRefusal(const absl::Status& status) {
  const std::string reason = ReasonOf(status);
  return reason == reasons::kInvalidArgument || reason == reasons::kWrongDimension ||
         reason == reasons::kAdapterInvalid || reason == reasons::kAdapterForOtherModel ||
         reason == reasons::kLimitExceeded || reason == reasons::kStoreCorrupt;
}

absl::Status Count(UpsertPatternResponse::Outcome outcome, ImportCounts* counts) {
  switch (outcome) {
    case UpsertPatternResponse::OUTCOME_CREATED:
      ++counts->created;
      return absl::OkStatus();
    case UpsertPatternResponse::OUTCOME_REPLACED:
      ++counts->replaced;
      return absl::OkStatus();
    case UpsertPatternResponse::OUTCOME_UNCHANGED:
      ++counts->unchanged;
      return absl::OkStatus();
    case UpsertPatternResponse::OUTCOME_KEPT:
      ++counts->kept;
      return absl::OkStatus();
    default:
      return Error(
          absl::StatusCode::kInternal, reasons::kInternal,
          "the node answers with outcome {}, which this ruvd does not know; use the same version",
          static_cast<int>(outcome));
  }
}

// Sends patterns, several at a time, because the node writes patterns that arrive together to disk
// together. A pattern that the node was too busy for is sent again after the delay that the node
// names, and before any new pattern.
class Uploader {
 public:
  Uploader(client::NodeClient& client, ImportCounts* counts) : client_(client), counts_(*counts) {}
  ~Uploader() { Finish().IgnoreError(); }
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Waits until another call may start. Returns false after an error; then nothing more is sent.
  bool Send(UpsertPatternRequest request, std::string adapter, uint64_t line) {
    if (!WaitForLessThan(limits::kImportCalls).ok()) {
      return false;
    }
    const auto file = std::make_shared<PatternFile>();
    *file->mutable_pattern() = std::move(request);
    file->set_adapter_bytes(adapter.size());
    Start({.bytes = file->ByteSizeLong() + adapter.size(),
           .file = file,
           .adapter = std::make_shared<const std::string>(std::move(adapter)),
           .line = line});
    return true;
  }

  // Waits for all answers and returns the error that ended the upload, if any.
  absl::Status Finish() { return WaitForLessThan(1); }

 private:
  struct Upload {
    size_t bytes = 0;
    std::shared_ptr<const PatternFile> file;
    std::shared_ptr<const std::string> adapter;
    uint64_t line = 0;
    int tries = 1;
    std::chrono::milliseconds delay{};  // before the next attempt
  };

  absl::Status WaitForLessThan(size_t calls) {
    for (;;) {
      Upload again;
      {
        const MutexLock lock(mutex_);
        while (busy_.empty() && calls_ > 0 && (calls_ >= calls || bytes_ > limits::kImportBytes)) {
          answered_.Wait(mutex_);
        }
        if (busy_.empty()) {
          return error_;
        }
        again = std::move(busy_.front());
        busy_.pop_front();
      }
      std::this_thread::sleep_for(again.delay);
      Start(std::move(again));
    }
  }

  void Start(Upload upload) {
    {
      const MutexLock lock(mutex_);
      ++calls_;
      bytes_ += upload.bytes;
    }
    const auto done = [this, upload](const auto& response) {
      TakeAnswer(response.ok() ? Outcome(response->outcome()) : response.status(), upload);
    };
    if (upload.adapter->empty()) {
      client_.StartUpsertPattern({upload.file, &upload.file->pattern()}, done);
    } else {
      client_.StartImportPattern(upload.file, upload.adapter, done);
    }
  }

  using Outcome = absl::StatusOr<UpsertPatternResponse::Outcome>;
  void TakeAnswer(const Outcome& outcome, const Upload& upload) {
    const MutexLock lock(mutex_);
    absl::Status status = outcome.ok() ? Count(*outcome, &counts_) : outcome.status();
    const auto delay = RetryDelayOf(status);
    if (delay && upload.tries < limits::kBusyTries && error_.ok()) {
      busy_.push_back(upload);
      busy_.back().delay = *delay;
      ++busy_.back().tries;
    } else if (IsRefusal(status)) {
      ++counts_.refused;
      counts_.refusals.emplace(upload.line, std::move(status));
      if (counts_.refusals.size() > limits::kShownRefusals) {
        counts_.refusals.erase(std::prev(counts_.refusals.end()));
      }
    } else if (!status.ok()) {
      error_.Update(Annotate(status, fmt::format("line {}", upload.line)));
      busy_.clear();
    }
    --calls_;
    bytes_ -= upload.bytes;
    answered_.NotifyAll();  // under the mutex, because the waiting thread may destroy this object
  }

  client::NodeClient& client_;
  Mutex mutex_;
  CondVar answered_;
  ImportCounts& counts_;  // guarded by the mutex, except `expired`
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Upload> busy_ ABSL_GUARDED_BY(mutex_);  // to be sent again
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

absl::Status OpenExport(const std::string& path, std::ifstream* in) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
                 "{} is not a regular file; an import reads its file twice, so copy the data to a "
                 "regular file first",
                 path);
  }
  in->open(path, std::ios::binary);
  return in->is_open()
             ? absl::OkStatus()
             : Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                     "{} cannot be read; name a file that `ruvd pattern export` wrote", path);
}

absl::StatusOr<PatternFileReader> FromTheBeginning(std::ifstream& in) {
  in.clear();
  in.seekg(0);
  return PatternFileReader::Open(in);
}

// Reads the whole file, compares it with the node and sends nothing. Returns the number of
// patterns.
absl::StatusOr<uint64_t> CheckExport(client::NodeClient& client, std::ifstream& in) {
  ASSIGN_OR_RETURN(PatternFileReader reader, FromTheBeginning(in));
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  const pattern::v1::PatternFileHeader& header = reader.header();
  const node::v1::NodeStatus& node = status.node();
  if (header.model_package() != node.model_package() ||
      header.dimension() != node.embedding_dimension()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "the patterns belong to model {} (package {}, {} values), but the node at {} "
                 "serves {} (package {}, {} values); embeddings of different models cannot be "
                 "compared, so nothing was imported",
                 header.model_name(), header.model_package(), header.dimension(), client.server(),
                 node.model(), node.model_package(), node.embedding_dimension());
  }
  for (uint64_t patterns = 0;; ++patterns) {
    ASSIGN_OR_RETURN(const auto line, reader.Next());
    if (!line) {
      return patterns;
    }
  }
}

// Refuses a file with more patterns than the node can keep, because they would evict one another.
// If file and node together have too many, patterns of the node may be evicted, which a message
// says. A node that does not report its capacity accepts all.
absl::Status CheckRoom(CommandContext& context, client::NodeClient& client, uint64_t patterns,
                       const std::string& path) {
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  const node::v1::PatternStatus& own = status.patterns();
  if (own.capacity() == 0) {
    return absl::OkStatus();
  }
  if (patterns <= own.capacity()) {
    if (patterns + own.stored() > own.capacity()) {
      context.err << fmt::format(
          "the node has {} patterns and keeps at most {}; with the {} of the file it removes the "
          "least valuable ones, unless patterns of the file replace its own\n",
          own.stored(), own.capacity(), patterns);
    }
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kLimitExceeded,
               "{} has {} patterns, but the node at {} keeps at most {}; raise its "
               "storage.patterns, or export only good patterns (--min-quality)",
               path, patterns, client.server(), own.capacity());
}

// A file without adapters says nothing about adapters, so the node's own adapter stays with its
// pattern.
absl::StatusOr<std::string> AdapterOnNode(client::NodeClient& client, const std::string& id) {
  auto stored = client::RetryWhileBusy([&] { return client.ExportPattern(id); });
  // The node has no such pattern, or cannot use its adapter.
  if (absl::IsNotFound(stored.status()) || client::IsDamaged(stored.status()) ||
      ReasonOf(stored.status()) == reasons::kFrameMismatch) {
    return std::string();
  }
  RETURN_IF_ERROR(stored.status());
  return std::move(stored->adapter);
}

// Patterns may expire during a long import.
bool IsExpired(const Pattern& pattern) {
  return pattern.has_expire_time() &&
         TimeUtil::TimestampToMilliseconds(pattern.expire_time()) <= SystemClock().WallMillis();
}

absl::Status ImportAll(client::NodeClient& client, std::ifstream& in, ImportCounts* counts) {
  ASSIGN_OR_RETURN(PatternFileReader reader, FromTheBeginning(in));
  Uploader uploader(client, counts);
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<PatternFileLine> line, reader.Next());
    if (!line) {
      break;
    }
    if (IsExpired(line->pattern())) {
      ++counts->expired;
      continue;
    }
    if (reader.header().without_adapters()) {
      ASSIGN_OR_RETURN(*line->mutable_adapter(), AdapterOnNode(client, line->pattern().id()));
    }
    UpsertPatternRequest request;
    *request.mutable_pattern() = std::move(*line->mutable_pattern());
    request.set_model_package(reader.header().model_package());
    request.set_only_if_newer(true);
    if (!uploader.Send(std::move(request), std::move(*line->mutable_adapter()), reader.line())) {
      break;
    }
  }
  return uploader.Finish();
}

void Print(CommandContext& context, const ImportCounts& counts) {
  if (context.json) {
    report::v1::ImportReport report;
    report.set_created(counts.created);
    report.set_replaced(counts.replaced);
    report.set_unchanged(counts.unchanged);
    report.set_kept(counts.kept);
    report.set_expired(counts.expired);
    report.set_refused(counts.refused);
    for (const auto& [line, status] : counts.refusals) {
      report::v1::ImportReport::Refusal& refusal = *report.add_refusals();
      refusal.set_line(line);
      refusal.set_message(MessageOf(status));
    }
    context.out << ToJsonLine(report);
    return;
  }
  context.out << fmt::format(
      "{} new, {} replaced, {} unchanged, {} kept because the node has newer ones, {} expired, {} "
      "refused\n",
      counts.created, counts.replaced, counts.unchanged, counts.kept, counts.expired,
      counts.refused);
  for (const auto& [line, status] : counts.refusals) {
    context.out << fmt::format("line {}: {}\n", line, PrintableLine(MessageOf(status)));
  }
}

// Returns the error of an import: the error that ended it, or else the first refusal.
absl::Status Judge(const absl::Status& status, const ImportCounts& counts) {
  if (!status.ok()) {
    return Annotate(status,
                    "not all patterns were imported; correct this and import the file again, which "
                    "does not change patterns that are already there");
  }
  if (counts.refused == 0) {
    return absl::OkStatus();
  }
  return Annotate(counts.refusals.begin()->second,
                  fmt::format("the node refused {} of the patterns and imported all others; the "
                              "first refused one is in line {}",
                              counts.refused, counts.refusals.begin()->first));
}

}  // namespace

absl::Status ImportPatterns(CommandContext& context, const std::string& path, bool check_only) {
  std::ifstream in;
  RETURN_IF_ERROR(OpenExport(path, &in));
  client::NodeClient client(context.server, context.credentials);
  const absl::StatusOr<uint64_t> patterns = CheckExport(client, in);
  if (!patterns.ok()) {
    return Annotate(patterns.status(), path);
  }
  RETURN_IF_ERROR(CheckRoom(context, client, *patterns, path));
  if (check_only) {
    report::v1::PatternFileReport report;
    report.set_file(path);
    report.set_patterns(*patterns);
    context.out << (context.json ? ToJsonLine(report)
                                 : fmt::format("{} patterns, the file is valid\n", *patterns));
    return absl::OkStatus();
  }
  ImportCounts counts;
  const absl::Status status = ImportAll(client, in, &counts);
  Print(context, counts);
  return Annotate(Judge(status, counts), path);
}

}  // namespace ruvd::cli
