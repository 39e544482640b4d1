// The recurrence where all samples have the same gates: they do not see the state, and the auxiliary input is one number a step.
// Gates are then computed once a step and member; samples only move mass, and their gradients meet at the gates.

#pragma once

#include "block.h"

namespace {

template <class T, int K>
class Even : Block<T, K> {
    using Base = Block<T, K>;
    using typename Base::Vec;
    using Base::p, Base::dW, Base::dbase;
    using Base::entry, Base::put, Base::read, Base::write, Base::place, Base::logits, Base::softmax, Base::add_gradient, Base::sum_of;

   public:
    using Base::N;

    Even(const Call &call, Index first, Index last, bool backward)
        : Base(call, first, last, backward), z(call.F * N), gates(call.T * call.G * K), floored(call.T * K), dgates(backward ? call.T * call.G * K * N : 0) {}

    static bool covers(const Call &call) {
        return Base::fits(call) && !call.sees_state && !call.da.data && (call.A == 0 || call.a.sample == 0);
    }

    void forward(Index member) {
        FlushDenormals flush;
        begin(member);
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
        begin(member);
        this->begin_sums();
        dgates.clear();
        while (this->next()) {
            Vec dc[K] = {};
            add_gradient(p.dc, p.T, dc);
            for (Index t = p.T - 1; t >= 0; --t) step_back(t, dc);
            if (p.dc0.data) write(dc, p.dc0, 0);
        }
        for (Index t = 0; t < p.T; ++t) gates_back(t);
    }

    void reduce(bool first) { this->hand_over(first); }

   private:
    Buffer<T> z;
    Buffer<T> gates, floored, dgates;  // [t][row][K]: shares and output gate; where its logit is below the floor; their gradients, in lanes

    void begin(Index member) {
        Base::begin(member);
        this->start_ = this->first_;
        this->count_ = std::min(N, this->last_ - this->first_);
        for (Index t = 0; t < p.T; ++t) {
            see(t);
            for (Index row = 0; row < p.G; ++row) {
                Vec S[K];
                logits(row, z.at(0), p.F, S);
                if (row < p.M) softmax(S);
                for (int k = 0; k < K; ++k) {
                    if (row == p.M) floored[t * K + k] = T(S[k][0] < Exp<T>::sigmoid_floor);
                    gates[(t * p.G + row) * K + k] = row < p.M ? S[k][0] : sigmoid_of<T>(S[k])[0];
                }
            }
        }
        this->count_ = 0;
    }

    void see(Index t) {
        const Place<T> from = place(p.a, t);
        for (Index f = 0; f < p.A; ++f) *z.at(f * N) = entry(from, f);
    }

    void step(Index t, Vec *c, Vec *h) {
        Vec m[K];
        this->redistribute(c, m);
        const Place<T> from = place(p.x, t);
        const T *share = gates + t * p.G * K;
        for (Index row = 0; row < p.M; ++row, share += K) {
            const Vec amount = entry(from, row);
            for (int k = 0; k < K; ++k) m[k] += share[k] * amount;
        }
        for (int k = 0; k < K; ++k) {
            h[k] = share[k] * m[k];
            c[k] = m[k] - h[k];
        }
    }

    void step_back(Index t, Vec *dc) {
        Vec c[K], m[K], h[K], dh[K] = {}, g[K];
        read(p.c, t, c);
        read(p.c, t + 1, m);
        read(p.h, t, h);
        add_gradient(p.dh, t, dh);
        const T *share = gates + t * p.G * K, *opened = share + p.M * K;
        Vec *into = dgates.at(t * p.G * K * N);
        for (int k = 0; k < K; ++k) {
            g[k] = dh[k] * opened[k] + dc[k] * (T(1) - opened[k]);
            into[p.M * K + k] += (m[k] + h[k]) * (dh[k] - dc[k]);
        }
        const Place<T> from = place(p.x, t), back = place(p.dx, t);
        for (Index row = 0; row < p.M; ++row, share += K, into += K) {
            const Vec amount = entry(from, row);
            Vec worth{};
            for (int k = 0; k < K; ++k) into[k] += amount * g[k];
            for (int k = 0; k < K && back.data; ++k) worth += share[k] * g[k];
            if (back.data) put(worth, back, row);
        }
        this->redistribute_back(c, g, dc);
        add_gradient(p.dc, t, dc);
    }

    // From the gates of a step, summed over samples, to weights and base; the first lane holds the sums.
    void gates_back(Index t) {
        this->start_ = this->first_;
        this->count_ = 1;
        see(t);
        this->count_ = 0;
        for (Index row = 0; row < p.G; ++row) {
            const T *gate = gates + (t * p.G + row) * K;
            T worth[K], mean = 0;
            for (int k = 0; k < K; ++k) worth[k] = sum_of(*dgates.at(((t * p.G + row) * K + k) * N));
            for (int k = 0; k < K; ++k) mean += gate[k] * worth[k];
            for (int k = 0; k < K; ++k) {
                const T down = row < p.M ? gate[k] * (worth[k] - mean) : floored[t * K + k] != T(0) ? T(0) : gate[k] * (T(1) - gate[k]) * worth[k];
                dbase[(row * K + k) * N] += down;
                for (Index f = 0; f < p.F; ++f) dW[((row * K + k) * p.F + f) * N] += down * (*z.at(f * N))[0];
            }
        }
    }
};

}  // namespace
