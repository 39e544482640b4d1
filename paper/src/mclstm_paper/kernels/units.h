// Recurrent cells without memory gates: arithmetic units and the unitary RNN; baselines/units.py and baselines/urnn.py have the equations.

#pragma once

#include "recurrence_call.h"

namespace {

// NAC and NAU: h = A u, without a trace.
template <class T, int W>
class Linear : public Cell<T, W> {
    using Base = Cell<T, W>;
    using typename Base::Vec;
    using Base::C, Base::O, Base::R, Base::none;

   public:
    explicit Linear(const Recurrence &call) : Base(call) {}
    static Index trace(const Recurrence &) { return 0; }

    void step(const Vec *u, const Vec *, Vec *after, Vec *) { this->multiply(0, R, 0, C, u, none.at(0), after); }

    void back(const Vec *u, const Vec *, const Vec *, Vec *d, Vec *du) {
        this->multiply_back(0, R, 0, C, d, none.at(0), du);
        this->learn(0, R, d, u);
    }
};

// NAC•, h = exp(W log(|u| + 1e-7)), and NALU, whose gate g = σ(G u) mixes W u with it; A is W, or [W; G].
// The trace of a step is the logarithms, and for NALU W u, g and the product.
template <class T, int W, bool GATED>
class Powers : public Cell<T, W> {
    using Base = Cell<T, W>;
    using typename Base::Vec;
    using Base::C, Base::N, Base::O, Base::R, Base::dz, Base::none;

   public:
    explicit Powers(const Recurrence &call) : Base(call), exponents(O * N), by_log(C * N) {}
    static Index trace(const Recurrence &call) { return call.I + call.O + 3 * call.O; }

    void step(const Vec *u, const Vec *, Vec *after, Vec *trace) {
        const Index K = O * W;
        Vec *sum = trace + C * W, *g = sum + K, *product = g + K;
        for (Index k = 0; k < C * W; ++k) trace[k] = log_of<T>(size_of<T>(u[k]) + T(1e-7));
        this->multiply(0, O, 0, C, trace, none.at(0), product);
        if (GATED) this->multiply(0, R, 0, C, u, none.at(0), sum);
        for (Index k = 0; k < K; ++k) {
            product[k] = after[k] = power_of<T>(product[k]);
            if (GATED) g[k] = logistic_of<T>(g[k]), after[k] = g[k] * sum[k] + (T(1) - g[k]) * product[k];
        }
    }

    void back(const Vec *u, const Vec *, const Vec *trace, Vec *d, Vec *du) {
        const Index K = O * W;
        const Vec *sum = trace + C * W, *g = sum + K, *product = g + K;
        Vec *to = dz.at(0), *up = exponents.at(0), *slope = by_log.at(0);
        for (Index k = 0; k < K; ++k) {
            up[k] = (GATED ? d[k] * (T(1) - g[k]) : d[k]) * product[k];
            if (GATED) to[k] = d[k] * g[k], to[K + k] = d[k] * (sum[k] - product[k]) * g[k] * (T(1) - g[k]);
        }
        this->multiply_back(0, O, 0, C, up, none.at(0), slope);
        this->learn(0, O, up, trace);
        if (GATED) this->multiply_back(0, R, 0, C, to, none.at(0), du), this->learn(0, R, to, u);
        for (Index k = 0; k < C * W; ++k) {
            const Vec sign = u[k] > T(0) ? Vec{} + T(1) : u[k] < T(0) ? Vec{} - T(1) : Vec{};
            const Vec more = slope[k] * sign / (size_of<T>(u[k]) + T(1e-7));
            du[k] = GATED ? du[k] + more : more;
        }
    }

   private:
    Buffer<T> exponents, by_log;
};

// NMU: h_r = Π (A_r u + 1 - A_r), without a trace.
template <class T, int W>
class Products : public Cell<T, W> {
    using Base = Cell<T, W>;
    using typename Base::Vec;
    using Base::A, Base::C, Base::I, Base::N, Base::O, Base::R, Base::V;

   public:
    explicit Products(const Recurrence &call) : Base(call), beyond_(C * N) {}
    static Index trace(const Recurrence &) { return 0; }

    void step(const Vec *u, const Vec *, Vec *after, Vec *) {
        for (Index r = 0; r < R; ++r)
            for (int w = 0; w < W; ++w) {
                Vec all = Vec{} + T(1);
                for (Index j = 0; j < C; ++j) all *= A[r * C + j] * (u[j * W + w] - T(1)) + T(1);
                after[r * W + w] = all;
            }
    }

    // Products of the factors before and after each one: without a division a factor of zero has a gradient too.
    void back(const Vec *u, const Vec *, const Vec *, Vec *d, Vec *du) {
        std::fill_n(du, C * W, Vec{});
        Vec *beyond = beyond_.at(0);
        for (Index r = 0; r < R; ++r)
            for (int w = 0; w < W; ++w) {
                Vec all = Vec{} + T(1);
                for (Index j = C - 1; j >= 0; --j) beyond[j] = all, all *= A[r * C + j] * (u[j * W + w] - T(1)) + T(1);
                all = d[r * W + w];
                for (Index j = 0; j < C; ++j) {
                    const Vec others = all * beyond[j], less = u[j * W + w] - T(1);
                    *(j < I ? this->dA_x.at((r * I + j) * V) : this->dA_h.at((r * O + j - I) * V)) += others * less;
                    du[j * W + w] += others * A[r * C + j];
                    all *= A[r * C + j] * less + T(1);
                }
            }
    }

   private:
    Buffer<T> beyond_;
};

// uRNN: h = modReLU(A u; b), real parts above imaginary ones, v = b; variant 1 takes the squared modulus. The trace is A u and the modulus.
template <class T, int W>
class Unitary : public Cell<T, W> {
    using Base = Cell<T, W>;
    using typename Base::Vec;
    using Base::C, Base::O, Base::R, Base::dz, Base::none, Base::p, Base::v;

   public:
    explicit Unitary(const Recurrence &call) : Base(call) {}
    static Index trace(const Recurrence &call) { return call.O + call.O / 2; }

    void step(const Vec *u, const Vec *, Vec *after, Vec *trace) {
        const Index n = O / 2 * W;
        Vec *modulus = trace + 2 * n;
        this->multiply(0, R, 0, C, u, none.at(0), trace);
        for (Index k = 0; k < n; ++k) {
            const Vec square = trace[k] * trace[k] + trace[n + k] * trace[n + k];
            modulus[k] = p.variant ? square : root_of<T>(at_least<T>(square, TINY));
            const Vec factor = above(modulus[k] + v[k / W]) / (modulus[k] + T(1e-5));
            after[k] = factor * trace[k], after[n + k] = factor * trace[n + k];
        }
    }

    void back(const Vec *u, const Vec *, const Vec *trace, Vec *d, Vec *du) {
        const Index n = O / 2 * W;
        const Vec *modulus = trace + 2 * n;
        Vec *to = dz.at(0);
        for (Index k = 0; k < n; ++k) {
            const Vec m = modulus[k], height = m + v[k / W], inverse = T(1) / (m + T(1e-5)), factor = above(height) * inverse;
            const Vec dfactor = d[k] * trace[k] + d[n + k] * trace[n + k], db = height > T(0) ? dfactor * inverse : Vec{};
            const Vec dm = db - dfactor * factor * inverse;
            const Vec square = trace[k] * trace[k] + trace[n + k] * trace[n + k];
            const Vec by = p.variant ? T(2) * dm : square >= TINY ? dm / m : Vec{};
            to[k] = factor * d[k] + by * trace[k], to[n + k] = factor * d[n + k] + by * trace[n + k];
            *this->dv.at(k / W * Base::V) += db;
        }
        this->multiply_back(0, R, 0, C, to, none.at(0), du);
        this->learn(0, R, to, u);
    }

   private:
    static constexpr T TINY = std::numeric_limits<T>::min();

    static Vec above(Vec z) { return z > T(0) ? z : z != z ? z : Vec{}; }
};

}  // namespace
