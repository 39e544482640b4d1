// The recurrence of ops/manual.py and its backward pass, fused: R never reaches memory.
//
// Samples lie in vector lanes: row sums are plain additions, and any number of cells fills the vectors. The loops are member ->
// batch tile -> step -> row of gates -> block of samples: the weights of a row stay in L1 for all blocks of a tile. The three
// products (logits, gradients of features, gradients of weights) are the micro-kernel of product.h with different strides.
// The part of the logits that comes from static inputs is computed once per tile: `base`. A batch of one has its own products, which
// read every weight once, because memory limits them. Only c is kept for the backward pass, which computes the gates again.

#pragma once

#include "product.h"
#include "settle.h"
#include "shares.h"

namespace {

constexpr Index TILE_BYTES = 256;  // of samples, in a tile's row

// One thread's members and samples, tile after tile; W vectors of samples in a block.
template <class T, int W>
class Worker {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V;

   public:
    static constexpr Index N = W * V;  // samples in a block
    static constexpr Index LARGEST = std::max<Index>(1, TILE_BYTES / (W * BYTES));

    Worker(const Call &call, Index first, Index last, bool backward)
        : p(call), first_(first), last_(last), G(Rows<T>::count(call)), single_(call.B == 1), A(call.A + (single_ ? call.S : 0)),
          S(single_ ? 0 : call.S), F(call.F - S), blocks_(std::max<Index>(1, std::min(LARGEST, (last - first + N - 1) / N))),
          columns_((F + V - 1) / V), statics_((S + V - 1) / V), cells_((call.K + V - 1) / V), fixed(call),
          ahead(single_ ? 0 : G * call.K * F), back(single_ || !backward ? 0 : G * call.K * F), fallback((call.M + call.K) * call.K),
          base(G * call.K * size()), s(S * size()), z(F * size()), c(call.K * size()), u((call.M + call.K) * size()), m(call.K * size()),
          o(call.K * size()), L(call.K * size()), live(size()), total(size()), dbase(backward ? G * call.K * size() : 0),
          ds(backward ? S * size() : 0), dz(backward ? F * size() : 0), g(backward ? call.K * size() : 0),
          q(backward ? (call.M + call.K) * size() : 0), dc(backward ? call.K * size() : 0), dh(backward ? call.K * size() : 0),
          zT(backward || single_ ? size() * columns_ * V : 0), sT(backward ? size() * statics_ * V : 0), gT(backward ? size() * cells_ * V : 0),
          late(backward && single_ ? G * call.K * N : 0), dline(backward && single_ ? F : 0), dW(backward ? G * call.K * columns_ * V : 0),
          dWs(backward ? G * call.K * statics_ * V : 0), dR(backward ? call.K * cells_ * V : 0), db(backward ? G * call.K : 0) {
        fallback_rows<T>(p, fallback);
    }

    void forward(Index member) {
        FlushDenormals exact(false);
        begin_member(member, false);
        for (start_ = first_; start_ < last_; start_ += size()) {
            begin_tile();
            FlushDenormals flush(flushable<T>(p, member_, start_, count_));
            read(p.c0, 0, p.K, c);
            write(c, p.K, p.c, 0);
            for (Index t = 0; t < p.T; ++t) step(t);
        }
    }

    void backward(Index member) {
        FlushDenormals flush;
        begin_member(member, true);
        for (Buffer<T> *sums : {&dW, &dWs, &dR, &db}) sums->clear();
        for (Index f = 0; f < p.S && single_ && p.ds.data; ++f) ds_of_one(f) = T(0);
        for (start_ = first_; start_ < last_; start_ += size()) {
            begin_tile();
            for (Buffer<T> *sums : {&dbase, &dc, &ds}) sums->clear();
            if (p.dc.data) read(p.dc, p.T, p.K, dc);
            for (Index t = p.T - 1; t >= 0; --t) step_back(t);
            if (p.dc0.data) write(dc, p.K, p.dc0, 0);
            end_tile();
        }
    }

    // Writes this worker's sums, or adds them to those of others; called in the order of the workers, so that bits repeat.
    void reduce(bool first) {
        const Rows<T> to(p, member_);
        for (Index row = 0; row < G; ++row) {
            for (Index k = 0; k < p.K; ++k) {
                const T *from = dW + (row * p.K + k) * columns_ * V;
                T *target = to.dW(row) + k * p.F;
                add(from, A, target, first);
                add(dWs + (row * p.K + k) * statics_ * V, S, target + A, first);
                add(from + A, F - A, target + A + S, first);
            }
            add(db + row * p.K, p.K, to.db(row), first);
        }
        if (p.form != STATIC) return;
        for (Index k = 1; k < p.K; ++k) std::memmove(dR + k * p.K, dR + k * cells_ * V, size_t(p.K) * sizeof(T));
        fixed.back(member_, dR, static_cast<T *>(p.dB_r) + member_ * p.K * p.K, first);
    }

   private:
    const Call &p;
    Index first_, last_, G;
    bool single_;
    Index A, S, F;  // as in the call; but static inputs of a batch of one count as auxiliary, and F counts only features that change
    Index blocks_, columns_, statics_, cells_;
    Index member_ = 0, start_ = 0, count_ = 0, slot_ = 0;
    Fixed<T> fixed;
    // Arrays of a tile are [block][row][N]; base and dbase [G][block][K][N]; those with a T have samples as rows; L holds logits.
    Buffer<T> ahead, back, fallback, base, s, z, c, u, m, o, L, live, total, dbase, ds, dz, g, q, dc, dh, zT, sT, gT, late, dline, dW, dWs, dR, db;

    Index size() const { return blocks_ * N; }
    Index shared() const { return G - p.M - 1; }

    void begin_member(Index member, bool backward) {
        member_ = member;
        const Rows<T> rows(p, member);
        if (p.form == STATIC) fixed.set(member);
        T *to = ahead, *to_back = back;
        for (Index row = 0; row < G; ++row) {
            if (!single_) to = pack<T, W>(p.K, F, rows.W(row), p.F, 1, A, S, false, to);
            if (!single_ && backward) to_back = pack<T, W>(F, p.K, rows.W(row), 1, p.F, A, S, true, to_back);
            for (Index b = 0; b < blocks_; ++b)
                for (Index j = 0; j < p.K; ++j) std::fill_n(base + ((row * blocks_ + b) * p.K + j) * N, N, rows.b(row)[j]);
        }
    }

    void begin_tile() {
        count_ = std::min(size(), last_ - start_);
        for (Buffer<T> *lanes : {&z, &c, &u, &m, &live, &s}) lanes->clear();  // the previous tile may have had more samples
        if (single_ && p.S) load<T, N>(Place<T>(p.s, member_, 0, start_), count_, p.S, z + p.A * N, F * N);
        if (!S) return;
        read(p.s, 0, S, s);
        const Rows<T> rows(p, member_);
        for (Index row = 0; row < G; ++row)
            for (Index b = 0; b < blocks_; ++b) {
                Vec *to = base.at((row * blocks_ + b) * p.K * N);
                for (Index j = 0; j < p.K; ++j) std::fill_n(base + ((row * blocks_ + b) * p.K + j) * N, N, rows.b(row)[j]);
                product<T, W, 0>(p.K, 1, S, {rows.W(row) + A, p.F, 0, 1}, s.at(b * S * N), W, to, to, W);
            }
    }

    // The gradients of inputs that are the same at every step.
    void end_tile() {
        const Rows<T> rows(p, member_);
        for (Index row = 0; row < G; ++row)
            for (Index b = 0; b < blocks_; ++b) {
                const Vec *from = dbase.at((row * blocks_ + b) * p.K * N);
                for (Index j = 0; j < p.K * W; ++j) db[row * p.K + j / W] += total_of<T>(from[j]);
                if (S) product<T, W, 0>(S, 1, p.K, {rows.W(row) + A, 1, 0, p.F}, from, W, ds.at(b * S * N), ds.at(b * S * N), W);
            }
        if (!S) return;
        transpose(s, S, sT, statics_ * V);
        for (Index row = 0; row < G; ++row)
            outer_product<T, N>(p.K, blocks_, N, {dbase + row * blocks_ * p.K * N, N, p.K * N, 1}, sT.at(0), statics_, dWs.at(row * p.K * statics_ * V));
        if (p.ds.data) write(ds, S, p.ds, 0);
    }

    // This tile's samples of a view, as [block][width][N], and back; lanes without a sample stay as they are.
    void read(const View &view, Index t, Index width, T *to) {
        load<T, N>(Place<T>(view, member_, t, start_), count_, width, to, width * N);
    }

    void write(const T *from, Index width, const View &view, Index t) {
        store<T, N>(from, width * N, count_, width, Place<T>(view, member_, t, start_));
    }

    void keep_live(Index width, Buffer<T> &rows, Index apart) {  // zero in padding, whatever was read there
        for (Index b = 0; b < blocks_ && p.valid; ++b)
            for (Index k = 0; k < width; ++k)
                for (int w = 0; w < W; ++w) {
                    Vec &value = rows.at(b * apart + k * N)[w];
                    value = live.at(b * N)[w] != T(0) ? value : Vec{};
                }
    }

    // Features and the mass to share out, from the cells before step t.
    void prepare(Index t) {
        for (Index n = 0; n < count_; ++n) live[n] = !p.valid || p.valid[t * p.B + start_ + n] ? T(1) : T(0);
        if (p.A) load<T, N>(Place<T>(p.a, member_, t, start_), count_, p.A, z, F * N);
        if (p.M) load<T, N>(Place<T>(p.x, member_, t, start_), count_, p.M, u, (p.M + p.K) * N);
        keep_live(p.A, z, F * N);
        keep_live(p.M, u, (p.M + p.K) * N);
        for (Index b = 0; b < blocks_ && p.sees_mass; ++b)
            std::memcpy(z + (b * F + F - p.M) * N, u + b * (p.M + p.K) * N, size_t(p.M * N) * sizeof(T));
        for (Index b = 0; b < blocks_; ++b)
            for (int w = 0; w < W; ++w) normalise_state(b, w);
    }

    void normalise_state(Index b, int w) {
        const Vec here = live.at(b * N)[w], *cell = c.at(b * p.K * N) + w;
        Vec *mass = u.at((b * (p.M + p.K) + p.M) * N) + w, sum{};
        for (Index k = 0; k < p.K; ++k) {
            mass[k * W] = cell[k * W] * here;
            sum += p.is_signed ? magnitude<T>(mass[k * W]) : mass[k * W];
        }
        total.at(b * N)[w] = sum;
        const Vec divisor = sum > T(EMPTY) ? sum : Vec{} + T(1);
        for (Index k = 0; k < p.K && p.sees_state; ++k) z.at((b * F + A + k) * N)[w] = mass[k * W] / divisor;
    }

    void logits(Index row, Index b) {
        const Index at = (row * blocks_ + b) * p.K * N;
        if (single_)
            dots<T>(p.K, F, Rows<T>(p, member_).W(row), zT + slot_ * columns_ * V, base + at, L, N);
        else
            product<T, W, PACKED>(p.K, 1, F, {ahead + row * p.K * F, 0, 0, 0}, z.at(b * F * N), W, base.at(at), L.at(b * p.K * N), W);
    }

    // The features of a batch of one, adjacent in memory; the backward pass keeps those of N steps, see `flush`.
    void line_up() {
        for (Index f = 0; f < F && single_; ++f) zT[slot_ * columns_ * V + f] = z[f * N];
    }

    Index kind(Index row) const { return row < p.M ? p.input_norm : p.cell_norm; }

    // The row's logits become shares, and the mass it shares out is added to m.
    Sums<T, W> share(Index row, Index b) {
        logits(row, b);
        Vec *at = L.at(b * p.K * N);
        Sums<T, W> by;
        shares<T, W>(at, 1, p.K, kind(row), p.mask && row >= p.M ? p.mask + (row - p.M) * p.K : nullptr, &by);
        share_out<T, W>(u.at((b * (p.M + p.K) + row) * N), at, &by, 1, p.K, kind(row), fallback + row * p.K, m.at(b * p.K * N));
        return by;
    }

    // The share of every cell that leaves, in o, and the share that stays, in the place of the logits.
    void output_gate(Index b) {
        logits(G - 1, b);
        Vec *gate = o.at(b * p.K * N), *stays = L.at(b * p.K * N);
        for (Index k = 0; k < p.K * W; ++k) {
            const Outlet<T> outlet(stays[k]);
            gate[k] = outlet.leaves, stays[k] = outlet.stays;
        }
    }

    // With an R that is the same at every step, m starts as c R, or c for the identity; else as zero.
    void share_fixed(Index b) {
        const Vec *cells = u.at((b * (p.M + p.K) + p.M) * N);
        Vec *to = m.at(b * p.K * N);
        if (p.form == STATIC) product<T, W, 1>(p.K, 1, p.K, {fixed.R, 1, 0, p.K}, cells, W, to, to, W);
        if (p.form == IDENTITY) std::memcpy(to, cells, size_t(p.K * N) * sizeof(T));
    }

    void step(Index t) {
        prepare(t);
        m.clear();
        line_up();
        for (Index b = 0; b < blocks_; ++b) share_fixed(b);
        for (Index row = 0; row < p.M + shared(); ++row)
            for (Index b = 0; b < blocks_; ++b) share(row, b);
        for (Index b = 0; b < blocks_; ++b) {
            output_gate(b);
            Vec *mass = m.at(b * p.K * N), *gate = o.at(b * p.K * N), *stays = L.at(b * p.K * N), *cell = c.at(b * p.K * N);
            for (Index k = 0; k < p.K; ++k)
                for (int w = 0; w < W; ++w) {
                    const Index at = k * W + w;
                    const Vec after = mass[at];
                    mass[at] = gate[at] * after;
                    // In padding, the first term is zero.
                    cell[at] = (p.keeps_outflow ? after : stays[at] * after) + (T(1) - live.at(b * N)[w]) * cell[at];
                }
            if (!conserves(p)) continue;
            Books<T, W> books;
            books.add(u.at(b * (p.M + p.K) * N), p.M + p.K);
            books.settle(mass, cell, p.K, live.at(b * N));
        }
        if (p.h.data) write(m, p.K, p.h, t);
        write(c, p.K, cells_after(p, t), t + 1);
    }

    void step_back(Index t) {
        read(p.c, t, p.K, c);
        prepare(t);
        for (Buffer<T> *sums : {&m, &dh, &dz}) sums->clear();
        if (p.dh.data && (!p.last || t == p.T - 1)) read(p.dh, t, p.K, dh);
        keep_live(p.K, dh, p.K * N);
        single_ ? line_up() : transpose(z, F, zT, columns_ * V);
        for (Index b = 0; b < blocks_; ++b) {
            share_fixed(b);
            output_gate(b);
            worth(b);
        }
        if (!shared()) fixed_back();
        for (Index row = 0; row < p.M + shared(); ++row) {
            for (Index b = 0; b < blocks_; ++b) {
                const Sums<T, W> by = share(row, b);
                const Index at = (b * (p.M + p.K) + row) * N;
                share_back<T, W>(u.at(at), L.at(b * p.K * N), &by, 1, p.K, kind(row), fallback + row * p.K, g.at(b * p.K * N), q.at(at));
            }
            product_back(row);
        }
        for (Index k = 0; k < blocks_ * p.K * W; ++k) L.at(0)[k] = m.at(0)[k] * o.at(0)[k];
        product_back(G - 1);
        if (single_) late_products(t);
        for (Index b = 0; b < blocks_; ++b)
            for (int w = 0; w < W; ++w) cells_back(b, w);
        store_inputs(t);
        if (!p.dc.data || p.last) return;
        dh.clear();
        read(p.dc, t, p.K, dh);
        for (Index k = 0; k < blocks_ * p.K * W; ++k) dc.at(0)[k] += dh.at(0)[k];
    }

    // g = dL/dm; the output gate is overwritten by the factor that turns m into the gradient of its logits.
    void worth(Index b) {
        for (Index k = 0; k < p.K; ++k)
            for (int w = 0; w < W; ++w) {
                const Index at = b * p.K * W + k * W + w;
                const Vec gate = o.at(0)[at], stays = L.at(0)[at], out = dh.at(0)[at], later = dc.at(0)[at] * live.at(b * N)[w];
                g.at(0)[at] = out * gate + (p.keeps_outflow ? later : later * stays);
                o.at(0)[at] = slope_of<T>(gate, stays) * (p.keeps_outflow ? out : out - later);
            }
    }

    void fixed_back() {
        if (p.form == STATIC) transpose(g, p.K, gT, cells_ * V);
        for (Index b = 0; b < blocks_; ++b) {
            Vec *to = q.at((b * (p.M + p.K) + p.M) * N);
            if (p.form == STATIC) {
                const T *cells = u + (b * (p.M + p.K) + p.M) * N;
                std::memset(to, 0, size_t(p.K * N) * sizeof(T));
                product<T, W, 0>(p.K, 1, p.K, {fixed.R, p.K, 0, 1}, g.at(b * p.K * N), W, to, to, W);
                outer_product<T, N>(p.K, 1, N, {cells, N, 0, 1}, gT.at(b * N * cells_ * V), cells_, dR.at(0));
            } else {
                std::memcpy(to, g.at(b * p.K * N), size_t(p.K * N) * sizeof(T));
            }
        }
    }

    // From the gradients of a row's logits, in L, to the gradients of features and weights.
    void product_back(Index row) {
        Vec *sums = dbase.at(row * blocks_ * p.K * N);
        const Vec *down = L.at(0);
        for (Index k = 0, count = blocks_ * p.K * W; k < count; ++k) sums[k] += down[k];
        if (single_) {
            dots_back<T>(p.K, F, Rows<T>(p, member_).W(row), L, N, dline);
            for (Index k = 0; k < p.K; ++k) late[(row * p.K + k) * N + slot_] = L[k * N];
            return;
        }
        for (Index b = 0; b < blocks_; ++b) {
            Vec *to = dz.at(b * F * N);
            product<T, W, PACKED>(F, 1, p.K, {back + row * p.K * F, 0, 0, 0}, L.at(b * p.K * N), W, to, to, W);
        }
        const Index samples = blocks_ == 1 ? count_ : N;
        outer_product<T, N>(p.K, blocks_, samples, {L, N, p.K * N, 1}, zT.at(0), columns_, dW.at(row * p.K * columns_ * V));
    }

    // A batch of one: N steps take the place of N samples, so that the gradients of the weights are read and written once for all of them.
    void late_products(Index t) {
        for (Index f = 0; f < F; ++f) dz[f * N] = dline[f];
        dline.clear();
        if (++slot_ < N && t > 0) return;
        for (Index row = 0; row < G; ++row)
            outer_product<T, N>(p.K, 1, slot_, {late + row * p.K * N, N, 0, 1}, zT.at(0), columns_, dW.at(row * p.K * columns_ * V));
        slot_ = 0;
    }

    void transpose(const T *from, Index width, T *to, Index padded) {  // [block][width][N] -> (samples, padded)
        for (Index n = 0; n < size(); ++n)
            for (Index f = 0; f < width; ++f) to[n * padded + f] = from[n / N * width * N + f * N + n % N];
    }

    // Back through c / |c| to the cells before the step; in padding the gradient does not change.
    void cells_back(Index b, int w) {
        const Vec *cell = c.at(b * p.K * N) + w, *state = z.at((b * F + A) * N) + w, *down = dz.at((b * F + A) * N) + w;
        const Vec *value = q.at((b * (p.M + p.K) + p.M) * N) + w, here = live.at(b * N)[w];
        Vec *to = dc.at(b * p.K * N) + w;
        for (Index k = 0; k < p.K; ++k) to[k * W] = value[k * W] * here + to[k * W] * (T(1) - here);
        if (p.sees_state) state_back<T, W>(cell, state, down, total.at(b * N)[w], here, p.K, p.is_signed, to);
    }

    void store_inputs(Index t) {
        for (Index b = 0; b < blocks_; ++b)
            for (int w = 0; w < W; ++w) {
                const Vec here = live.at(b * N)[w];
                Vec *down = dz.at(b * F * N) + w, *value = q.at(b * (p.M + p.K) * N) + w;
                for (Index f = 0; f < A; ++f) down[f * W] *= here;
                for (Index f = 0; f < p.M; ++f) value[f * W] = here * (p.sees_mass ? value[f * W] + down[(F - p.M + f) * W] : value[f * W]);
            }
        if (p.da.data) store<T, N>(dz, F * N, count_, p.A, Place<T>(p.da, member_, t, start_));
        if (p.dx.data) store<T, N>(q, (p.M + p.K) * N, count_, p.M, Place<T>(p.dx, member_, t, start_));
        for (Index f = 0; f < p.S && single_ && p.ds.data; ++f)  // the gradient of static inputs is a sum over the steps
            ds_of_one(f) += dz[(p.A + f) * N];
    }

    T &ds_of_one(Index f) { return static_cast<T *>(p.ds.data)[member_ * p.ds.member + f * p.ds.entry]; }
};

}  // namespace
