// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <exception>
#include <utility>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::metrics {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.001, 0.003, 0.01, 0.03, 0.1,
                                                          0.3,   1,     3,    10,   30};

// Reads values at scrape time instead of pushing them on every change.
class ReaderCollectable final : public prometheus::Collectable {
 public:
  struct Entry {
    std::string name;
    std::string help;
    std::string label;
    bool counter = false;
    Metrics::Reader reader;
  };

  void Add(Entry entry) {
    MutexLock lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  void Clear() {
    MutexLock lock(mutex_);
    entries_.clear();
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    MutexLock lock(mutex_);
    std::vector<prometheus::MetricFamily> families;
    families.reserve(entries_.size());
    for (const Entry& entry : entries_) {
      families.push_back(Read(entry));
    }
    return families;
  }

 private:
  static prometheus::MetricFamily Read(const Entry& entry) {
    prometheus::MetricFamily family{
        entry.name,
        entry.help,
        entry.counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
        {}};
    for (const Metrics::Sample& sample : entry.reader()) {
      prometheus::ClientMetric metric;
      if (!entry.label.empty()) {
        metric.label.push_back({entry.label, sample.label});
      }
      (entry.counter ? metric.counter.value : metric.gauge.value) = sample.value;
      family.metric.push_back(std::move(metric));
    }
    return family;
  }

  mutable Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

class PrometheusMetrics final : public Metrics {
 public:
  absl::Status Listen(const std::string& listen) {
    if (listen.empty()) {
      return absl::OkStatus();
    }
    try {
      constexpr size_t kThreads = 1;  // usually there is one scraper
      exposer_ = std::make_unique<prometheus::Exposer>(listen, kThreads);
    } catch (const std::exception& error) {
      return Error(absl::StatusCode::kUnavailable, reasons::kConfigInvalid,
                   "the metrics endpoint cannot listen on {}: {}; choose another metrics.listen",
                   listen, error.what());
    }
    exposer_->RegisterCollectable(registry_);
    exposer_->RegisterCollectable(readers_);
    const std::vector<int> ports = exposer_->GetListeningPorts();
    address_ =
        listen.substr(0, listen.rfind(':') + 1) + std::to_string(ports.empty() ? 0 : ports.front());
    return absl::OkStatus();
  }

  std::string address() const override { return address_; }

  void RequestEnded(std::string_view endpoint, std::string_view code, double seconds) override {
    const std::string name(endpoint);
    requests_.Add({{"endpoint", name}, {"code", std::string(code)}}).Increment();
    durations_.Add({{"endpoint", name}}, kSeconds).Observe(seconds);
  }
  void StepEnded(double seconds, int committed) override {
    step_seconds_.Observe(seconds);
    tokens_.Increment(committed);
  }
  void BatchStepped(size_t completions, size_t tokens) override {
    batch_completions_.Observe(static_cast<double>(completions));
    batch_tokens_.Observe(static_cast<double>(tokens));
  }
  void GenerationsPreempted(size_t completions) override {
    preempted_.Increment(static_cast<double>(completions));
  }
  void FeedbackReceived(std::string_view signal, bool learned) override {
    feedback_.Add({{"signal", std::string(signal)}, {"learned", learned ? "true" : "false"}})
        .Increment();
  }
  void LearningRound(double seconds) override { round_seconds_.Observe(seconds); }
  void AddReader(std::string name, std::string help, std::string label, bool counter,
                 Reader reader) override {
    readers_->Add({std::move(name), std::move(help), std::move(label), counter, std::move(reader)});
  }
  void RemoveReaders() override { readers_->Clear(); }

 private:
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  std::shared_ptr<ReaderCollectable> readers_ = std::make_shared<ReaderCollectable>();
  prometheus::Family<prometheus::Counter>& requests_ = prometheus::BuildCounter()
                                                           .Name("ruvd_requests_total")
                                                           .Help("Finished requests")
                                                           .Register(*registry_);
  prometheus::Family<prometheus::Histogram>& durations_ =
      prometheus::BuildHistogram()
          .Name("ruvd_request_duration_seconds")
          .Help("Time from admission to the last byte")
          .Register(*registry_);
  prometheus::Histogram& step_seconds_ = prometheus::BuildHistogram()
                                             .Name("ruvd_denoise_step_seconds")
                                             .Help("Time of one denoising step or decoded token")
                                             .Register(*registry_)
                                             .Add({}, kSeconds);
  prometheus::Histogram& batch_completions_ =
      prometheus::BuildHistogram()
          .Name("ruvd_batch_completions")
          .Help("Completions that shared one forward pass")
          .Register(*registry_)
          .Add({}, prometheus::Histogram::BucketBoundaries{1, 2, 3, 4, 6, 8});
  prometheus::Histogram& batch_tokens_ =
      prometheus::BuildHistogram()
          .Name("ruvd_batch_tokens")
          .Help("Tokens evaluated by one forward pass of completions")
          .Register(*registry_)
          .Add({}, prometheus::Histogram::BucketBoundaries{1, 8, 32, 64, 128, 256, 512});
  prometheus::Counter& tokens_ = prometheus::BuildCounter()
                                     .Name("ruvd_tokens_committed_total")
                                     .Help("Generated tokens")
                                     .Register(*registry_)
                                     .Add({});
  prometheus::Counter& preempted_ =
      prometheus::BuildCounter()
          .Name("ruvd_kv_preempted_total")
          .Help("Completions that released their keys and values in favour of older ones")
          .Register(*registry_)
          .Add({});
  prometheus::Family<prometheus::Counter>& feedback_ = prometheus::BuildCounter()
                                                           .Name("ruvd_feedback_total")
                                                           .Help("Received feedback")
                                                           .Register(*registry_);
  prometheus::Histogram& round_seconds_ = prometheus::BuildHistogram()
                                              .Name("ruvd_learn_loop_seconds")
                                              .Help("Time of background rounds")
                                              .Register(*registry_)
                                              .Add({{"loop", "background"}}, kSeconds);
  std::string address_;
  std::unique_ptr<prometheus::Exposer>
      exposer_;  // declared last, because its threads read the members above
};

}  // namespace

absl::StatusOr<std::unique_ptr<Metrics>> Metrics::Create(const std::string& listen) {
  auto metrics = std::make_unique<PrometheusMetrics>();
  RETURN_IF_ERROR(metrics->Listen(listen));
  return metrics;
}

}  // namespace ruvd::metrics
