// The output layers of small arithmetic networks: the loss of a batch and its gradients.

#pragma once

#include "learn_call.h"

namespace {

// The output layer: its prediction from z (K, B), and the gradient of z.
class Output {
   public:
    Output(const Learn &learn, Own &own, Index first)
        : p(learn), own(own), K(learn.outputs), B(learn.batch), at(first), dz(rows_of(learn) * B), w(size_t(2 * K)), dw(size_t(2 * K)), logs(size_t(K * B)) {}

    // The loss of a batch and its gradients with respect to z and to the parameters.
    double learn(const float *z, const float *y) {
        std::fill(dw.begin(), dw.end(), 0.0);
        if (p.head == NALU_HEAD) return gated(z, y);
        if (p.head == PRODUCT_HEAD || p.head == NAC_MUL_HEAD) return powers(z, y);
        return p.head == NMU_HEAD ? factors(z, y) : sums(z, y);
    }

   private:
    const Learn &p;
    Own &own;
    const Index K, B, at;

   public:
    Buffer<float> dz;

   private:
    Matrix w, dw;
    std::vector<float> logs;

    const float *value(Index which) const { return own.value[at + which]; }
    Matrix &gradient(Index which) { return own.gradient[at + which]; }

    // h = g (W x) + (1 - g) exp(W log x), g = σ(G x), of z = (W x, G x, W log x); then ŷ from h in the same way, with the head's own weights.
    double gated(const float *z, const float *y) {
        typedef Lanes<float>::Vec Vec;
        constexpr Index MOST = 16, V = Lanes<float>::V;
        Vec h[MOST], g[MOST], q[MOST], logarithm[MOST];
        const auto lanes = [](const float *from) { return *reinterpret_cast<const Vec *>(from); };
        for (Index k = 0; k < K; ++k) w[k] = nac_weight(value(0)[k], value(1)[k]), w[K + k] = value(2)[k];
        double loss = 0;
        for (Index b = 0; b < B; b += V) {
            Vec sum = {}, gate = {}, power = {};
            for (Index k = 0; k < K; ++k) {
                g[k] = logistic_of<float>(lanes(z + (K + k) * B + b)), q[k] = power_of<float>(lanes(z + (2 * K + k) * B + b));
                h[k] = g[k] * lanes(z + k * B + b) + (1.0f - g[k]) * q[k];
                logarithm[k] = log_of<float>(size_of<float>(h[k]) + 1e-7f);
                sum += float(w[k]) * h[k], gate += float(w[K + k]) * h[k], power += float(w[k]) * logarithm[k];
            }
            gate = logistic_of<float>(gate), power = power_of<float>(power);
            const Vec gap = gate * sum + (1.0f - gate) * power - unaligned<float>(y + b), d = 2.0f / float(B) * gap;
            const Vec by_sum = d * gate, by_gate = d * (sum - power) * gate * (1.0f - gate), by_log = d * (1.0f - gate) * power;
            for (Index lane = 0; lane < V; ++lane) loss += double(gap[lane]) * double(gap[lane]) / double(B);  // a float would overflow at 1e38
            for (Index k = 0; k < K; ++k) {
                const Vec sign = h[k] > 0.0f ? Vec{} + 1.0f : h[k] < 0.0f ? Vec{} - 1.0f : Vec{};
                const Vec dh = float(w[k]) * (by_sum + by_log * sign / (size_of<float>(h[k]) + 1e-7f)) + float(w[K + k]) * by_gate;
                dw[k] += total_of<float>(by_sum * h[k] + by_log * logarithm[k]), dw[K + k] += total_of<float>(by_gate * h[k]);
                *dz.at(k * B + b) = dh * g[k];
                *dz.at((K + k) * B + b) = dh * (lanes(z + k * B + b) - q[k]) * g[k] * (1.0f - g[k]);
                *dz.at((2 * K + k) * B + b) = dh * (1.0f - g[k]) * q[k];
            }
        }
        for (Index k = 0; k < K; ++k) {
            nac_back(value(0)[k], value(1)[k], dw[k], gradient(0)[k], gradient(1)[k]);
            gradient(2)[k] += dw[K + k];
        }
        return loss;
    }

    // ŷ = W z.
    double sums(const float *z, const float *y) {
        double loss = 0;
        for (Index k = 0; k < K; ++k)
            w[k] = p.head == LINEAR_HEAD ? value(0)[k] : p.head == NAU_HEAD ? std::min(1.0f, std::max(-1.0f, value(0)[k])) : nac_weight(value(0)[k], value(1)[k]);
        for (Index b = 0; b < B; ++b) {
            float found = 0;
            for (Index k = 0; k < K; ++k) found += float(w[k]) * z[k * B + b];
            const float gap = found - y[b];
            loss += double(gap) * gap;
            for (Index k = 0; k < K; ++k) {
                dz[k * B + b] = 2.0f / float(B) * gap * float(w[k]);
                dw[k] += 2.0 / double(B) * gap * z[k * B + b];
            }
        }
        loss /= double(B);
        for (Index k = 0; k < K; ++k) {
            if (p.head == LINEAR_HEAD) {
                loss += 0.5 * p.l2 * w[k] * w[k] / double(K);
                gradient(0)[k] += dw[k] + p.l2 * w[k] / double(K);
            } else if (p.head == NAC_HEAD) {
                nac_back(value(0)[k], value(1)[k], dw[k], gradient(0)[k], gradient(1)[k]);
            } else if (std::abs(value(0)[k]) <= 1.0f) {
                gradient(0)[k] += dw[k];
            }
        }
        return loss;
    }

    // ŷ = Π (W_k z_k + 1 - W_k).
    double factors(const float *z, const float *y) {
        double loss = 0;
        for (Index k = 0; k < K; ++k) w[k] = std::min(1.0f, std::max(0.0f, value(0)[k]));
        for (Index b = 0; b < B; ++b) {
            float found = 1;
            for (Index k = 0; k < K; ++k) found *= float(w[k]) * (z[k * B + b] - 1.0f) + 1.0f;
            const float gap = found - y[b];
            loss += double(gap) * gap;
            for (Index k = 0; k < K; ++k) {
                float others = 1;
                for (Index j = 0; j < K; ++j)
                    if (j != k) others *= float(w[j]) * (z[j * B + b] - 1.0f) + 1.0f;
                dz[k * B + b] = 2.0f / float(B) * gap * others * float(w[k]);
                dw[k] += 2.0 / double(B) * gap * others * (z[k * B + b] - 1.0f);
            }
        }
        for (Index k = 0; k < K; ++k)
            if (value(0)[k] >= 0.0f && value(0)[k] <= 1.0f) gradient(0)[k] += dw[k];
        return loss / double(B);
    }

    // ŷ = exp(sum_k e_k log z_k + α): masses have exponents e = softmax(B_i) σ(b_o) and are at least the smallest normal number; NAC• has
    // e = tanh σ, |z| + 1e-7 and no α.
    double powers(const float *z, const float *y) {
        const bool mass = p.head == PRODUCT_HEAD;
        const float tiny = 1.17549435e-38f;
        double shares[2 * 16], open = 1, shift = 0, loss = 0, dshift = 0, dopen = 0;
        if (mass) softmax_rows(value(0), K, 2, shares), open = logistic(value(1)[1]), shift = value(2)[0];
        for (Index k = 0; k < K; ++k) w[k] = mass ? open * shares[2 * k + 1] : nac_weight(value(0)[k], value(1)[k]);
        for (Index k = 0; k < K * B; ++k) logs[k] = std::log(mass ? std::max(z[k], tiny) : std::abs(z[k]) + 1e-7f);
        for (Index b = 0; b < B; ++b) {
            double sum = shift;
            for (Index k = 0; k < K; ++k) sum += w[k] * logs[k * B + b];
            const float found = std::exp(float(sum)), gap = found - y[b];
            const double d = 2.0 / double(B) * gap * found;
            loss += double(gap) * gap;
            dshift += d;
            for (Index k = 0; k < K; ++k) {
                const float by = z[k * B + b], slope = mass ? (by >= tiny ? 1.0f / by : 0.0f) : float((by > 0) - (by < 0)) / (std::abs(by) + 1e-7f);
                dz[k * B + b] = float(d * w[k]) * slope;
                dw[k] += d * logs[k * B + b];
            }
        }
        for (Index k = 0; k < K && !mass; ++k) nac_back(value(0)[k], value(1)[k], dw[k], gradient(0)[k], gradient(1)[k]);
        if (mass) {
            double d[2 * 16] = {};
            for (Index k = 0; k < K; ++k) d[2 * k + 1] = open * dw[k], dopen += shares[2 * k + 1] * dw[k];
            softmax_back(shares, d, K, 2, gradient(0).data());
            gradient(1)[1] += dopen * open * (1 - open);
            gradient(2)[0] += dshift;
        }
        return loss / double(B);
    }
};

}  // namespace
