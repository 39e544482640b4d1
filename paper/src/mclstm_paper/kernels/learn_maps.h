// The first layer of a small arithmetic network as a linear map of all inputs, and the gradients of its parameters.

#pragma once

#include "learn_steps.h"

namespace {

// The linear map of a layer: A (K, n T), c (K); for NALU with three times as many rows.
class Maps {
   public:
    Maps(const Learn &learn, Own &own) : p(learn), own(own), n(learn.inputs), T(learn.steps), K(learn.outputs), A(size_t(rows_of(learn) * n * T)), c(size_t(rows_of(learn))), dA(A.size()), dc(c.size()), steps(learn, own),
          i(n * K), di(i.size()), o(K), end(K), R(K * K), S(K * K), P(T * K * K), dP(P.size()), Q(K * K), dR(K * K), dS(K * K) {}

    const Learn &p;
    Own &own;
    const Index n, T, K;
    Matrix A, c, dA, dc;

    void forward() {
        if (p.layer == MASS_LAYER) return mass();
        if (p.layer == MCFC_LAYER) return mcfc();
        if (p.layer == NALU_LAYER) return nalu();
        p.layer == NAU_LAYER || p.layer == NAC_LAYER ? unit_weights(p.layer, own, A) : steps.forward(A, c);
    }

    void backward() {
        if (p.layer == MASS_LAYER) return mass_back();
        if (p.layer == MCFC_LAYER) return mcfc_back();
        if (p.layer == NALU_LAYER) return nalu_back();
        p.layer == NAU_LAYER || p.layer == NAC_LAYER ? unit_weights_back(p.layer, dA, own) : steps.backward(dA, dc);
    }

   private:
    RecurrentUnit steps;
    Matrix i, di, o, end, R, S, P, dP, Q, dR, dS;

    // Rows W, G and W again; the last ones multiply the logarithms.
    void nalu() {
        for (Index k = 0; k < K * n; ++k) {
            A[k] = A[2 * K * n + k] = nac_weight(own.value[0][k], own.value[1][k]);
            A[K * n + k] = own.value[2][k];
        }
    }

    void nalu_back() {
        for (Index k = 0; k < K * n; ++k) {
            nac_back(own.value[0][k], own.value[1][k], dA[k] + dA[2 * K * n + k], own.gradient[0][k], own.gradient[1][k]);
            own.gradient[2][k] += dA[K * n + k];
        }
    }

    // z = σ(b_o) (x softmax(B_i)).
    void mcfc() {
        softmax_rows(own.value[0], n, K, i.data());
        for (Index k = 0; k < K; ++k) {
            end[k] = logistic(own.value[1][k]);
            for (Index j = 0; j < n; ++j) A[k * n + j] = end[k] * i[j * K + k];
        }
    }

    void mcfc_back() {
        for (Index k = 0; k < K; ++k) {
            double opened = 0;
            for (Index j = 0; j < n; ++j) {
                opened += i[j * K + k] * dA[k * n + j];
                di[j * K + k] = end[k] * dA[k * n + j];
            }
            own.gradient[1][k] += opened * end[k] * (1 - end[k]);
        }
        softmax_back(i.data(), di.data(), n, K, own.gradient[0].data());
    }

    // MC-LSTM whose input gate and R are matrices; its outlets see the marker, which is 1, and -1 at the last step.
    void mass() {
        softmax_rows(own.value[0], n, K, i.data());
        softmax_rows(own.value[3], K, K, R.data());
        for (Index k = 0; k < K; ++k) {
            o[k] = logistic(double(own.value[2][k]) + own.value[1][k]);
            end[k] = logistic(double(own.value[2][k]) - own.value[1][k]);
            for (Index j = 0; j < K; ++j) S[k * K + j] = (1 - o[k]) * R[k * K + j];
        }
        for (Index t = T - 1; t >= 0; --t)
            for (Index l = 0; l < K; ++l)
                for (Index k = 0; k < K; ++k) {
                    double sum = t == T - 1 ? double(l == k) : 0.0;
                    for (Index j = 0; j < K && t < T - 1; ++j) sum += S[l * K + j] * P[((t + 1) * K + j) * K + k];
                    P[(t * K + l) * K + k] = sum;
                }
        for (Index k = 0; k < K; ++k)
            for (Index j = 0; j < n; ++j)
                for (Index t = 0; t < T; ++t) {
                    double sum = 0;
                    for (Index l = 0; l < K; ++l) sum += i[j * K + l] * P[(t * K + l) * K + k];
                    A[(k * n + j) * T + t] = end[k] * sum;
                }
        for (Index l = 0; l < K; ++l)
            for (Index k = 0; k < K; ++k) {
                Q[l * K + k] = 0;
                for (Index j = 0; j < K; ++j) Q[l * K + k] += R[l * K + j] * P[j * K + k];
            }
        for (Index k = 0; k < K; ++k) {
            c[k] = 0;
            for (Index l = 0; l < K && own.value[4]; ++l) c[k] += end[k] * own.value[4][l] * Q[l * K + k];
        }
    }

    void mass_back() {
        std::fill(di.begin(), di.end(), 0.0), std::fill(dP.begin(), dP.end(), 0.0), std::fill(dR.begin(), dR.end(), 0.0),
            std::fill(dS.begin(), dS.end(), 0.0);
        for (Index k = 0; k < K; ++k) {
            double opened = c[k] * dc[k];
            for (Index j = 0; j < n; ++j)
                for (Index t = 0; t < T; ++t) {
                    const double d = dA[(k * n + j) * T + t];
                    opened += A[(k * n + j) * T + t] * d;
                    for (Index l = 0; l < K; ++l) {
                        di[j * K + l] += end[k] * d * P[(t * K + l) * K + k];
                        dP[(t * K + l) * K + k] += end[k] * d * i[j * K + l];
                    }
                }
            const double logit = opened * (1 - end[k]);  // `opened` already contains the factor `end`
            own.gradient[1][k] -= logit;
            own.gradient[2][k] += logit;
        }
        for (Index l = 0; l < K && own.value[4]; ++l)
            for (Index k = 0; k < K; ++k) {
                const double d = end[k] * dc[k];
                own.gradient[4][l] += d * Q[l * K + k];
                for (Index j = 0; j < K; ++j) {
                    dR[l * K + j] += own.value[4][l] * d * P[j * K + k];
                    dP[j * K + k] += own.value[4][l] * d * R[l * K + j];
                }
            }
        for (Index t = 0; t < T - 1; ++t)
            for (Index l = 0; l < K; ++l)
                for (Index k = 0; k < K; ++k) {
                    const double d = dP[(t * K + l) * K + k];
                    for (Index j = 0; j < K; ++j) {
                        dS[l * K + j] += d * P[((t + 1) * K + j) * K + k];
                        dP[((t + 1) * K + j) * K + k] += d * S[l * K + j];
                    }
                }
        for (Index l = 0; l < K; ++l) {
            double closed = 0;
            for (Index j = 0; j < K; ++j) {
                dR[l * K + j] += (1 - o[l]) * dS[l * K + j];
                closed -= R[l * K + j] * dS[l * K + j];
            }
            own.gradient[1][l] += closed * o[l] * (1 - o[l]);
            own.gradient[2][l] += closed * o[l] * (1 - o[l]);
        }
        softmax_back(i.data(), di.data(), n, K, own.gradient[0].data());
        softmax_back(R.data(), dR.data(), K, K, own.gradient[3].data());
    }
};

}  // namespace
