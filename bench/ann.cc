// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Vector search: makes data sets, and measures our index beside hnswlib on the same files. Recall
// stands next to every time. Times are CPU times of one thread, the best of several passes in which
// the engines take turns.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/ann_data.h"
#include "bench/ann_engine.h"
#include "bench/ann_load.h"
#include "bench/ann_truth.h"

namespace ruvd::bench {
namespace {

constexpr uint64_t kSeed = 20261121;
constexpr double kRemovedPart = 0.2;  // share of the rows that each round of --deletes removes

struct Arguments {
  // make
  std::string kind = "clustered";
  size_t n = 100000;
  size_t dim = 768;
  size_t queries = 1000;
  std::string out;
  std::string corpus;
  // measure
  std::string base;
  std::string query;
  size_t k = 10;
  std::vector<size_t> ef = {16, 24, 32, 64};
  double filter = 0;
  std::string filter_kind = "random";
  std::string peer;
  size_t deletes = 0;
  size_t passes = 3;
  uint32_t m = 16;
  uint32_t ef_construction = 200;
  uint32_t peer_m = 0;
  std::string rescore = "codes";
  bool scan = false;
  LoadOptions load{.searchers = 0};
};

struct Work {
  Matrix base;
  Matrix queries;
  std::vector<bool> admitted;  // empty: all
  std::vector<float> thresholds;
  size_t possible = 0;
};

// One engine at one ef, in its best pass.
struct Score {
  double recall = 0;
  double cpu_s = 1e300;
  double p50_us = 1e300;
  double p99_us = 1e300;
  double similarity_error = 0;  // root of the mean square, over all hits
  size_t scanned = 0;           // searches
  size_t walked = 0;
  size_t two_hop = 0;
  size_t gave_up = 0;
};

// The path that most searches took.
std::string_view PathOf(const Score& score, size_t searches) {
  return 2 * score.two_hop > searches  ? "two-hop"
         : 2 * score.walked > searches ? "walk"
         : score.scanned > 0           ? "scan"
                                       : "";
}

absl::Status Make(const Arguments& arguments) {
  DataSet set;
  if (arguments.kind == "text") {
    ASSIGN_OR_RETURN(
        set, MakeText(arguments.corpus, arguments.n, arguments.dim, arguments.queries, kSeed));
  } else {
    set = (arguments.kind == "iso" ? MakeIso : MakeClustered)(arguments.n, arguments.dim,
                                                              arguments.queries, kSeed);
  }
  RETURN_IF_ERROR(WriteFbin(arguments.out + ".base.fbin", set.base));
  return WriteFbin(arguments.out + ".query.fbin", set.queries);
}

// The rows that the filter admits: any ones, or those nearest to one row, which are far from most
// queries.
std::vector<bool> Admitted(const Matrix& base, const Arguments& arguments) {
  Random random(kSeed);
  std::vector<float> keys(base.rows);
  const std::span<const float> centre = base.row(random.Below(base.rows));
  for (size_t i = 0; i < base.rows; ++i) {
    keys[i] = arguments.filter_kind == "cluster"
                  ? -FloatDot(centre.data(), base.row(i).data(), base.dimension)
                  : static_cast<float>(random.Uniform());
  }
  std::vector<float> sorted = keys;
  const auto last = static_cast<size_t>(arguments.filter * static_cast<double>(base.rows));
  const auto at = sorted.begin() + static_cast<ptrdiff_t>(std::min(last, base.rows - 1));
  std::nth_element(sorted.begin(), at, sorted.end());
  std::vector<bool> admitted(base.rows);
  for (size_t i = 0; i < base.rows; ++i) {
    admitted[i] = keys[i] <= *at;
  }
  return admitted;
}

absl::StatusOr<Work> Load(const Arguments& arguments) {
  Work work;
  ASSIGN_OR_RETURN(work.base, ReadFbin(arguments.base));
  ASSIGN_OR_RETURN(work.queries, ReadFbin(arguments.query));
  if (work.base.dimension != work.queries.dimension) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                 "rows have {} values, queries {}; give files of one dimension",
                 work.base.dimension, work.queries.dimension);
  }
  for (Matrix* matrix : {&work.base, &work.queries}) {
    for (size_t i = 0; i < matrix->rows; ++i) {
      Normalise({matrix->values.data() + i * matrix->dimension, matrix->dimension});
    }
  }
  size_t admitted = work.base.rows;
  if (arguments.filter > 0) {
    work.admitted = Admitted(work.base, arguments);
    admitted = static_cast<size_t>(std::count(work.admitted.begin(), work.admitted.end(), true));
  }
  work.possible = std::min(arguments.k, admitted);
  work.thresholds = Thresholds(work.base, work.queries, arguments.k, work.admitted);
  return work;
}

void Pass(const Work& work, AnnEngine& engine, size_t k, size_t ef, Score* score) {
  std::vector<double> times;
  double recall = 0;
  double total = 0;
  double errors = 0;
  size_t hits = 0;
  score->scanned = score->walked = score->two_hop = score->gave_up = 0;
  for (size_t q = 0; q < work.queries.rows; ++q) {
    const std::span<const float> query = work.queries.row(q);
    const double before = ThreadCpuSeconds();
    const AnnAnswer answer = engine.Search(query, k, ef);
    times.push_back(ThreadCpuSeconds() - before);
    total += times.back();
    recall += RecallOf(work.base, query, answer.rows, work.possible, work.thresholds[q]);
    for (size_t i = 0; i < answer.similarities.size(); ++i, ++hits) {
      const float exact =
          FloatDot(query.data(), work.base.row(answer.rows[i]).data(), work.base.dimension);
      errors += std::pow(double{answer.similarities[i]} - double{exact}, 2);
    }
    score->scanned += answer.trace.scanned ? 1 : 0;
    score->walked += answer.trace.walked ? 1 : 0;
    score->two_hop += answer.trace.two_hop ? 1 : 0;
    score->gave_up += answer.trace.gave_up ? 1 : 0;
  }
  score->similarity_error = hits > 0 ? std::sqrt(errors / static_cast<double>(hits)) : 0;
  std::sort(times.begin(), times.end());
  score->recall = recall / static_cast<double>(work.queries.rows);
  score->cpu_s = std::min(score->cpu_s, total);
  score->p50_us = std::min(score->p50_us, 1e6 * times[times.size() / 2]);
  score->p99_us = std::min(score->p99_us, 1e6 * times[times.size() * 99 / 100]);
}

struct Measured {
  std::unique_ptr<AnnEngine> engine;
  double build_cpu_s = 0;
  double bytes_per_vector = 0;
};

void MeasureAll(const Work& work, const Arguments& arguments, const std::vector<Measured>& all) {
  for (const size_t ef : arguments.ef) {
    std::vector<Score> scores(all.size());
    for (size_t pass = 0; pass < arguments.passes; ++pass) {
      for (size_t i = 0; i < all.size(); ++i) {
        Pass(work, *all[i].engine, arguments.k, ef, &scores[i]);
      }
    }
    for (size_t i = 0; i < all.size(); ++i) {
      fmt::print(
          "{{\"engine\": \"{}\", \"ef\": {}, \"recall\": {:.4f}, \"cpu_qps\": {:.0f}, \"p50_us\": "
          "{:.1f}, \"p99_us\": {:.1f}, \"path\": \"{}\", \"gave_up\": {:.3f}, "
          "\"similarity_error\": "
          "{:.1e}, \"bytes_per_vector\": {:.0f}, \"build_cpu_s\": {:.1f}, \"filter\": {}}}\n",
          all[i].engine->name(), ef, scores[i].recall,
          static_cast<double>(work.queries.rows) / scores[i].cpu_s, scores[i].p50_us,
          scores[i].p99_us, PathOf(scores[i], work.queries.rows),
          static_cast<double>(scores[i].gave_up) / static_cast<double>(work.queries.rows),
          scores[i].similarity_error, all[i].bytes_per_vector, all[i].build_cpu_s,
          arguments.filter);
      std::fflush(stdout);
    }
  }
}

// Removes a fifth of the rows and puts them back, again and again.
void Churn(const Work& work, const Arguments& arguments, RuvdIndex* index, AnnEngine* engine) {
  Random random(kSeed);
  std::vector<uint32_t> order(work.base.rows);
  std::iota(order.begin(), order.end(), 0U);
  const auto part = static_cast<size_t>(kRemovedPart * static_cast<double>(order.size()));
  for (size_t round = 0; round <= arguments.deletes; ++round) {
    const double before = ThreadCpuSeconds();
    if (round > 0) {
      random.Shuffle(std::span(order));
      for (size_t i = 0; i < part; ++i) {
        index->index().Remove(order[i]);
      }
      index->Settle();
      for (size_t i = 0; i < part; ++i) {
        index->Put(order[i], static_cast<uint32_t>(round) + 1);
      }
      index->Settle();
    }
    const double cpu_s = ThreadCpuSeconds() - before;
    for (const size_t ef : arguments.ef) {
      Score score;
      Pass(work, *engine, arguments.k, ef, &score);
      const storage::HnswCounts counts = index->index().Counts();
      fmt::print(
          "{{\"engine\": \"ruvd\", \"round\": {}, \"ef\": {}, \"recall\": {:.4f}, \"p50_us\": "
          "{:.1f}, \"memory_bytes\": {}, \"nodes\": {}, \"live\": {}, \"round_cpu_s\": {:.1f}}}\n",
          round, ef, score.recall, score.p50_us, counts.memory_bytes, counts.nodes, counts.live,
          cpu_s);
      std::fflush(stdout);
    }
  }
}

storage::HnswRescore RescoreOf(const std::string& name) {
  return name == "residual" ? storage::HnswRescore::kResidual
         : name == "source" ? storage::HnswRescore::kSource
                            : storage::HnswRescore::kCodes;
}

absl::Status Measure(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Work work, Load(arguments));
  const auto rows = static_cast<double>(work.base.rows);
  AnnOptions options{arguments.m, arguments.ef_construction, RescoreOf(arguments.rescore)};
  size_t resident = ResidentBytes();
  double before = ThreadCpuSeconds();
  RuvdIndex index(work.base, work.admitted, options);
  const double build_s = ThreadCpuSeconds() - before;
  const double bytes = static_cast<double>(ResidentBytes() - resident) / rows;
  fmt::print("{{\"engine\": \"ruvd\", \"build_cpu_s\": {:.1f}, \"put_cpu_us\": {:.1f}}}\n", build_s,
             index.put_cpu_us());
  std::fflush(stdout);
  const bool filtered = !work.admitted.empty();
  std::vector<Measured> all;
  all.push_back({MakeRuvdEngine(index, filtered, storage::HnswPath::kAuto), build_s, bytes});
  if (filtered || arguments.scan) {
    all.push_back({MakeRuvdEngine(index, filtered, storage::HnswPath::kScan), 0, bytes});
  }
  if (filtered) {
    all.push_back({MakeRuvdEngine(index, filtered, storage::HnswPath::kWalk), build_s, bytes});
    all.push_back({MakeRuvdEngine(index, filtered, storage::HnswPath::kTwoHop), build_s, bytes});
  }
  if (arguments.load.searchers > 0) {
    for (const size_t ef : arguments.ef) {
      LoadOptions load = arguments.load;
      load.k = arguments.k;
      load.ef = ef;
      MeasureLoad(work.queries, index, work.base.rows, load);
    }
    return absl::OkStatus();
  }
  if (arguments.deletes > 0) {
    Churn(work, arguments, &index, all.front().engine.get());
    return absl::OkStatus();
  }
  if (!arguments.peer.empty() && !filtered) {  // Debian's hnswlib has no filters
    options.m = arguments.peer_m > 0 ? arguments.peer_m : arguments.m;
    resident = ResidentBytes();
    before = ThreadCpuSeconds();
    std::unique_ptr<AnnEngine> peer = MakeHnswlibEngine(work.base, options);
    if (peer == nullptr) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileNotFound,
                   "built without hnswlib; apt-get install libhnswlib-dev and configure again");
    }
    const double peer_s = ThreadCpuSeconds() - before;
    all.push_back(
        {std::move(peer), peer_s, static_cast<double>(ResidentBytes() - resident) / rows});
  }
  MeasureAll(work, arguments, all);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Vector search: recall and CPU time");
  CLI::App* make = app.add_subcommand("make", "write PREFIX.base.fbin and PREFIX.query.fbin");
  make->add_option("--kind", arguments.kind)->check(CLI::IsMember({"clustered", "iso", "text"}));
  make->add_option("--n", arguments.n, "rows")->check(CLI::Range(1, 1 << 24));
  make->add_option("--dim", arguments.dim)->check(CLI::Range(1, 16384));
  make->add_option("--queries", arguments.queries)->check(CLI::Range(1, 1 << 20));
  make->add_option("--out", arguments.out, "prefix of the files")->required();
  make->add_option("--corpus", arguments.corpus, "folder of .jsonl.zst files, for text");
  app.add_option("--base", arguments.base, "fbin file of rows; they are normalised");
  app.add_option("--query", arguments.query, "fbin file of queries");
  app.add_option("--k", arguments.k)->check(CLI::Range(1, 1000));
  app.add_option("--ef", arguments.ef, "breadths of search")->delimiter(',');
  app.add_option("--filter", arguments.filter, "part of the rows that a filter admits")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--filter-kind", arguments.filter_kind,
                 "rows at random, or those nearest to one of them")
      ->check(CLI::IsMember({"random", "cluster"}));
  app.add_option("--peer", arguments.peer)->check(CLI::IsMember({"hnswlib"}));
  app.add_option("--deletes", arguments.deletes,
                 "rounds of removing and restoring 20 % of the rows");
  app.add_option("--passes", arguments.passes, "of which the best counts")
      ->check(CLI::Range(1, 100));
  app.add_option("--m", arguments.m, "links of a node");
  app.add_option("--ef-construction", arguments.ef_construction);
  app.add_option("--peer-m", arguments.peer_m, "the peer's links of a node; default: --m");
  app.add_option("--rescore", arguments.rescore,
                 "what orders the best candidates; codes as in the pattern store")
      ->check(CLI::IsMember({"residual", "codes", "source"}));
  app.add_option("--searchers", arguments.load.searchers,
                 "threads whose searches are timed alone and beside a writer");
  app.add_option("--puts", arguments.load.puts_per_s, "of that writer, a second");
  app.add_flag("--scan", arguments.scan, "measure exact scans too");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = make->parsed() ? Make(arguments) : Measure(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(status));
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
