// Linear growth of structure: the power spectrum of matter and its growth since a given redshift.
#pragma once

#include <array>
#include <vector>

namespace cosmoflow {

/// A flat universe of cold dark matter, a cosmological constant and a fixed density of baryons.
struct Cosmology {
  static constexpr double kOmegaB = 0.049;
  double omega_m = 0.30;  ///< density of matter, including baryons, over the critical density
  double sigma_8 = 0.80;  ///< standard deviation of the linear density in spheres of 8 Mpc/h, today
  double n_s = 0.96;      ///< index of the primordial spectrum
  double h = 0.70;        ///< Hubble constant in 100 km/s/Mpc
};

/// The cosmology for targets: omega_m, sigma_8, n_s and h, each scaled so that 0 is the default
/// above and -1 and 1 are 30% below and above it.
Cosmology cosmology_of(const std::array<float, 4>& targets);

/// Linear growth of density since redshift z: D(z), with D(0) = 1.
/// D(a) ~ E(a) * integral from 0 to a of da' / (a' E(a'))^3, E(a)^2 = omega_m / a^3 + 1 - omega_m.
/// Source: Heath, MNRAS 179 (1977) 351.
double growth(double omega_m, double redshift);

/// P(k) = A k^n_s T(k)^2, the power spectrum of the linear density today, in (Mpc/h)^3. Wave
/// numbers k are in h/Mpc.
class PowerSpectrum {
 public:
  explicit PowerSpectrum(const Cosmology& cosmology);
  double operator()(double k) const;
  /// The transfer function T(k), without the baryons' oscillations; 1 for k = 0.
  /// Source: Eisenstein & Hu, ApJ 496 (1998) 605, equations 26 and 28 to 31.
  double transfer(double k) const;
  /// A, such that sigma_8^2 = integral of dk/k k^3 P(k) W(8 k)^2 / (2 pi^2), where
  /// W(x) = 3 (sin x - x cos x) / x^3.
  double amplitude() const { return amplitude_; }
  /// The wave number k_nl up to which waves, scaled by `growth`, have a total variance of 1:
  /// growth^2 * integral from 0 to k_nl of dk k^2 P(k) / (2 pi^2) = 1. Shorter waves have
  /// collapsed. Returns kMostWaveNumber for spectra that stay below a variance of 1.
  double nonlinear_wave_number(double growth) const;

  static constexpr double kMostWaveNumber = 1e4;

 private:
  double shape(double k) const;

  double n_s_;
  double gamma_h_;      ///< omega_m h; the scale of matter-radiation equality depends on it
  double sound_;        ///< 0.43 times the sound horizon in Mpc/h
  double suppression_;  ///< alpha_Gamma of equation 31
  double amplitude_ = 1.0;
  std::vector<double> variances_;  ///< variance up to each wave number of the integration grid
};

}  // namespace cosmoflow
