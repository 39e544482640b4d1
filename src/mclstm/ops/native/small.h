// The recurrence for few cells: everything of a vector of samples stays in registers. The general Worker spends most of its time
// between the products of a step, which are too small for it.

#pragma once

#include "block.h"

namespace {

// One auxiliary input; STATE: whether the gates see the cells too.
template <class T, int K, bool STATE>
class Small : Block<T, K> {
    using Base = Block<T, K>;
    using typename Base::Vec;
    using Base::p, Base::dW, Base::dbase, Base::weights_;
    using F = std::integral_constant<int, STATE ? K + 1 : 1>;
    using Base::entry, Base::put, Base::read, Base::write, Base::place, Base::logits, Base::softmax, Base::add_gradient;

   public:
    using Base::N;

    Small(const Call &call, Index first, Index last, bool backward) : Base(call, first, last, backward) {}

    static bool covers(const Call &call) { return Base::fits(call) && call.A == 1 && bool(call.sees_state) == STATE; }

    void forward(Index member) {
        FlushDenormals flush;
        this->begin(member);
        while (this->next()) {
            Vec c[K], h[K];
            read(p.c0, 0, c);
            write(c, p.c, 0);
            for (Index t = 0; t < p.T; ++t) {
                step(t, c, h);
                write(h, p.h, t);
                write(c, p.c, t + 1);
            }
        }
    }

    void backward(Index member) {
        FlushDenormals flush;
        this->begin(member);
        this->begin_sums();
        while (this->next()) {
            Vec dc[K] = {};
            add_gradient(p.dc, p.T, dc);
            for (Index t = p.T - 1; t >= 0; --t) step_back(t, dc);
            if (p.dc0.data) write(dc, p.dc0, 0);
        }
    }

    void reduce(bool first) { this->hand_over(first); }

   private:
    static Vec magnitude(Vec v) { return v < T(0) ? -v : v; }
    static T empty() { return std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon(); }

    // Features of step t from the cells before it; the sum of the cells.
    Vec features(Index t, const Vec *c, Vec *z) const {
        z[0] = entry(place(p.a, t), 0);
        Vec sum{};
        for (int k = 0; k < K && STATE; ++k) sum += p.is_signed ? magnitude(c[k]) : c[k];
        const Vec divisor = sum > empty() ? sum : Vec{} + T(1);
        for (int k = 0; k < K && STATE; ++k) z[1 + k] = c[k] / divisor;
        return sum;
    }

    void step(Index t, Vec *c, Vec *h) {
        Vec m[K], S[K], z[F()];
        features(t, c, z);
        this->redistribute(c, m);
        const Place<T> from = place(p.x, t);
        for (Index row = 0; row < p.M; ++row) {
            logits(row, z, F(), S);
            softmax(S);
            const Vec amount = entry(from, row);
            for (int k = 0; k < K; ++k) m[k] += amount * S[k];
        }
        logits(p.M, z, F(), S);
        for (int k = 0; k < K; ++k) {
            h[k] = sigmoid_of<T>(S[k]) * m[k];
            c[k] = m[k] - h[k];
        }
    }

    // From the gradients of a row's logits to those of features, weights and base.
    void product_back(Index row, const Vec *dS, const Vec *z, Vec *dz) {
        const T *weight = weights_ + row * K * F();
        Vec *to = dW.at(row * K * F() * N), *shift = dbase.at(row * K * N);
        for (int k = 0; k < K; ++k) shift[k] += dS[k];
        for (int k = 0; k < K; ++k)
            for (int f = 0; f < F(); ++f) {
                to[k * F() + f] += dS[k] * z[f];
                dz[f] += weight[k * F() + f] * dS[k];
            }
    }

    void step_back(Index t, Vec *dc) {
        Vec c[K], m[K], h[K], dh[K] = {}, g[K], S[K], z[F()], dz[F()] = {};
        read(p.c, t, c);
        read(p.c, t + 1, m);
        read(p.h, t, h);
        add_gradient(p.dh, t, dh);
        const Vec sum = features(t, c, z);
        logits(p.M, z, F(), S);
        for (int k = 0; k < K; ++k) {
            const Vec gate = sigmoid_of<T>(S[k]), slope = S[k] < Exp<T>::sigmoid_floor ? Vec{} : gate * (T(1) - gate);
            g[k] = dh[k] * gate + dc[k] * (T(1) - gate);
            S[k] = (m[k] + h[k]) * (dh[k] - dc[k]) * slope;
        }
        product_back(p.M, S, z, dz);
        const Place<T> from = place(p.x, t), into = place(p.dx, t);
        for (Index row = 0; row < p.M; ++row) {
            logits(row, z, F(), S);
            softmax(S);
            Vec worth{};
            for (int k = 0; k < K; ++k) worth += S[k] * g[k];
            const Vec amount = entry(from, row);
            for (int k = 0; k < K; ++k) S[k] *= amount * (g[k] - worth);
            product_back(row, S, z, dz);
            if (into.data) put(worth, into, row);
        }
        if (p.da.data) put(dz[0], place(p.da, t), 0);
        this->redistribute_back(c, g, dc);
        if (STATE) state_back(c, sum, z + 1, dz + 1, dc);
        add_gradient(p.dc, t, dc);
    }

    // Through c / |c| to the cells before the step.
    void state_back(const Vec *c, const Vec &sum, const Vec *state, const Vec *down, Vec *dc) const {
        const auto stored = sum > empty();
        const Vec divisor = stored ? sum : Vec{} + T(1);
        Vec inner{};
        for (int k = 0; k < K; ++k) inner += down[k] * state[k];
        inner = stored ? inner : Vec{};
        for (int k = 0; k < K; ++k) {
            const Vec sign = c[k] > T(0) ? Vec{} + T(1) : (c[k] < T(0) ? Vec{} - T(1) : Vec{});
            dc[k] += (down[k] - (p.is_signed ? inner * sign : inner)) / divisor;
        }
    }
};

}  // namespace
