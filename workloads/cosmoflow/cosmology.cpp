// Linear growth of structure: the power spectrum of matter and its growth since a given redshift.
#include "workloads/cosmoflow/cosmology.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace cosmoflow {
namespace {

/// Integrals over wave numbers use equal steps of log k. The integrands vanish smoothly at both
/// ends, where the trapezoidal rule converges faster than any power of the step.
constexpr double kLogStep = 0.01;
constexpr double kLeastWaveNumber = 1e-5;

std::size_t grid_size() {
  return static_cast<std::size_t>(std::log(PowerSpectrum::kMostWaveNumber / kLeastWaveNumber) /
                                  kLogStep) +
         1;
}

double wave_number(double place) { return kLeastWaveNumber * std::exp(kLogStep * place); }

/// The Fourier transform of a sphere of radius 1 and total weight 1.
double sphere(double x) {
  constexpr double kSmall = 0.01;  // below this, the difference below loses its digits
  if (x < kSmall) return 1.0 - x * x / 10.0;
  return 3.0 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

/// Variance per dk/k at wave number k, where the spectrum is `power`.
double variance_density(double k, double power) {
  return k * k * k * power / (2.0 * std::numbers::pi * std::numbers::pi);
}

/// E(a) * integral, substituting t = sqrt(a'), which makes the integrand smooth:
/// da' / (a' E)^3 = 2 t^4 dt / (omega_m + (1 - omega_m) t^6)^(3/2). Simpson's rule.
double unscaled_growth(double omega_m, double a) {
  constexpr int kSteps = 128;
  const auto integrand = [omega_m](double t) {
    const double t2 = t * t, sum = omega_m + (1.0 - omega_m) * t2 * t2 * t2;
    return 2.0 * t2 * t2 / (sum * std::sqrt(sum));
  };
  const double step = std::sqrt(a) / kSteps;
  double integral = 0.0;
  for (int i = 0; i < kSteps; i += 2) {
    integral += integrand(i * step) + 4.0 * integrand((i + 1) * step) + integrand((i + 2) * step);
  }
  const double expansion = std::sqrt(omega_m / (a * a * a) + 1.0 - omega_m);
  return expansion * integral * step / 3.0;
}

}  // namespace

Cosmology cosmology_of(const std::array<float, 4>& targets) {
  constexpr double kReach = 0.3;
  const auto at = [&](double mean, std::size_t target) {
    return mean * (1.0 + kReach * static_cast<double>(targets[target]));
  };
  const Cosmology middle;
  return {at(middle.omega_m, 0), at(middle.sigma_8, 1), at(middle.n_s, 2), at(middle.h, 3)};
}

double growth(double omega_m, double redshift) {
  return unscaled_growth(omega_m, 1.0 / (1.0 + redshift)) / unscaled_growth(omega_m, 1.0);
}

PowerSpectrum::PowerSpectrum(const Cosmology& cosmology)
    : n_s_(cosmology.n_s), gamma_h_(cosmology.omega_m * cosmology.h) {
  const double h2 = cosmology.h * cosmology.h;
  const double matter = cosmology.omega_m * h2, baryons = Cosmology::kOmegaB * h2;
  const double share = Cosmology::kOmegaB / cosmology.omega_m;
  const double horizon_mpc =
      44.5 * std::log(9.83 / matter) / std::sqrt(1.0 + 10.0 * std::pow(baryons, 0.75));
  sound_ = 0.43 * cosmology.h * horizon_mpc;
  suppression_ = 1.0 - 0.328 * std::log(431.0 * matter) * share +
                 0.38 * std::log(22.3 * matter) * share * share;

  constexpr double kRadius = 8.0;
  double in_spheres = 0.0, variance = 0.0, last = 0.0;
  variances_.reserve(grid_size());
  for (std::size_t i = 0; i < grid_size(); ++i) {
    const double k = wave_number(static_cast<double>(i));
    const double density = variance_density(k, shape(k)), window = sphere(kRadius * k);
    in_spheres += kLogStep * density * window * window;
    variance += kLogStep * (last + density) / 2.0;
    variances_.push_back(variance);
    last = density;
  }
  amplitude_ = cosmology.sigma_8 * cosmology.sigma_8 / in_spheres;
  for (double& each : variances_) each *= amplitude_;
}

double PowerSpectrum::transfer(double k) const {
  constexpr double kTheta = 2.7255 / 2.7;  // background temperature over 2.7 K
  const double sounds = k * sound_, sounds2 = sounds * sounds;
  const double gamma = gamma_h_ * (suppression_ + (1.0 - suppression_) / (1.0 + sounds2 * sounds2));
  const double q = k * kTheta * kTheta / gamma;
  const double l = std::log(2.0 * std::numbers::e + 1.8 * q);
  const double c = 14.2 + 731.0 / (1.0 + 62.5 * q);
  return l / (l + c * q * q);
}

double PowerSpectrum::shape(double k) const {
  const double survived = transfer(k);
  return std::pow(k, n_s_) * survived * survived;
}

double PowerSpectrum::operator()(double k) const { return amplitude_ * shape(k); }

double PowerSpectrum::nonlinear_wave_number(double growth) const {
  const double wanted = 1.0 / (growth * growth);
  const auto above = std::upper_bound(variances_.begin(), variances_.end(), wanted);
  if (above == variances_.end()) return kMostWaveNumber;
  if (above == variances_.begin()) return kLeastWaveNumber;
  const double below = *(above - 1);
  const double place =
      static_cast<double>(above - variances_.begin()) - 1.0 + (wanted - below) / (*above - below);
  return wave_number(place);
}

}  // namespace cosmoflow
