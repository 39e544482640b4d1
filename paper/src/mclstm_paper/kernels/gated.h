// LSTM and layer-normalised LSTM; baselines/lstm.py has their equations.

#pragma once

#include "recurrence_call.h"

namespace {

// Gates o, i, (f,) g; v is the bias. The trace of a step is the gates and tanh c.
template <class T, int W>
class Lstm : public Cell<T, W> {
    using Base = Cell<T, W>;
    using typename Base::Vec;
    using Base::C, Base::I, Base::N, Base::O, Base::R, Base::dz, Base::none, Base::v;

   public:
    explicit Lstm(const Recurrence &call) : Base(call), bias(R * N) {}
    static Index trace(const Recurrence &call) { return call.R + call.O; }

    void begin(Index member) {
        Base::begin(member);
        for (Index r = 0; r < R; ++r) std::fill_n(bias + r * N, N, v[r]);
    }

    void step(const Vec *u, const Vec *before, Vec *after, Vec *trace) {
        this->multiply(0, R, 0, C, u, bias.at(0), trace);
        const Index K = O * W;
        for (Index k = 0; k < R * W - K; ++k) trace[k] = logistic_of<T>(trace[k]);
        Vec *o = trace, *i = o + K, *g = trace + R * W - K, *squashed = g + K;
        for (Index k = 0; k < K; ++k) {
            g[k] = tanh_of<T>(g[k]);
            const Vec kept = forgets() ? i[K + k] * before[K + k] : before[K + k];
            after[K + k] = kept + i[k] * g[k];
            squashed[k] = tanh_of<T>(after[K + k]);
            after[k] = o[k] * squashed[k];
        }
    }

    // d: the gradient of the state after the step, then of the one before; du: that of u.
    void back(const Vec *u, const Vec *before, const Vec *trace, Vec *d, Vec *du) {
        const Index K = O * W;
        const Vec *o = trace, *i = o + K, *g = trace + R * W - K, *squashed = g + K;
        Vec *to = dz.at(0), *last = to + R * W - K;
        for (Index k = 0; k < K; ++k) {
            const Vec dc = d[K + k] + d[k] * o[k] * (T(1) - squashed[k] * squashed[k]);
            to[k] = d[k] * squashed[k] * o[k] * (T(1) - o[k]);
            to[K + k] = dc * g[k] * i[k] * (T(1) - i[k]);
            last[k] = dc * i[k] * (T(1) - g[k] * g[k]);
            if (forgets()) to[2 * K + k] = dc * before[K + k] * i[K + k] * (T(1) - i[K + k]);
            d[K + k] = forgets() ? dc * i[K + k] : dc;
        }
        this->multiply_back(0, R, 0, C, to, none.at(0), du);
        this->learn(0, R, to, u);
        for (Index r = 0; r < R; ++r) this->learn_extra(r, to + r * W);
    }

   private:
    Buffer<T> bias;

    bool forgets() const { return R == 4 * O; }
};

// LN(z) = (z - mean z) / √(var z + 1e-5) of `rows` rows, and 1 / √ beside it.
template <class T, int W>
ALWAYS void normalise(Index rows, typename Lanes<T>::Vec *z, typename Lanes<T>::Vec *scale) {
    typedef typename Lanes<T>::Vec Vec;
    for (int w = 0; w < W; ++w) {
        Vec mean = {}, square = {};
        for (Index r = 0; r < rows; ++r) mean += z[r * W + w];
        mean /= T(rows);
        for (Index r = 0; r < rows; ++r) z[r * W + w] -= mean, square += z[r * W + w] * z[r * W + w];
        // If squares overflow, 1 / √∞ = 0 would hide it; ∞ - ∞ gives NaN.
        scale[w] = T(1) / root_of<T>(square / T(rows) + T(1e-5)) + (square - square);
        for (Index r = 0; r < rows; ++r) z[r * W + w] *= scale[w];
    }
}

// dz = (d - mean d - n mean(d n)) / √, n the normalised rows; written over d.
template <class T, int W>
ALWAYS void normalise_back(Index rows, const typename Lanes<T>::Vec *n, const typename Lanes<T>::Vec *scale, typename Lanes<T>::Vec *d) {
    typedef typename Lanes<T>::Vec Vec;
    for (int w = 0; w < W; ++w) {
        Vec mean = {}, along = {};
        for (Index r = 0; r < rows; ++r) mean += d[r * W + w], along += d[r * W + w] * n[r * W + w];
        mean /= T(rows), along /= T(rows);
        for (Index r = 0; r < rows; ++r) d[r * W + w] = scale[w] * (d[r * W + w] - mean - n[r * W + w] * along);
    }
}

// Gates i, o, f, g; v is α_x, β_x, α_h, β_h (4K each), α_c, β_c (K each); variant 1 carries the normalised cells.
// The trace of a step is LN(W x), LN(U h), the gates, LN(c), its tanh, and the three scales.
template <class T, int W>
class NormalisedLstm : public Cell<T, W> {
    using Base = Cell<T, W>;
    using typename Base::Vec;
    using Base::C, Base::I, Base::N, Base::O, Base::R, Base::dz, Base::none, Base::p, Base::v;

   public:
    explicit NormalisedLstm(const Recurrence &call) : Base(call), dh(R * N), dc(O * N) {}
    static Index trace(const Recurrence &call) { return 3 * call.R + 2 * call.O + 3; }

    void step(const Vec *u, const Vec *before, Vec *after, Vec *trace) {
        const Index K = O * W;
        Vec *x = trace, *h = x + R * W, *z = h + R * W, *c = z + R * W, *squashed = c + K, *scales = squashed + K;
        this->multiply(0, R, 0, I, u, none.at(0), x);
        this->multiply(0, R, I, O, u + I * W, none.at(0), h);
        normalise<T, W>(R, x, scales);
        normalise<T, W>(R, h, scales + W);
        for (Index r = 0; r < R; ++r)
            for (Index k = r * W; k < (r + 1) * W; ++k) {
                const Vec sum = (v[r] * x[k] + v[R + r]) + (v[2 * R + r] * h[k] + v[3 * R + r]);
                z[k] = r < R - O ? logistic_of<T>(sum) : tanh_of<T>(sum);
            }
        for (Index k = 0; k < K; ++k) c[k] = after[K + k] = z[2 * K + k] * before[K + k] + z[k] * z[3 * K + k];
        normalise<T, W>(O, c, scales + 2 * W);
        for (Index r = 0; r < O; ++r)
            for (Index k = r * W; k < (r + 1) * W; ++k) {
                const Vec seen = v[4 * R + r] * c[k] + v[4 * R + O + r];
                if (p.variant) after[K + k] = seen;
                squashed[k] = tanh_of<T>(seen);
                after[k] = z[K + k] * squashed[k];
            }
    }

    void back(const Vec *u, const Vec *before, const Vec *trace, Vec *d, Vec *du) {
        const Index K = O * W;
        const Vec *x = trace, *h = x + R * W, *z = h + R * W, *c = z + R * W, *squashed = c + K, *scales = squashed + K;
        Vec *to = dz.at(0), *cells = dc.at(0), *recurrent = dh.at(0);
        for (Index r = 0; r < O; ++r) {
            for (Index k = r * W; k < (r + 1) * W; ++k) {
                to[K + k] = d[k] * squashed[k] * z[K + k] * (T(1) - z[K + k]);
                cells[k] = d[k] * z[K + k] * (T(1) - squashed[k] * squashed[k]) + (p.variant ? d[K + k] : Vec{});
            }
            learn_scaled(4 * R + r, 4 * R + O + r, c + r * W, cells + r * W);
        }
        normalise_back<T, W>(O, c, scales + 2 * W, cells);
        for (Index k = 0; k < K; ++k) {
            const Vec whole = cells[k] + (p.variant ? Vec{} : d[K + k]), i = z[k], f = z[2 * K + k], g = z[3 * K + k];
            to[k] = whole * g * i * (T(1) - i);
            to[2 * K + k] = whole * before[K + k] * f * (T(1) - f);
            to[3 * K + k] = whole * i * (T(1) - g * g);
            d[K + k] = whole * f;
        }
        std::copy(to, to + R * W, recurrent);
        for (Index r = 0; r < R; ++r) {
            learn_scaled(r, R + r, x + r * W, to + r * W);
            learn_scaled(2 * R + r, 3 * R + r, h + r * W, recurrent + r * W);
        }
        normalise_back<T, W>(R, x, scales, to);
        normalise_back<T, W>(R, h, scales + W, recurrent);
        this->multiply_back(0, R, 0, I, to, none.at(0), du);
        this->multiply_back(0, R, I, O, recurrent, none.at(0), du + I * W);
        lane_products<T, W>(R, I, to, u, this->dA_x.at(0));
        lane_products<T, W>(R, O, recurrent, u + I * W, this->dA_h.at(0));
    }

   private:
    Buffer<T> dh, dc;

    // Gradients of α and β of a row y = α n + β; that of y becomes that of n.
    void learn_scaled(Index alpha, Index beta, const Vec *n, Vec *d) {
        Vec by[W];
        for (int w = 0; w < W; ++w) by[w] = d[w] * n[w];
        this->learn_extra(alpha, by);
        this->learn_extra(beta, d);
        for (int w = 0; w < W; ++w) d[w] *= v[alpha];
    }
};

}  // namespace
