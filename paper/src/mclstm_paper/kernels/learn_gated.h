// An MC-LSTM whose gates are computed at every step, from the marker and, where `seen`, from the cells c / |c|_1; R is one matrix.
//
//     i = softmax(W_i s + b_i),  o = σ(W_o s + b_o),  m = c R + x i,  c' = σ(-z_o) m,    z = o m at the last step
//
// A few vectors of samples run through all steps before the next ones, so that everything between is in registers. The trace of the
// forward pass, mostly shares of the input gate, stays in the second cache. nn/gates.py has the parameters; K is 2 or 3.

#pragma once

#include "learn_call.h"

namespace {

template <int K>
class GatedMass {
    typedef Lanes<float>::Vec Vec;
    static constexpr Index V = Lanes<float>::V;
    static constexpr int W = BYTES == 64 ? 2 : 1;   // vectors at once: what the registers hold
    static constexpr float EMPTY = 0x1p-103f;       // ops/reference.py: stores below it count as empty
    enum { W_I, B_I, W_O, B_O, B_R, FIRST };        // the parameters, in this order

   public:
    GatedMass(const Learn &learn, Own &own)
        : p(learn), own(own), n(learn.inputs), T(learn.steps), B(learn.batch), F(learn.parameters[W_O].size / K), seen(F > 1), logits_i(2 * n * K), logits_o(2 * K),
          see_i(n * K * K), see_o(K * K), R(size_t(K * K)), dR(R.size()), shares(T * n * K * B), cells((T + 1) * K * B), masses(T * K * B), leaving(T * K * B),
          staying(T * K * B), d_i(2 * n * K * V), d_see_i(n * K * K * V), d_o(2 * K * V), d_see_o(K * K * V), d_R(K * K * V), d_first(K * V) {}

    // x (n T, B) -> z (K, B).
    void forward(Buffer<float> &x, Buffer<float> &z) {
        spread(own.value[W_I], own.value[B_I], n * K, logits_i, see_i);
        spread(own.value[W_O], own.value[B_O], K, logits_o, see_o);
        softmax_rows(own.value[B_R], K, K, R.data());
        for (Index k = 0; k < K; ++k) std::fill_n(cells + k * B, B, own.value[FIRST] ? own.value[FIRST][k] : 0.0f);
        for (Index b = 0; b < B; b += W * V)
            for (Index t = 0; t < T; ++t) step(t, b, x, z);
    }

    // The gradients of all parameters from dz (K, B).
    void backward(Buffer<float> &x, Buffer<float> &dz) {
        for (Buffer<float> *sums : {&d_i, &d_see_i, &d_o, &d_see_o, &d_R, &d_first}) sums->clear();
        for (Index b = 0; b < B; b += W * V) {
            Vec dc[K][W] = {};
            for (Index t = T - 1; t >= 0; --t) step_back(t, b, x, dz, dc);
            for (int k = 0; k < K; ++k)
                for (int w = 0; w < W; ++w) *d_first.at(k * V) += dc[k][w];
        }
        gather(d_i, d_see_i, n * K, own.gradient[W_I], own.gradient[B_I]);
        gather(d_o, d_see_o, K, own.gradient[W_O], own.gradient[B_O]);
        for (Index k = 0; k < K * K; ++k) dR[size_t(k)] = sum_at(d_R, k);
        softmax_back(R.data(), dR.data(), K, K, own.gradient[B_R].data());
        for (Index k = 0; k < K && own.value[FIRST]; ++k) own.gradient[FIRST][size_t(k)] += sum_at(d_first, k);
    }

   private:
    const Learn &p;
    Own &own;
    const Index n, T, B, F;  // inputs, steps, samples, numbers that the gates see
    const bool seen;         // whether they see the cells
    Buffer<float> logits_i, logits_o, see_i, see_o;  // logits without the cells, at marker 1 and -1; weights of the cells
    Matrix R, dR;
    Buffer<float> shares, cells, masses, leaving, staying;     // the trace: (T, n, K, B), (T + 1, K, B), (T, K, B)
    Buffer<float> d_i, d_see_i, d_o, d_see_o, d_R, d_first;    // gradients, a vector of sums each

    // Parameters W (rows, F), b (rows) as logits (2, rows) at both markers and weights of the cells (rows, K).
    void spread(const float *weights, const float *bias, Index rows, float *logits, float *see) {
        for (Index r = 0; r < rows; ++r) {
            logits[r] = bias[r] + weights[r * F];
            logits[rows + r] = bias[r] - weights[r * F];
            for (Index k = 0; k < F - 1; ++k) see[r * K + k] = weights[r * F + 1 + k];
        }
    }

    void gather(Buffer<float> &d_logits, Buffer<float> &d_see, Index rows, Matrix &dW, Matrix &db) {
        for (Index r = 0; r < rows; ++r) {
            const double before = sum_at(d_logits, r), last = sum_at(d_logits, rows + r);
            db[size_t(r)] += before + last;
            dW[size_t(r * F)] += before - last;
            for (Index k = 0; k < F - 1; ++k) dW[size_t(r * F + 1 + k)] += sum_at(d_see, r * K + k);
        }
    }

    double sum_at(Buffer<float> &sums, Index which) { return total_of<float>(*sums.at(which * V)); }

    Vec *trace(Buffer<float> &of, Index row, Index b) { return of.at(row * B + b); }

    // The cells of a step as the gates see them, and the sums that they were divided by.
    ALWAYS void look(Index t, Index b, Vec (&s)[K][W], Vec (&total)[W]) {
        for (int w = 0; w < W; ++w) {
            total[w] = Vec{};
            for (int k = 0; k < K; ++k) s[k][w] = trace(cells, t * K + k, b)[w], total[w] += size_of<float>(s[k][w]);
            total[w] = total[w] > EMPTY ? total[w] : Vec{} + 1.0f;
            const Vec scale = 1.0f / total[w];
            for (int k = 0; k < K; ++k) s[k][w] *= scale;
        }
    }

    // Logits of a row of K gates.
    ALWAYS void logits_of(const float *logits, const float *see, const Vec (&s)[K][W], Vec (&z)[K][W]) {
#pragma GCC unroll 3
        for (int k = 0; k < K; ++k)
            for (int w = 0; w < W; ++w) {
                z[k][w] = Vec{} + logits[k];
                if (seen)
                    for (int j = 0; j < K; ++j) z[k][w] += see[k * K + j] * s[j][w];
            }
    }

    __attribute__((noinline)) void step(Index t, Index b, Buffer<float> &x, Buffer<float> &z) {
        const Index last = t == T - 1;
        Vec s[K][W], total[W], gate[K][W], mass[K][W] = {};
        if (seen) look(t, b, s, total);
        for (Index m = 0; m < n; ++m) {
            logits_of(logits_i + (last * n + m) * K, see_i + m * K * K, s, gate);
            const Vec *in = trace(x, m * T + t, b);
            for (int w = 0; w < W; ++w) {
                Vec most = gate[0][w], sum = {};
                for (int k = 1; k < K; ++k) most = gate[k][w] > most ? gate[k][w] : most;
                for (int k = 0; k < K; ++k) gate[k][w] = exp_of<float>(gate[k][w] - most), sum += gate[k][w];
                const Vec scale = 1.0f / sum;
                for (int k = 0; k < K; ++k) {
                    gate[k][w] *= scale;
                    trace(shares, (t * n + m) * K + k, b)[w] = gate[k][w];
                    mass[k][w] += in[w] * gate[k][w];
                }
            }
        }
        logits_of(logits_o + last * K, see_o, s, gate);
        for (int k = 0; k < K; ++k)
            for (int w = 0; w < W; ++w) {
                for (int j = 0; j < K; ++j) mass[k][w] += float(R[size_t(j * K + k)]) * trace(cells, t * K + j, b)[w];
                const Outlet<float> outlet(gate[k][w]);
                trace(masses, t * K + k, b)[w] = mass[k][w];
                trace(leaving, t * K + k, b)[w] = outlet.leaves;
                trace(staying, t * K + k, b)[w] = outlet.stays;
                trace(cells, (t + 1) * K + k, b)[w] = outlet.stays * mass[k][w];
                if (last) trace(z, k, b)[w] = outlet.leaves * mass[k][w];
            }
    }

    static ALWAYS Vec over(const Vec (&parts)[W]) { return W == 1 ? parts[0] : parts[0] + parts[W - 1]; }

    // What a row of K logits with gradients d adds to the sums, and to the gradient of what the gates see.
    ALWAYS void learn_row(const Vec (&d)[K][W], const Vec (&s)[K][W], const float *see, Vec *sums, Vec *see_sums, Vec (&ds)[K][W]) {
        for (int k = 0; k < K; ++k) {
            sums[k] += over(d[k]);
            for (int j = 0; j < K && seen; ++j) {
                Vec product[W];
                for (int w = 0; w < W; ++w) product[w] = d[k][w] * s[j][w], ds[j][w] += see[k * K + j] * d[k][w];
                see_sums[k * K + j] += over(product);
            }
        }
    }

    // dc: the gradient of the cells after the step, then of those before it.
    __attribute__((noinline)) void step_back(Index t, Index b, Buffer<float> &x, Buffer<float> &dz, Vec (&dc)[K][W]) {
        const Index last = t == T - 1;
        Vec s[K][W], total[W], ds[K][W] = {}, dmass[K][W], d[K][W];
        if (seen) look(t, b, s, total);
        for (int k = 0; k < K; ++k)
            for (int w = 0; w < W; ++w) {
                const Vec leaves = trace(leaving, t * K + k, b)[w], stays = trace(staying, t * K + k, b)[w];
                const Vec dh = last ? trace(dz, k, b)[w] : Vec{};
                dmass[k][w] = dh * leaves + dc[k][w] * stays;
                d[k][w] = (dh - dc[k][w]) * trace(masses, t * K + k, b)[w] * slope_of<float>(leaves, stays);
            }
        learn_row(d, s, see_o, d_o.at(last * K * V), d_see_o.at(0), ds);
        for (Index m = 0; m < n; ++m) {
            const Vec *in = trace(x, m * T + t, b);
            for (int w = 0; w < W; ++w) {
                Vec share[K], mean = {};
                for (int k = 0; k < K; ++k) share[k] = trace(shares, (t * n + m) * K + k, b)[w], mean += share[k] * dmass[k][w];
                for (int k = 0; k < K; ++k) d[k][w] = in[w] * share[k] * (dmass[k][w] - mean);
            }
            learn_row(d, s, see_i + m * K * K, d_i.at((last * n + m) * K * V), d_see_i.at(m * K * K * V), ds);
        }
        for (int w = 0; w < W; ++w) {
            Vec mean = {};
            for (int k = 0; k < K && seen; ++k) mean += ds[k][w] * s[k][w];
            for (int j = 0; j < K; ++j) {
                const Vec before = trace(cells, t * K + j, b)[w];
                dc[j][w] = Vec{};
                for (int k = 0; k < K; ++k) {
                    dc[j][w] += float(R[size_t(j * K + k)]) * dmass[k][w];
                    *d_R.at((j * K + k) * V) += before * dmass[k][w];
                }
                if (!seen) continue;
                const Vec sign = before > 0.0f ? Vec{} + 1.0f : before < 0.0f ? Vec{} - 1.0f : Vec{};
                dc[j][w] += (ds[j][w] - sign * mean) / total[w];
            }
        }
    }
};

}  // namespace
