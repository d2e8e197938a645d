// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The peer: hnswlib as Debian packages it, compiled for this machine as its documentation asks.

#include "bench/ann_engine.h"

#ifdef RUVD_HAVE_HNSWLIB
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <hnswlib/hnswlib.h>
#pragma GCC diagnostic pop

namespace ruvd::bench {
namespace {

class HnswlibEngine : public AnnEngine {
 public:
  HnswlibEngine(const Matrix& base, const AnnOptions& options)
      : space_(base.dimension), index_(&space_, base.rows, options.m, options.ef_construction) {
    for (size_t row = 0; row < base.rows; ++row) {
      index_.addPoint(base.row(row).data(), row);
    }
  }
  std::string name() const override { return "hnswlib"; }
  AnnAnswer Search(std::span<const float> query, size_t k, size_t ef) override {
    index_.setEf(std::max(ef, k));
    auto found = index_.searchKnn(query.data(), k);
    AnnAnswer answer;
    answer.rows.resize(found.size());
    for (size_t i = answer.rows.size(); i > 0; --i, found.pop()) {
      answer.rows[i - 1] = static_cast<uint32_t>(found.top().second);
    }
    return answer;
  }

 private:
  hnswlib::InnerProductSpace space_;
  hnswlib::HierarchicalNSW<float> index_;
};

}  // namespace

std::unique_ptr<AnnEngine> MakeHnswlibEngine(const Matrix& base, const AnnOptions& options) {
  return std::make_unique<HnswlibEngine>(base, options);
}

}  // namespace ruvd::bench

#else

namespace ruvd::bench {

std::unique_ptr<AnnEngine> MakeHnswlibEngine(const Matrix&, const AnnOptions&) {
  return nullptr;
}

}  // namespace ruvd::bench

#endif
