// SPDX-License-Identifier: Apache-2.0
//
// How much of a cache other work displaces while a piece of work is away: the reload transient.
//
//     R = x f / m                              references made by the other work in the time x
//     u = W L^a R^b d^(log10 L log10 R)        cache lines of L bytes those references touch
//     F = 1 - (1 - 1/S)^u                      the share displaced of a cache of S lines
//     t = (1 - F1) t_hh + F1 ((1 - F2) t_ch + F2 t_cc)       two levels of caches
//
// Sources: J. P. Singh, H. S. Stone, D. F. Thiebaut, "A Model of Workloads and its Use in Miss-Rate
// Prediction for Fully Associative Caches", IEEE ToC 41(7), 1992 (u and its constants);
// J. D. Salehi, J. F. Kurose, D. Towsley, "The Effectiveness of Affinity-Based Scheduling in
// Multiprocessor Network Protocol Processing", IEEE/ACM ToN 4(4), 1996 (F and t).
//
// Thread-safety: safe (pure functions).
#pragma once

namespace gopmill::sim {

struct CacheGeometry {
  double lines = 32768;    // S
  double line_bytes = 64;  // L
};

// The constants of the workload (W, a, b, log10 d), and how fast it makes references.
struct ReferenceStream {
  double w = 2.19827;
  double a = 0.033233;
  double b = 0.827457;
  double log_d = -0.13025;
  double clock_hz = 3e9;            // f
  double cycles_per_reference = 5;  // m
};

// F, 0 to 1, after `away_ms` milliseconds of other work.
double DisplacedShare(const CacheGeometry& cache, const ReferenceStream& stream, double away_ms);

// Service times with everything in the first cache, only in the second, in neither.
struct TwoLevelTimes {
  double hot_hot = 0;
  double cold_hot = 0;
  double cold_cold = 0;
};
double TwoLevelTime(const TwoLevelTimes& times, double f1, double f2);

}  // namespace gopmill::sim
