// A recurrent NAU or NAC as a linear map of all its inputs, and the gradients of its parameters.

#pragma once

#include "learn_call.h"

namespace {

// h_t = X x_t + S h_{t-1}, [X, S] = M the unit's weights: h_T = sum_t P_t X x_t + P_0 S h_0, P_t = S^{T-1-t}.
class RecurrentUnit {
   public:
    RecurrentUnit(const Learn &learn, Own &own)
        : p(learn), own(own), n(learn.inputs), T(learn.steps), K(learn.outputs), wide(n + K), M(size_t(K * wide)), dM(M.size()), P(size_t(T * K * K)), dP(P.size()) {}

    // A (K, n T), c (K).
    void forward(Matrix &A, Matrix &c) {
        unit_weights(p.layer, own, M);
        for (Index t = T - 1; t >= 0; --t)
            for (Index k = 0; k < K; ++k) {
                for (Index l = 0; l < K; ++l) at(P, t, k, l) = t == T - 1 ? double(k == l) : through(t + 1, k, l);
                for (Index j = 0; j < n; ++j) {
                    double sum = 0;
                    for (Index l = 0; l < K; ++l) sum += at(P, t, k, l) * M[size_t(l * wide + j)];
                    A[size_t((k * n + j) * T + t)] = sum;
                }
            }
        for (Index k = 0; k < K; ++k) {
            c[size_t(k)] = 0;
            for (Index l = 0; l < K; ++l) c[size_t(k)] += through(0, k, l) * start()[l];
        }
    }

    void backward(const Matrix &dA, const Matrix &dc) {
        std::fill(dM.begin(), dM.end(), 0.0), std::fill(dP.begin(), dP.end(), 0.0);
        for (Index k = 0; k < K; ++k)
            for (Index j = 0; j < n; ++j)
                for (Index t = 0; t < T; ++t)
                    for (Index l = 0; l < K; ++l) {
                        const double d = dA[size_t((k * n + j) * T + t)];
                        dM[size_t(l * wide + j)] += d * at(P, t, k, l);
                        at(dP, t, k, l) += d * M[size_t(l * wide + j)];
                    }
        Matrix &first = own.gradient[LAYER_PARAMETERS[p.layer] - 1];
        for (Index k = 0; k < K; ++k)
            for (Index l = 0; l < K; ++l) {
                first[size_t(l)] += through(0, k, l) * dc[size_t(k)];
                through_back(0, k, l, dc[size_t(k)] * start()[l]);
            }
        for (Index t = 0; t < T - 1; ++t)
            for (Index k = 0; k < K; ++k)
                for (Index l = 0; l < K; ++l) through_back(t + 1, k, l, at(dP, t, k, l));
        unit_weights_back(p.layer, dM, own);
    }

   private:
    const Learn &p;
    Own &own;
    const Index n, T, K, wide;
    Matrix M, dM, P, dP;

    const float *start() const { return own.value[LAYER_PARAMETERS[p.layer] - 1]; }
    double &at(Matrix &of, Index t, Index k, Index l) { return of[size_t((t * K + k) * K + l)]; }
    double &S(Matrix &of, Index m, Index l) { return of[size_t(m * wide + n + l)]; }

    // Element (k, l) of P_t S, and its gradient.
    double through(Index t, Index k, Index l) {
        double sum = 0;
        for (Index m = 0; m < K; ++m) sum += at(P, t, k, m) * S(M, m, l);
        return sum;
    }

    void through_back(Index t, Index k, Index l, double d) {
        for (Index m = 0; m < K; ++m) at(dP, t, k, m) += d * S(M, m, l), S(dM, m, l) += d * at(P, t, k, m);
    }
};

}  // namespace
