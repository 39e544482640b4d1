// The recurrence where all samples of a member have the same gates: the gates see auxiliary inputs only, and these are the same for
// all samples. Then i, o and R are computed once per step, with the steps in the lanes, and a sample costs c R + x i.
//
// The backward pass sums the gradients of i and o over the samples first; those of logits and weights follow once per member.

#pragma once

#include <vector>

#include "product.h"
#include "settle.h"
#include "shares.h"

namespace {

template <class T, int W>
class Uniform {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V;

   public:
    static constexpr Index N = W * V;     // samples, or steps, in a block
    static constexpr Index LARGEST = 16;  // blocks in a tile
    static constexpr Index MOST = 640;    // vectors of gradients

    static bool fits(const Call &call) {
        return call.B > 0 && !call.sees_state && !call.sees_mass && !call.S && !call.valid && !call.da.data && call.form != DYNAMIC &&
               call.K <= 16 && (call.M + 1) * call.K * (call.F + 1) + call.K * call.K <= MOST && alike(call);
    }

    // Whether all samples of a member have the same auxiliary inputs; if not, the first few usually differ already.
    static bool alike(const Call &call) {
        const Index members = call.a.member == 0 ? 1 : call.E;
        for (Index member = 0; member < members && call.A && call.a.sample; ++member)
            for (Index t = 0; t < call.T; ++t) {
                const Place<T> at(call.a, member, t, 0);
                for (Index n = 1; n < call.B; ++n)
                    for (Index f = 0; f < call.A; ++f)
                        if (at.data[n * at.sample + f * at.entry] != at.data[f * at.entry]) return false;
            }
        return true;
    }

    Uniform(const Call &call, Index first, Index last, bool backward)
        : p(call), M(call.M), K(call.K), F(call.F), first_(first), last_(last), rows_((M + 1) * K),
          blocks_(std::max<Index>(1, std::min(LARGEST, (last - first + N - 1) / N))), fixed(call), fallback((M + K) * K), base(rows_ * N),
          z(F * N), L(rows_ * N), shared(K * N), unit(N), gates(call.T * (rows_ + K)), u(blocks_ * M * N), c(blocks_ * K * N), m(blocks_ * K * N),
          none(K * N), dc(backward ? blocks_ * K * N : 0), dh(backward ? blocks_ * K * N : 0), g(backward ? K * N : 0), q(backward ? blocks_ * M * N : 0),
          dgates(backward ? call.T * rows_ : 0), sums(backward ? rows_ * V : 0), dW(backward ? rows_ * F * V : 0),
          db(backward ? rows_ * V : 0), dR(backward ? K * K * V : 0), by_(size_t(M)) {
        fallback_rows<T>(p, fallback);
        unit.fill(T(1));
    }

    void forward(Index member) {
        FlushDenormals exact(false);
        begin_member(member);
        for (start_ = first_; start_ < last_; start_ += blocks_ * N) {
            begin_tile();
            FlushDenormals flush(flushable<T>(p, member_, start_, count_));
            read(p.c0, 0, K, c);
            write(c, K, p.c, 0);
            for (Index t = 0; t < p.T; ++t) step(t);
        }
    }

    void backward(Index member) {
        FlushDenormals flush;
        begin_member(member);
        for (Buffer<T> *found : {&dgates, &dW, &db, &dR}) found->clear();
        for (start_ = first_; start_ < last_; start_ += blocks_ * N) {
            begin_tile();
            for (Buffer<T> *lanes : {&dc, &dh}) lanes->clear();
            if (p.dc.data) read(p.dc, p.T, K, dc);
            for (Index t = p.T - 1; t >= 0; --t) step_back(t);
            if (p.dc0.data) write(dc, K, p.dc0, 0);
        }
        for (Index t = 0; t < p.T; t += N) gates_back(t);
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
    const Index M, K, F;
    Index first_, last_, rows_, blocks_;
    Index member_ = 0, start_ = 0, count_ = 0;
    Fixed<T> fixed;
    // With steps in the lanes: base, z, L, shared. Without lanes: gates (T, M + 2, K), for inputs, what leaves and what stays, and
    // dgates (T, M + 1, K). Sums, dW, db, dR have one vector for each entry, g and none belong to a block of samples, all others are
    // [block][row][N].
    Buffer<T> fallback, base, z, L, shared, unit, gates, u, c, m, none, dc, dh, g, q, dgates, sums, dW, db, dR;
    std::vector<Sums<T, W>> by_;

    void read(const View &view, Index t, Index width, T *to) {
        if (width) load<T, N>(Place<T>(view, member_, t, start_), count_, width, to, width * N);
    }

    void write(const T *from, Index width, const View &view, Index t) {
        if (width) store<T, N>(from, width * N, count_, width, Place<T>(view, member_, t, start_));
    }

    Index blocks() const { return (count_ + N - 1) / N; }

    void begin_tile() {
        count_ = std::min(blocks_ * N, last_ - start_);
        for (Buffer<T> *lanes : {&u, &c}) lanes->clear();  // the previous tile may have had more samples
    }

    void begin_member(Index member) {
        member_ = member;
        const Rows<T> rows(p, member);
        if (p.form == STATIC) fixed.set(member);
        for (Index k = 0; k < rows_; ++k) std::fill_n(base + k * N, N, rows.b(k / K)[k % K]);
        for (Index t = 0; t < p.T; t += N) gates_of(t);
    }

    // The gates of a step: M rows of the input gate, what leaves, what stays.
    T *gates_at(Index t) { return gates + t * (rows_ + K); }

    // Features and logits of the steps from t on.
    Index logits(Index t) {
        const Index steps = std::min(N, Index(p.T) - t), last = M * K * N;
        z.clear();
        for (Index n = 0; n < steps; ++n)
            for (Index f = 0; f < F; ++f) z[f * N + n] = Place<T>(p.a, member_, t + n, first_).data[f * p.a.entry];
        const Rows<T> rows(p, member_);
        product<T, W, 0>(M * K, 1, F, {rows.W(0), F, 0, 1}, z.at(0), W, base.at(0), L.at(0), W);
        product<T, W, 0>(K, 1, F, {rows.W(M), F, 0, 1}, z.at(0), W, base.at(last), L.at(last), W);
        return steps;
    }

    void gates_of(Index t) {
        const Index steps = logits(t);
        shares<T, W>(L.at(0), M, K, p.input_norm, nullptr, by_.data());
        for (Index f = 0; f < M + 2; ++f) {
            const Vec *row = L.at(std::min(f, M) * K * N);
            shared.clear();
            if (f < M) share_out<T, W>(unit.at(0), row, &by_[size_t(f)], 1, K, p.input_norm, fallback + f * K, shared.at(0));
            for (Index k = 0; k < K * W && f >= M; ++k) {
                const Outlet<T> outlet(row[k]);
                shared.at(0)[k] = f == M ? outlet.leaves : outlet.stays;
            }
            for (Index n = 0; n < steps; ++n)
                for (Index k = 0; k < K; ++k) gates_at(t + n)[f * K + k] = shared[k * N + n];
        }
    }

    void gates_back(Index t) {
        const Index steps = logits(t);
        shares<T, W>(L.at(0), M, K, p.input_norm, nullptr, by_.data());
        for (Index f = 0; f <= M; ++f) {
            Vec *row = L.at(f * K * N), *worth = shared.at(0), value[W];
            shared.clear();
            for (Index n = 0; n < steps; ++n)
                for (Index k = 0; k < K; ++k) shared[k * N + n] = dgates[(t + n) * rows_ + f * K + k];
            if (f < M) share_back<T, W>(unit.at(0), row, &by_[size_t(f)], 1, K, p.input_norm, fallback + f * K, worth, value);
            for (Index k = 0; k < K * W && f == M; ++k) {
                const Outlet<T> outlet(row[k]);
                row[k] = worth[k] * slope_of<T>(outlet.leaves, outlet.stays);
            }
        }
        lane_products<T, W>(rows_, F, L.at(0), z.at(0), dW.at(0));
        for (Index k = 0; k < rows_; ++k)
            for (int w = 0; w < W; ++w) db.at(k * V)[0] += L.at(k * N)[w];
    }

    // m = c R + x i of a block.
    void share(Index t, Index b) {
        Vec *to = m.at(b * K * N), *cells = c.at(b * K * N);
        if (p.form == STATIC)
            product<T, W, 1>(K, 1, K, {fixed.R, 1, 0, K}, cells, W, none.at(0), to, W);
        else
            std::memcpy(to, cells, size_t(K * N) * sizeof(T));
        product<T, W, 1>(K, 1, M, {gates_at(t), 1, 0, K}, u.at(b * M * N), W, to, to, W);
    }

    void step(Index t) {
        read(p.x, t, M, u);
        const T *leaves = gates_at(t) + M * K, *stays = leaves + K;
        for (Index b = 0; b < blocks(); ++b) {
            share(t, b);
            Vec *mass = m.at(b * K * N), *cell = c.at(b * K * N);
            Books<T, W> books;
            books.add(u.at(b * M * N), M);
            books.add(cell, K);
            for (Index k = 0, cells = K; k < cells; ++k)
                for (int w = 0; w < W; ++w) {
                    const Vec after = mass[k * W + w];
                    mass[k * W + w] = leaves[k] * after;
                    cell[k * W + w] = stays[k] * after;
                }
            books.settle(mass, cell, K, unit.at(0));
        }
        if (p.h.data) write(m, K, p.h, t);
        write(c, K, cells_after(p, t), t + 1);
    }

    void step_back(Index t) {
        read(p.x, t, M, u);
        read(p.c, t, K, c);
        if (p.last && t == p.T - 2) dh.clear();
        if (p.dh.data && (!p.last || t == p.T - 1)) read(p.dh, t, K, dh);
        sums.clear();
        for (Index b = 0; b < blocks(); ++b) block_back(t, b);
        for (Index k = 0; k < rows_; ++k) dgates[t * rows_ + k] += total_of<T>(sums.at(k * V)[0]);
        if (p.dx.data) write(q, M, p.dx, t);
        if (!p.dc.data || p.last) return;
        read(p.dc, t, K, m);
        for (Index k = 0; k < blocks() * K * W; ++k) dc.at(0)[k] += m.at(0)[k];
    }

    void block_back(Index t, Index b) {
        const T *gate = gates_at(t);
        Vec *later = dc.at(b * K * N), *worth = g.at(0), *opened = sums.at(M * K * V);
        const Vec *mass = m.at(b * K * N), *down = dh.at(b * K * N);
        share(t, b);
        for (Index k = 0, cells = K; k < cells; ++k) {
            Vec sum = opened[k];
            for (int w = 0; w < W; ++w) {
                const Vec gap = down[k * W + w] - later[k * W + w];
                sum += mass[k * W + w] * gap;
                worth[k * W + w] = gate[M * cells + k] * down[k * W + w] + gate[(M + 1) * cells + k] * later[k * W + w];
            }
            opened[k] = sum;
        }
        lane_products<T, W>(M, K, u.at(b * M * N), worth, sums.at(0));
        if (p.form == STATIC) {
            lane_products<T, W>(K, K, c.at(b * K * N), worth, dR.at(0));
            product<T, W, 0>(K, 1, K, {fixed.R, K, 0, 1}, worth, W, none.at(0), later, W);
        } else {
            std::memcpy(later, worth, size_t(K * N) * sizeof(T));
        }
        if (!p.dx.data) return;
        Vec *to = q.at(b * M * N);
        std::memset(to, 0, size_t(M * N) * sizeof(T));
        product<T, W, 0>(M, 1, K, {gate, K, 0, 1}, worth, W, to, to, W);
    }
};

}  // namespace
