// The recurrence for small models: all weights, and a vector of gradients for each, fit in L1.
//
// Samples lie in the lanes, as in worker.h. The gradients of weights are summed lane by lane, and the lanes are added up once per
// member: no transposition, no product along samples. Static inputs count as auxiliary inputs that do not change.

#pragma once

#include <vector>

#include "product.h"
#include "settle.h"
#include "shares.h"

namespace {

template <class T, int W>
class Small {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V;

   public:
    static constexpr Index N = W * V;     // samples in a block
    static constexpr Index LARGEST = 16;  // blocks in a tile
    static constexpr Index MOST = 640;    // vectors of gradients

    static bool fits(const Call &call) {
        return call.K <= 16 && Rows<T>::count(call) * call.K * (call.F + 1) + call.K * call.K <= MOST;
    }

    Small(const Call &call, Index first, Index last, bool backward)
        : p(call), M(call.M), K(call.K), F(call.F), G(Rows<T>::count(call)), first_(first), last_(last), rows_(G * K),
          blocks_(std::max<Index>(1, std::min(LARGEST, (last - first + N - 1) / N))), fixed(call), fallback((M + K) * K), base(rows_ * N),
          c(blocks_ * K * N), z(blocks_ * F * N), u(blocks_ * (M + K) * N), m(blocks_ * K * N), o(K * N), L(rows_ * N), live(N),
          dc(backward ? blocks_ * K * N : 0), dh(backward ? blocks_ * K * N : 0), g(backward ? K * N : 0),
          q(backward ? blocks_ * (M + K) * N : 0), dz(backward ? blocks_ * F * N : 0), ds(backward ? blocks_ * call.S * N : 0),
          dW(backward ? rows_ * F * V : 0), db(backward ? rows_ * V : 0), dR(backward ? K * K * V : 0), by_(size_t(G)) {
        fallback_rows<T>(p, fallback);
    }

    void forward(Index member) {
        FlushDenormals exact(false);
        begin_member(member);
        for (start_ = first_; start_ < last_; start_ += blocks_ * N) {
            begin_tile();
            FlushDenormals flush(flushable<T>(p, member_, start_, count_));
            read(p.c0, 0, K, c, K);
            write(c, K, K, p.c, 0);
            for (Index t = 0; t < p.T; ++t) step(t);
        }
    }

    void backward(Index member) {
        FlushDenormals flush;
        begin_member(member);
        for (Buffer<T> *sums : {&dW, &db, &dR}) sums->clear();
        for (start_ = first_; start_ < last_; start_ += blocks_ * N) {
            begin_tile();
            for (Buffer<T> *sums : {&dc, &ds, &dh}) sums->clear();
            if (p.dc.data) read(p.dc, p.T, K, dc, K);
            for (Index t = p.T - 1; t >= 0; --t) step_back(t);
            if (p.dc0.data) write(dc, K, K, p.dc0, 0);
            if (p.ds.data) write(ds, p.S, p.S, p.ds, 0);
        }
    }

    void reduce(bool first) {
        const Rows<T> to(p, member_);
        for (Index k = 0; k < rows_; ++k) {
            T *target = to.dW(k / K) + k % K * F, &offset = to.db(k / K)[k % K];
            for (Index f = 0; f < F; ++f) target[f] = (first ? T(0) : target[f]) + total_of<T>(dW.at((k * F + f) * V)[0]);
            offset = (first ? T(0) : offset) + total_of<T>(db.at(k * V)[0]);
        }
        if (p.form != STATIC) return;
        for (Index k = 0; k < K * K; ++k) dR[k] = total_of<T>(dR.at(k * V)[0]);
        fixed.back(member_, dR, static_cast<T *>(p.dB_r) + member_ * K * K, first);
    }

   private:
    const Call &p;
    const Index M, K, F, G;
    Index first_, last_, rows_, blocks_;
    Index member_ = 0, start_ = 0, count_ = 0;
    Fixed<T> fixed;
    // dW, db and dR have one vector for each weight; base, o, L, live and g belong to one block; all others are [block][row][N].
    Buffer<T> fallback, base, c, z, u, m, o, L, live, dc, dh, g, q, dz, ds, dW, db, dR;
    std::vector<Sums<T, W>> by_;
    Vec total_[W] = {};

    // This tile's samples of a view, in blocks of `rows` rows, and back; lanes without a sample stay as they are.
    void read(const View &view, Index t, Index width, T *to, Index rows) {
        if (width) load<T, N>(Place<T>(view, member_, t, start_), count_, width, to, rows * N);
    }

    void write(const T *from, Index rows, Index width, const View &view, Index t) {
        if (width) store<T, N>(from, rows * N, count_, width, Place<T>(view, member_, t, start_));
    }

    void begin_member(Index member) {
        member_ = member;
        const Rows<T> rows(p, member);
        if (p.form == STATIC) fixed.set(member);
        for (Index k = 0; k < rows_; ++k) std::fill_n(base + k * N, N, rows.b(k / K)[k % K]);
    }

    void begin_tile() {
        count_ = std::min(blocks_ * N, last_ - start_);
        for (Buffer<T> *lanes : {&z, &u, &c}) lanes->clear();  // the previous tile may have had more samples
        read(p.s, 0, p.S, z + p.A * N, F);
    }

    Index blocks() const { return (count_ + N - 1) / N; }

    // Features, mass, logits and output gate of a block, and m = c R, from the cells before step t.
    void prepare(Index t, Index b) {
        Vec *features = z.at(b * F * N), *mass = u.at(b * (M + K) * N), *moved = m.at(b * K * N);
        std::memcpy(mass + M * W, c.at(b * K * N), size_t(K * N) * sizeof(T));
        live.fill(T(1));
        for (Index n = 0; n < N && p.valid; ++n)
            live[n] = b * N + n < count_ && p.valid[t * p.B + start_ + b * N + n] ? T(1) : T(0);
        if (p.valid) {
            keep_live(features, p.A);
            keep_live(mass, M + K);
        }
        if (p.sees_mass) std::memcpy(features + (F - M) * W, mass, size_t(M * N) * sizeof(T));
        for (int w = 0; w < W && p.sees_state; ++w) normalise_state(mass + M * W + w, features + (p.A + p.S) * W + w, w);
        logits(features);
        open(K * W, L.at(outlet()), o.at(0));
        std::memset(moved, 0, size_t(K * N) * sizeof(T));
        if (p.form == STATIC) product<T, W, 1>(K, 1, K, {fixed.R, 1, 0, K}, mass + M * W, W, moved, moved, W);
        if (p.form == IDENTITY) std::memcpy(moved, mass + M * W, size_t(K * N) * sizeof(T));
    }

    Index outlet() const { return (G - 1) * K * N; }  // the position of the output gate's logits

    void logits(const Vec *features) {
        const Rows<T> rows(p, member_);
        product<T, W, 0>(M * K, 1, F, {rows.W(0), F, 0, 1}, features, W, base.at(0), L.at(0), W);
        if (p.form == DYNAMIC) product<T, W, 0>(K * K, 1, F, {rows.W(M), F, 0, 1}, features, W, base.at(M * K * N), L.at(M * K * N), W);
        product<T, W, 0>(K, 1, F, {rows.W(G - 1), F, 0, 1}, features, W, base.at(outlet()), L.at(outlet()), W);
    }

    // The share of every cell that leaves, and the share that stays, in the place of the logits.
    static void open(Index count, Vec *logits, Vec *gates) {
#pragma GCC unroll 4
        for (Index k = 0; k < count; ++k) {
            const Outlet<T> outlet(logits[k]);
            gates[k] = outlet.leaves, logits[k] = outlet.stays;
        }
    }

    void keep_live(Vec *rows, Index width) {  // zero in padding, whatever was read there
        for (Index k = 0; k < width; ++k)
            for (int w = 0; w < W; ++w) rows[k * W + w] = live.at(0)[w] != T(0) ? rows[k * W + w] : Vec{};
    }

    void normalise_state(const Vec *mass, Vec *state, int w) {
        Vec sum{};
        for (Index k = 0; k < K; ++k) sum += p.is_signed ? magnitude<T>(mass[k * W]) : mass[k * W];
        const Vec by = T(1) / (sum > T(EMPTY) ? sum : Vec{} + T(1));
        for (Index k = 0; k < K; ++k) state[k * W] = mass[k * W] * by;
        total_[w] = sum;
    }

    // All logits become shares, and the mass they share out is added to m.
    void share(Index b) {
        Vec *cells = L.at(M * K * N), *mass = u.at(b * (M + K) * N), *to = m.at(b * K * N);
        shares<T, W>(L.at(0), M, K, p.input_norm, nullptr, by_.data());
        shares<T, W>(cells, shared(), K, p.cell_norm, p.mask, by_.data() + M);
        share_out<T, W>(mass, L.at(0), by_.data(), M, K, p.input_norm, fallback, to);
        share_out<T, W>(mass + M * W, cells, by_.data() + M, shared(), K, p.cell_norm, fallback + M * K, to);
    }

    Index shared() const { return G - 1 - M; }

    void step(Index t) {
        read(p.a, t, p.A, z, F);
        read(p.x, t, M, u, M + K);
        for (Index b = 0; b < blocks(); ++b) {
            prepare(t, b);
            share(b);
            leave(m.at(b * K * N), c.at(b * K * N));
            Books<T, W> books;
            books.add(u.at(b * (M + K) * N), M + K);
            books.settle(m.at(b * K * N), c.at(b * K * N), K, live.at(0));
        }
        if (p.h.data) write(m, K, K, p.h, t);
        write(c, K, K, cells_after(p, t), t + 1);
    }

    void leave(Vec *mass, Vec *cell) {
        const Vec *gate = o.at(0), *stays = L.at(outlet()), *here = live.at(0);
        for (Index k = 0, cells = K; k < cells; ++k)
            for (int w = 0; w < W; ++w) {
                const Index i = k * W + w;
                const Vec after = mass[i];
                mass[i] = gate[i] * after;
                // In padding, the first term is zero.
                cell[i] = stays[i] * after + (T(1) - here[w]) * cell[i];
            }
    }

    void step_back(Index t) {
        read(p.a, t, p.A, z, F);
        read(p.x, t, M, u, M + K);
        read(p.c, t, K, c, K);
        if (p.last && t == p.T - 2) dh.clear();
        if (p.dh.data && (!p.last || t == p.T - 1)) read(p.dh, t, K, dh, K);
        for (Index b = 0; b < blocks(); ++b) block_back(t, b);
        if (p.dx.data) write(q, M + K, M, p.dx, t);
        if (p.da.data) write(dz, F, p.A, p.da, t);
        if (!p.dc.data || p.last) return;
        read(p.dc, t, K, m, K);
        for (Index k = 0; k < blocks() * K * W; ++k) dc.at(0)[k] += m.at(0)[k];
    }

    void block_back(Index t, Index b) {
        const Index mass = b * (M + K) * N;
        prepare(t, b);
        if (p.valid) keep_live(dh.at(b * K * N), K);
        worth(dh.at(b * K * N), dc.at(b * K * N));
        share(b);
        share_back<T, W>(u.at(mass), L.at(0), by_.data(), M, K, p.input_norm, fallback, g.at(0), q.at(mass));
        share_back<T, W>(u.at(mass + M * N), L.at(M * K * N), by_.data() + M, shared(), K, p.cell_norm, fallback + M * K, g.at(0), q.at(mass + M * N));
        cells_back(u.at(mass + M * N), q.at(mass + M * N), dc.at(b * K * N));
        multiply(K * W, m.at(b * K * N), o.at(0), L.at(outlet()));
        sum_up(z.at(b * F * N));
        if (p.sees_state || p.sees_mass || p.da.data || p.ds.data) features_back(b);
    }

    static void multiply(Index count, const Vec *x, const Vec *y, Vec *to) {
        for (Index k = 0; k < count; ++k) to[k] = x[k] * y[k];
    }

    // g = dL/dm; the output gate is overwritten by the factor that turns m into the gradient of its logits.
    void worth(const Vec *down, const Vec *later) {
        const Vec *here = live.at(0), *stays = L.at(outlet());
        Vec *gates = o.at(0), *to = g.at(0);
        for (Index k = 0, cells = K; k < cells; ++k)
            for (int w = 0; w < W; ++w) {
                const Index i = k * W + w;
                const Vec gate = gates[i], out = down[i], stored = later[i] * here[w];
                to[i] = out * gate + stored * stays[i];
                gates[i] = slope_of<T>(gate, stays[i]) * (out - stored);
            }
    }

    // Back through c R to the cells before the step; in padding the gradient does not change.
    void cells_back(const Vec *mass, Vec *value, Vec *to) {
        if (p.form == STATIC) {
            std::memset(value, 0, size_t(K * N) * sizeof(T));
            product<T, W, 0>(K, 1, K, {fixed.R, K, 0, 1}, g.at(0), W, value, value, W);
            lane_products<T, W>(K, K, mass, g.at(0), dR.at(0));
        }
        if (p.form == IDENTITY) std::memcpy(value, g.at(0), size_t(K * N) * sizeof(T));
        const Vec *here = live.at(0);
        for (Index k = 0, cells = K; k < cells; ++k)
            for (int w = 0; w < W; ++w) to[k * W + w] = value[k * W + w] * here[w] + to[k * W + w] * (T(1) - here[w]);
    }

    // From the gradients of all logits, in L, to the gradients of weights and biases.
    void sum_up(const Vec *features) {
        const Vec *down = L.at(0);
        Vec *to = db.at(0);
        for (Index k = 0, rows = rows_; k < rows; ++k) {
            Vec sum = to[k];
            for (int w = 0; w < W; ++w) sum += down[k * W + w];
            to[k] = sum;
        }
        lane_products<T, W>(rows_, F, down, features, dW.at(0));
    }

    void features_back(Index b) {
        const Rows<T> rows(p, member_);
        Vec *to = dz.at(b * F * N), *value = q.at(b * (M + K) * N), *mass = u.at((b * (M + K) + M) * N);
        std::memset(to, 0, size_t(F * N) * sizeof(T));
        product<T, W, 0>(F, 1, M * K, {rows.W(0), 1, 0, F}, L.at(0), W, to, to, W);
        if (p.form == DYNAMIC) product<T, W, 0>(F, 1, K * K, {rows.W(M), 1, 0, F}, L.at(M * K * N), W, to, to, W);
        product<T, W, 0>(F, 1, K, {rows.W(G - 1), 1, 0, F}, L.at(outlet()), W, to, to, W);
        const Vec *state = z.at((b * F + p.A + p.S) * N);
        for (int w = 0; w < W; ++w) {
            if (p.sees_state)
                state_back<T, W>(mass + w, state + w, to + (p.A + p.S) * W + w, total_[w], live.at(0)[w], K, p.is_signed, dc.at(b * K * N) + w);
            for (Index f = 0; f < M && p.sees_mass; ++f) value[f * W + w] += to[(F - M + f) * W + w];
            for (Index f = 0; f < p.S; ++f) ds.at((b * p.S + f) * N)[w] += to[(p.A + f) * W + w];
        }
    }
};

}  // namespace
