// The arguments of a training call, mirrored in kernels/learning.py, and what the parts of a network share.

#pragma once

#include <cmath>
#include <vector>

#include "recurrence_call.h"

constexpr int MOST_PARAMETERS = 9;

extern "C" {
struct Parameter {  // of all members; a parameter that is not trained has no moments
    float *value, *mean, *square;
    int64_t size;  // of one member
};

struct Learn {
    int64_t members, inputs, steps, batch, outputs;  // E, n, T, B, K
    int64_t layer, head, operation;                  // by number; operation 0: sum, 1: difference, 2: product
    int64_t subset, overlap;                         // elements of a subset, elements of both subsets
    int64_t first, updates;                          // the number of the first update, how many updates
    const uint64_t *seeds;                           // (E)
    const int64_t *offsets;                          // (E), the first element of the first subset
    const double *rates, *pulls;                     // (updates), learning rate and factor of the pull to whole numbers
    double low, epsilon, l2;                         // numbers are U[low, low + 1); Adam's ε; factor of half the mean square of a linear head's weights
    Parameter parameters[MOST_PARAMETERS];           // those of the layer, then those of the head
    int64_t *failed;                                 // (E), the update at which a member failed, -1 for none
};
}

namespace {

using Matrix = std::vector<double>;

// Gates are rounded as in torch: a gate that is 1 in float32 has no gradient.
inline double logistic(double z) { return float(1.0 / (1.0 + std::exp(-z))); }

// Rows (rows, K) of logits as shares, and back: dlogits = p (d - p . d).
inline void softmax_rows(const float *logits, Index rows, Index K, double *to) {
    for (Index r = 0; r < rows; ++r, logits += K, to += K) {
        const double most = *std::max_element(logits, logits + K);
        double total = 0;
        for (Index k = 0; k < K; ++k) total += to[k] = std::exp(logits[k] - most);
        for (Index k = 0; k < K; ++k) to[k] = float(to[k] / total);
    }
}

inline void softmax_back(const double *shares, const double *d, Index rows, Index K, double *to) {
    for (Index r = 0; r < rows; ++r, shares += K, d += K, to += K) {
        double worth = 0;
        for (Index k = 0; k < K; ++k) worth += shares[k] * d[k];
        for (Index k = 0; k < K; ++k) to[k] += shares[k] * (d[k] - worth);
    }
}

// The weights of NAC, W = tanh(a) σ(b), and their gradients.
inline double nac_weight(float a, float b) { return std::tanh(double(a)) * logistic(b); }

inline void nac_back(float a, float b, double d, double &da, double &db) {
    const double t = std::tanh(double(a)), s = logistic(b);
    da += d * (1 - t * t) * s;
    db += d * t * s * (1 - s);
}

// A step of torch.optim.Adam; the first one has number 1.
class Adam {
   public:
    Adam(Index number, double rate, double epsilon)
        : size_(float(rate / (1 - std::pow(0.9, double(number))))), root_(float(std::sqrt(1 - std::pow(0.999, double(number))))), epsilon_(float(epsilon)) {}

    ALWAYS void operator()(float g, float &value, float &mean, float &square) const {
        mean += 0.1f * (g - mean);
        square = 0.999f * square + 0.001f * g * g;
        value -= size_ * mean / (std::sqrt(square) / root_ + epsilon_);
    }

   private:
    float size_, root_, epsilon_;
};

// The parameters of one member and their gradients.
struct Own {
    const float *value[MOST_PARAMETERS];
    Matrix gradient[MOST_PARAMETERS];
};

enum Layer { MASS_LAYER, MCFC_LAYER, NAU_LAYER, NAC_LAYER, RECURRENT_NAU_LAYER, RECURRENT_NAC_LAYER, NALU_LAYER, GATED_MASS_LAYER };
enum Head { LINEAR_HEAD, PRODUCT_HEAD, NAU_HEAD, NAC_HEAD, NMU_HEAD, NAC_MUL_HEAD, NALU_HEAD };
constexpr Index LAYER_PARAMETERS[] = {5, 2, 1, 2, 2, 3, 3, 6};

// Rows of z: an output of NALU has three, W x, G x and W log x.
inline Index rows_of(const Learn &learn) { return learn.outputs * (learn.layer == NALU_LAYER ? 3 : 1); }

inline bool is_nau(Index layer) { return layer == NAU_LAYER || layer == RECURRENT_NAU_LAYER; }

// The weights of NAU, clamped, or of NAC, from parameters 0 and 1; and their gradients.
inline void unit_weights(Index layer, const Own &own, Matrix &to) {
    for (size_t k = 0; k < to.size(); ++k)
        to[k] = is_nau(layer) ? std::min(1.0f, std::max(-1.0f, own.value[0][k])) : nac_weight(own.value[0][k], own.value[1][k]);
}

inline void unit_weights_back(Index layer, const Matrix &d, Own &own) {
    for (size_t k = 0; k < d.size(); ++k)
        if (!is_nau(layer))
            nac_back(own.value[0][k], own.value[1][k], d[k], own.gradient[0][k], own.gradient[1][k]);
        else if (std::abs(own.value[0][k]) <= 1.0f)
            own.gradient[0][k] += d[k];
}

}  // namespace
