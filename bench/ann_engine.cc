// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/ann_engine.h"

#include <algorithm>
#include <ctime>
#include <fstream>

#include "base/status.h"

namespace ruvd::bench {
namespace {

constexpr size_t kStep = 1024;

// The base file as a table of rows that the caller keeps.
class MatrixSource : public storage::HnswRowSource {
 public:
  explicit MatrixSource(const Matrix& matrix) : matrix_(matrix) {}
  bool Read(uint32_t label, uint32_t, std::span<float> row) const override {
    const std::span<const float> from = matrix_.row(label);
    std::copy(from.begin(), from.end(), row.begin());
    return true;
  }

 private:
  const Matrix& matrix_;
};

class RuvdEngine : public AnnEngine {
 public:
  RuvdEngine(RuvdIndex& index, bool filtered, storage::HnswPath path)
      : index_(index), filtered_(filtered), path_(path) {}

  std::string name() const override {
    switch (path_) {
      case storage::HnswPath::kAuto:
        return "ruvd";
      case storage::HnswPath::kScan:
        return "ruvd-scan";
      case storage::HnswPath::kWalk:
        return "ruvd-walk";
      case storage::HnswPath::kTwoHop:
        break;
    }
    return "ruvd-two-hop";
  }
  AnnAnswer Search(std::span<const float> query, size_t k, size_t ef) override {
    storage::HnswQuery request{.vector = query, .k = k, .ef = ef, .path = path_};
    if (filtered_) {
      request.filter.owner = 1;
    }
    AnnAnswer answer;
    const auto hits = index_.index().Search(request, &answer.trace);
    RUVD_CHECK(hits.ok());
    for (const storage::HnswHit& hit : *hits) {
      answer.rows.push_back(hit.label);
      answer.similarities.push_back(hit.similarity);
    }
    return answer;
  }

 private:
  RuvdIndex& index_;
  const bool filtered_;
  const storage::HnswPath path_;
};

}  // namespace

double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

size_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string key;
  size_t kib = 0;
  while (status >> key) {
    if (key == "RssAnon:") {
      status >> kib;
      break;
    }
  }
  return kib * 1024;
}

RuvdIndex::RuvdIndex(const Matrix& base, const std::vector<bool>& admitted,
                     const AnnOptions& options)
    : base_(base), admitted_(admitted) {
  storage::HnswOptions made{.dimension = static_cast<uint32_t>(base.dimension),
                            .m = options.m,
                            .ef_construction = options.ef_construction,
                            .rescore = options.rescore};
  if (options.rescore == storage::HnswRescore::kSource) {
    source_ = std::make_unique<MatrixSource>(base);
    made.rows = source_.get();
  }
  auto index = storage::HnswIndex::Create(made);
  RUVD_CHECK(index.ok());
  index_ = std::move(*index);
  const double before = ThreadCpuSeconds();
  for (uint32_t row = 0; row < base.rows; ++row) {
    Put(row, 1);
  }
  put_cpu_us_ = 1e6 * (ThreadCpuSeconds() - before) / static_cast<double>(base.rows);
  Settle();
}

RuvdIndex::~RuvdIndex() = default;

void RuvdIndex::Put(uint32_t row, uint32_t generation) {
  const bool in = !admitted_.empty() && admitted_[row];
  const absl::Status put = index_->Put({.label = row,
                                        .generation = generation,
                                        .vector = base_.row(row),
                                        .attributes = {.owner = in ? 1U : 0U}});
  RUVD_CHECK(put.ok());
}

void RuvdIndex::Settle() {
  do {
    while (index_->RepairBatch(kStep, true)) {
    }
  } while (index_->LinkBatch(kStep) > 0);
}

std::unique_ptr<AnnEngine> MakeRuvdEngine(RuvdIndex& index, bool filtered, storage::HnswPath path) {
  return std::make_unique<RuvdEngine>(index, filtered, path);
}

}  // namespace ruvd::bench
