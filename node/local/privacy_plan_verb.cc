// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd privacy plan`: predicts what signal a round of private learning keeps, before there is one.

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "federation/learner/privacy_plan.h"
#include "node/config/config.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "privacy/limits.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

struct PlanFlags {
  uint64_t lessons = 0;
  uint64_t users = 0;
  uint64_t nodes = 6;
  uint64_t values = 3584;
  uint64_t batch = 512;
  std::string tier = "masked";
  double epsilon = 8;
  double delta = 1e-6;
  uint32_t rounds = 20;
  double signal = 0.09;
  double clip_norm = config::NodeConfig().privacy.clip_norm;
  double cluster_noise = config::NodeConfig().privacy.noise;
};

absl::StatusOr<federation::PrivacyRequest> RequestOf(const PlanFlags& flags) {
  if (flags.tier != "masked" && flags.tier != "dp") {
    return UsageError(fmt::format("--tier is {}; give masked or dp", flags.tier));
  }
  if (flags.users > flags.lessons) {
    return UsageError(
        fmt::format("--users is {}, more than the {} lessons; give the users that have "
                    "lessons",
                    flags.users, flags.lessons));
  }
  const bool by_user = flags.users > 0;
  const size_t lessons = federation::PublicUnits(flags.lessons);
  const size_t units = by_user ? federation::PublicUnits(flags.users) : lessons;
  const double lessons_each =
      by_user ? static_cast<double>(flags.lessons) / static_cast<double>(flags.users) : 1;
  return federation::PrivacyRequest{
      .budget = {.unit = by_user ? privacy::PrivacyUnit::kUser : privacy::PrivacyUnit::kLesson,
                 .epsilon = flags.epsilon,
                 .delta = flags.delta,
                 .rounds = flags.rounds},
      .masked = flags.tier == "masked",
      .nodes = flags.nodes,
      .units = units,
      .dimension = flags.values,
      .clip_norm = flags.clip_norm,
      .signal = federation::SignalOf(lessons_each, flags.signal),
      .max_batch = flags.batch};
}

void Write(const federation::PrivacyPlan& plan, const federation::PlanAlternatives& more,
           report::v1::PrivacyPlanReport* report) {
  report->set_sampling_rate(plan.sampling_rate);
  report->set_expected_batch(plan.expected_batch);
  report->set_noise_multiplier(plan.noise_multiplier);
  report->set_epsilon(plan.epsilon);
  report->set_snr_of_round(plan.snr_round);
  report->set_snr(plan.snr_run);
  report->set_snr_of_twice_lessons(more.twice_units);
  report->set_snr_of_one_node_more(more.one_node_more);
  report->set_snr_of_twice_rounds(more.twice_rounds);
  report->set_snr_of_half_rank(more.half_rank);
}

void WriteAtNoise(double noise, const absl::StatusOr<federation::PrivacyPlan>& plan,
                  report::v1::PlanAtNoise* report) {
  report->set_noise(noise);
  if (!plan.ok()) {
    report->set_refusal(MessageOf(plan.status()));
    return;
  }
  report->set_sampling_rate(plan->sampling_rate);
  report->set_expected_batch(plan->expected_batch);
  report->set_epsilon(plan->epsilon);
  report->set_snr(plan->snr_run);
}

std::string SnrText(double snr) {
  return snr == 0 ? "no plan" : fmt::format("SNR {:.3g}", snr);
}

std::string AtNoiseText(const report::v1::PrivacyPlanReport& report) {
  const report::v1::PlanAtNoise& at = report.at_cluster_noise();
  if (!at.refusal().empty()) {
    return at.refusal();
  }
  return fmt::format("samples of {:.4g} (rate {:.4g}), epsilon {:.3f}, SNR {:.3g}",
                     at.expected_batch(), at.sampling_rate(), at.epsilon(), at.snr());
}

std::string Text(const report::v1::PrivacyPlanReport& report) {
  const bool by_user = report.users() > 0;
  const std::string unit = by_user ? "user" : "lesson";
  const std::string owned = by_user ? fmt::format(" with {} lessons", report.lessons()) : "";
  return FormatFields(
      {{unit + "s", fmt::format("{}{}, of which {:.4g} are in a round's sample in the mean (rate "
                                "{:.4g})",
                                by_user ? report.users() : report.lessons(), owned,
                                report.expected_batch(), report.sampling_rate())},
       {"noise", fmt::format("multiplier {:.4g} of what is revealed", report.noise_multiplier())},
       {"epsilon", fmt::format("{:.3f} at delta {:.1e} for a {} after {} rounds", report.epsilon(),
                               report.delta(), unit, report.rounds())},
       {"predicted", fmt::format("SNR {:.3g} after all rounds, {:.3g} of one round; {:g} is least",
                                 report.snr(), report.snr_of_round(), limits::kMinReleaseSnr)},
       {fmt::format("twice the {}s", unit), SnrText(report.snr_of_twice_lessons())},
       {"one node more", SnrText(report.snr_of_one_node_more())},
       {"twice the rounds", SnrText(report.snr_of_twice_rounds())},
       {"half the rank", SnrText(report.snr_of_half_rank())},
       {fmt::format("privacy.noise = {:g}", report.at_cluster_noise().noise()),
        AtNoiseText(report)}});
}

absl::Status ShowPlan(CommandContext& context, const PlanFlags& flags) {
  ASSIGN_OR_RETURN(const federation::PrivacyRequest request, RequestOf(flags));
  report::v1::PrivacyPlanReport report;
  report.set_tier(flags.tier);
  report.set_nodes(flags.nodes);
  report.set_lessons(federation::PublicUnits(flags.lessons));
  report.set_users(flags.users > 0 ? request.units : 0);
  report.set_values(flags.values);
  report.set_rounds(flags.rounds);
  report.set_delta(flags.delta);
  ASSIGN_OR_RETURN(const federation::PrivacyPlan plan, federation::MakePrivacyPlan(request));
  ASSIGN_OR_RETURN(const federation::PlanAlternatives more, federation::Alternatives(request));
  Write(plan, more, &report);
  WriteAtNoise(flags.cluster_noise, federation::PlanAtNoise(request, flags.cluster_noise),
               report.mutable_at_cluster_noise());
  context.out << (context.json ? ToJsonLine(report) : Text(report));
  return absl::OkStatus();
}

}  // namespace

void AddPrivacyPlanVerb(VerbTable& verbs) {
  auto flags = std::make_shared<PlanFlags>();
  Verb plan = verbs.Add("privacy plan", "Privacy",
                        "Predict the signal that private learning in rounds would keep",
                        [flags](CommandContext& context) { return ShowPlan(context, *flags); });
  plan.Option("--lessons", flags->lessons, "Lessons of each node that may take part").Required();
  plan.Option(
          "--users", flags->users,
          "Users of each node whose lessons these are, if privacy.unit is user; 0: it is lesson")
      .ShowDefault();
  plan.Option("--nodes", flags->nodes, "Nodes that take part").ShowDefault();
  plan.Option("--tier", flags->tier, "masked: only the sum of all nodes is seen; dp: that of each")
      .ShowDefault();
  plan.Option("--epsilon", flags->epsilon, "What one lesson, or user, may spend in all its rounds")
      .ShowDefault();
  plan.Option("--delta", flags->delta, "Delta of that epsilon").ShowDefault();
  plan.Option("--rounds", flags->rounds, "Rounds that one lesson, or user, takes part in")
      .ShowDefault();
  plan.Option("--values", flags->values,
              "Values that are shared: 1792 are ruvdllm-5m and 3584 ruvdllm-29m at rank 8")
      .ShowDefault();
  plan.Option("--batch", flags->batch,
              "Most lessons, or users, in a sample that a node can compute")
      .ShowDefault();
  plan.Option("--signal", flags->signal,
              "Norm of the mean clipped gradient of lessons over the clip norm")
      .ShowDefault();
  plan.Option("--clip-norm", flags->clip_norm, "Clip norm of the gradient of a lesson, or user")
      .ShowDefault();
  plan.Option("--cluster-noise", flags->cluster_noise,
              "Noise that the cluster agreed on (privacy.noise): the last line predicts how a node "
              "takes part there")
      .ShowDefault();
}

}  // namespace ruvd::cli
