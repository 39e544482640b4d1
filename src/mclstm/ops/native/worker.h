// The stacked recurrence of ops/manual.py and its backward pass, fused: R never reaches memory.
//
// Samples lie in vector lanes, so that row sums are plain additions and any number of cells fills the vectors. Loops go member ->
// batch tile -> step -> row of gates -> block of samples: the weights of a row stay in L1 for all blocks of a tile. The three products
// (logits, gradients of features, gradients of weights) are the micro-kernel of product.h with different strides.

#pragma once

#include <limits>

#include "call.h"
#include "product.h"

namespace {

constexpr Index TILE_BYTES = 256;  // of samples, in a tile's row

enum Norm { SOFTMAX, SIGMOID, RELU, PLAIN, LINEAR };

// One thread's members and samples, tile after tile; W vectors of samples in a block.
template <class T, int W>
class Worker {
    typedef typename Lanes<T>::Vec Vec;
    typedef typename Lanes<T>::Bits Bits;
    static constexpr Index V = Lanes<T>::V;

   public:
    static constexpr Index N = W * V;  // samples in a block
    static constexpr Index LARGEST = std::max<Index>(1, TILE_BYTES / (W * BYTES));

    Worker(const Call &call, Packed<T, W> &weights, Index first, Index last, bool backward)
        : p(call), weights_(weights), first_(first), last_(last),
          blocks_(std::max<Index>(1, std::min(LARGEST, (last - first + N - 1) / N))), shared_(call.G - call.M - 1), columns_((call.F + V - 1) / V), cells_((call.K + V - 1) / V),
          base(call.G * call.K * blocks_ * N), z(call.F * blocks_ * N), c(call.K * blocks_ * N), u((call.M + call.K) * blocks_ * N),
          m(call.K * blocks_ * N), o(call.K * blocks_ * N), S(call.K * blocks_ * N), live(blocks_ * N), scale(blocks_ * N),
          total(blocks_ * N), dbase(backward ? call.G * call.K * blocks_ * N : 0), dz(backward ? call.F * blocks_ * N : 0),
          g(backward ? call.K * blocks_ * N : 0), q(backward ? (call.M + call.K) * blocks_ * N : 0),
          dc(backward ? call.K * blocks_ * N : 0), dh(backward ? call.K * blocks_ * N : 0),
          zT(backward ? blocks_ * N * columns_ * V : 0), gT(backward ? blocks_ * N * cells_ * V : 0),
          dW(backward ? call.G * call.K * columns_ * V : 0), dfixed(backward ? call.K * cells_ * V : 0),
          dshared(backward ? call.G * call.K : 0) {}

    void forward(Index member) {
        FlushDenormals flush;
        member_ = member;
        for (start_ = first_; start_ < last_; start_ += blocks_ * N) {
            begin_tile();
            read(p.c0, 0, p.K, c);
            write(c, p.K, p.c, 0);
            for (Index t = 0; t < p.T; ++t) step(t);
        }
    }

    void backward(Index member) {
        FlushDenormals flush;
        member_ = member;
        for (Buffer<T> *sums : {&dW, &dfixed, &dshared}) sums->clear();
        for (start_ = first_; start_ < last_; start_ += blocks_ * N) {
            begin_tile();
            dbase.clear();
            dc.clear();
            if (p.dc.data) read(p.dc, p.T, p.K, dc);
            for (Index t = p.T - 1; t >= 0; --t) step_back(t);
            if (p.dc0.data) write(dc, p.K, p.dc0, 0);
            store_base();
        }
    }

    // Hands over this worker's sums, or adds them to those of others; called in the order of the workers, so that bits repeat.
    void reduce(bool first) {
        T *to = of_member(p.dW, p.G * p.K * p.F);
        for (Index row = 0; row < p.G * p.K; ++row, to += p.F) add(dW + row * columns_ * V, p.F, to, first);
        to = of_member(p.dfixed, p.K * p.K);
        for (Index k = 0; k < p.K && p.fixed; ++k, to += p.K) add(dfixed + k * cells_ * V, p.K, to, first);
        if (!p.own_base) add(dshared, p.G * p.K, of_member(p.dbase, p.G * p.K), first);
    }

   private:
    const Call &p;
    Packed<T, W> &weights_;
    Index first_, last_, blocks_, shared_, columns_, cells_;
    Index member_ = 0, start_ = 0, count_ = 0;
    // Arrays of a tile are [block][row][N]; base and dbase [G][block][K][N]; zT and gT have samples as rows.
    Buffer<T> base, z, c, u, m, o, S, live, scale, total, dbase, dz, g, q, dc, dh, zT, gT, dW, dfixed, dshared;

    void begin_tile() {
        count_ = std::min(blocks_ * N, last_ - start_);
        for (Buffer<T> *lanes : {&z, &c, &u, &m, &live, &base}) lanes->clear();  // the tile before may have had more samples
        load_base();
    }

    template <class Any>
    T *of_member(Any *data, Index size) const {
        return static_cast<T *>(const_cast<void *>(static_cast<const void *>(data))) + member_ * size;
    }

    static void add(const T *from, Index count, T *to, bool first) {
        for (Index k = 0; k < count; ++k) to[k] = (first ? T(0) : to[k]) + from[k];
    }

    // This tile's samples of a view, as [block][width][N], and back; lanes without a sample stay as they are.
    void read(const View &view, Index t, Index width, T *to) {
        load<T, N>(Place<T>(view, member_, t, start_), count_, width, to, width * N);
    }

    void write(const T *from, Index width, const View &view, Index t) {
        store<T, N>(from, width * N, count_, width, Place<T>(view, member_, t, start_));
    }

    void keep_live(Index width, Buffer<T> &rows, Index apart) {  // zero where nothing moves, whatever was read there
        for (Index b = 0; b < blocks_; ++b)
            for (Index k = 0; k < width; ++k)
                for (int w = 0; w < W; ++w) {
                    Vec &value = rows.at(b * apart + k * N)[w];
                    value = live.at(b * N)[w] != T(0) ? value : Vec{};
                }
    }

    void load_base() {
        const T *from = of_member(p.base, (p.own_base ? p.B : 1) * p.G * p.K);
        for (Index row = 0; row < p.G; ++row)
            for (Index n = 0; n < count_; ++n) {
                const T *sample = from + (p.own_base ? (start_ + n) * p.G * p.K : 0) + row * p.K;
                T *lane = base + (row * blocks_ + n / N) * p.K * N + n % N;
                for (Index j = 0; j < p.K; ++j) lane[j * N] = sample[j];
            }
    }

    void store_base() {
        T *to = of_member(p.dbase, (p.own_base ? p.B : 1) * p.G * p.K);
        for (Index row = 0; row < p.G; ++row)
            for (Index n = 0; n < count_; ++n) {
                const T *lane = dbase + (row * blocks_ + n / N) * p.K * N + n % N;
                T *sample = p.own_base ? to + ((start_ + n) * p.G + row) * p.K : dshared + row * p.K;
                for (Index j = 0; j < p.K; ++j) sample[j] = (p.own_base ? T(0) : sample[j]) + lane[j * N];
            }
    }

    // Features, the mass to be shared out and its scale, from the cells before step t.
    void prepare(Index t) {
        for (Index n = 0; n < count_; ++n) live[n] = !p.valid || p.valid[t * p.B + start_ + n] ? T(1) : T(0);
        load<T, N>(Place<T>(p.a, member_, t, start_), count_, p.A, z, p.F * N);
        load<T, N>(Place<T>(p.x, member_, t, start_), count_, p.M, u, (p.M + p.K) * N);
        if (p.valid) {
            keep_live(p.A, z, p.F * N);
            keep_live(p.M, u, (p.M + p.K) * N);
        }
        for (Index b = 0; b < blocks_ && p.sees_mass; ++b)
            std::memcpy(z + (b * p.F + p.F - p.M) * N, u + b * (p.M + p.K) * N, size_t(p.M * N) * sizeof(T));
        for (Index b = 0; b < blocks_; ++b)
            for (int w = 0; w < W; ++w) normalise_state(b, w);
    }

    void normalise_state(Index b, int w) {
        const Vec here = live.at(b * N)[w], *cell = c.at(b * p.K * N) + w;
        Vec *mass = u.at(b * (p.M + p.K) * N) + w, sum{}, all{};
        for (Index k = 0; k < p.K; ++k) {
            mass[(p.M + k) * W] = cell[k * W] * here;
            sum += p.is_signed ? magnitude(mass[(p.M + k) * W]) : mass[(p.M + k) * W];
        }
        for (Index k = 0; k < p.M + p.K; ++k) all += magnitude(mass[k * W]);
        const Vec divisor = sum > empty() ? sum : Vec{} + T(1);
        if (p.sees_state)
            for (Index k = 0; k < p.K; ++k) z.at((b * p.F + p.A + k) * N)[w] = mass[(p.M + k) * W] / divisor;
        total.at(b * N)[w] = sum;
        // Amounts are shared out as multiples of a power of two: exact, and a large amount over a small row sum cannot overflow.
        const Vec power = (Vec)((Bits)all & (Bits)(Vec{} + std::numeric_limits<T>::infinity()));
        scale.at(b * N)[w] = all > T(1e-30) ? power : Vec{} + T(1);
    }

    static Vec magnitude(Vec v) { return v < T(0) ? -v : v; }
    static T empty() { return std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon(); }

    void logits(Index row, Index b) {
        product<T, W, PACKED>(p.K, 1, p.F, {weights_.ahead + row * p.K * p.F, 0, 0, 0}, z.at(b * p.F * N), W, base.at((row * blocks_ + b) * p.K * N),
                      S.at(b * p.K * N), W);
    }

    // Logits in S -> un-normalised shares in S, their sum, and `flat`: dA/dlogit = A (1 - flat A), or [A > 0] for ReLU.
    void shares(Index row, Index b, Vec *sum, Vec *flat) {
        const uint8_t *allowed = p.mask && row >= p.M ? p.mask + (row - p.M) * p.K : nullptr;
        const Index kind = row < p.M ? p.input_norm : p.cell_norm;
        for (int w = 0; w < W; ++w) sum[w] = flat[w] = Vec{};
        Vec *A = S.at(b * p.K * N);
        const Index K = p.K;
        if (allowed)
            for (Index j = 0; j < p.K; ++j)
                for (int w = 0; w < W; ++w)
                    if (!allowed[j]) A[j * W + w] = Vec{} + (kind == RELU || kind == LINEAR ? T(0) : -std::numeric_limits<T>::infinity());
        if (kind == PLAIN || kind == LINEAR) {
            for (Index j = 0; j < K && kind == PLAIN; ++j)
                for (int w = 0; w < W; ++w) A[j * W + w] = sigmoid_of<T>(A[j * W + w]);
            for (int w = 0; w < W; ++w) sum[w] = flat[w] = Vec{} + T(1);
            return;
        }
        if (kind == RELU)
            for (Index j = 0; j < K; ++j)
                for (int w = 0; w < W; ++w) sum[w] += A[j * W + w] = bounded<T>(A[j * W + w], T(0));
        else
            for (int w = 0; w < W; ++w) exponential_shares(A + w, kind, sum[w], flat[w]);
        if (allowed && kind != RELU)  // exp_of has a floor
            for (Index j = 0; j < p.K; ++j)
                for (int w = 0; w < W; ++w)
                    if (!allowed[j]) A[j * W + w] = Vec{};
    }

    void exponential_shares(Vec *A, Index kind, Vec &sum, Vec &flat) {
        Vec top = A[0] = bounded<T>(A[0]);
        for (Index j = 1; j < p.K; ++j) {
            A[j * W] = bounded<T>(A[j * W]);
            top = A[j * W] > top ? A[j * W] : top;
        }
        const auto deep = top < T(-40);  // there the logistic function is exp, to the last bit
        if (kind == SIGMOID && !any(deep)) {
            for (Index j = 0; j < p.K; ++j) sum += A[j * W] = sigmoid_of<T>(A[j * W]);
            flat = Vec{} + T(1);
            return;
        }
        flat = kind == SIGMOID ? (deep ? Vec{} : Vec{} + T(1)) : Vec{};
        for (Index j = 0; j < p.K; ++j) {
            const Vec shifted = exp_of<T>(A[j * W] - top);
            sum += A[j * W] = kind == SIGMOID ? (deep ? shifted : sigmoid_of<T>(A[j * W])) : shifted;
        }
    }

    // m += (u_row / n) A, and by the fallback where a row has no taker.
    void share_out(Index row, Index b) {
        Vec sum[W], flat[W], part[W], left[W], *A = S.at(b * p.K * N), *to = m.at(b * p.K * N);
        shares(row, b, sum, flat);
        bool some_dead = false;
        for (int w = 0; w < W; ++w) {
            const auto dead = sum[w] <= T(0);
            const Vec amount = u.at((b * (p.M + p.K) + row) * N)[w] / scale.at(b * N)[w];
            part[w] = dead ? Vec{} : amount / sum[w];
            left[w] = dead ? amount : Vec{};
            some_dead |= any(dead);
        }
        const Index K = p.K;
        for (Index j = 0; j < K; ++j)
            for (int w = 0; w < W; ++w) to[j * W + w] += part[w] * A[j * W + w];
        const T *fallback = static_cast<const T *>(p.fallback) + row * K;
        for (Index j = 0; j < K && some_dead; ++j)
            for (int w = 0; w < W; ++w) to[j * W + w] += fallback[j] * left[w];
    }

    void output_gate(Index b) {
        logits(p.G - 1, b);
        Vec *gate = o.at(b * p.K * N);
        for (Index k = 0; k < p.K * W; ++k) gate[k] = sigmoid_of<T>(S.at(b * p.K * N)[k]);
    }

    // What an R that does not change moves: m = u_c R, or u_c itself.
    void share_out_fixed(Index b) {
        const Vec *cells = u.at((b * (p.M + p.K) + p.M) * N);
        Vec *to = m.at(b * p.K * N);
        if (p.fixed) {
            product<T, W, 1>(p.K, 1, p.K, {of_member(p.fixed, p.K * p.K), 1, 0, p.K}, cells, W, to, to, W);
        } else {
            std::memcpy(to, cells, size_t(p.K * N) * sizeof(T));
        }
        for (Index k = 0; k < p.K; ++k)
            for (int w = 0; w < W; ++w) to[k * W + w] /= scale.at(b * N)[w];
    }

    void step(Index t) {
        prepare(t);
        m.clear();
        for (Index b = 0; b < blocks_ && !shared_; ++b) share_out_fixed(b);
        for (Index row = 0; row < p.M + shared_; ++row)
            for (Index b = 0; b < blocks_; ++b) {
                logits(row, b);
                share_out(row, b);
            }
        for (Index b = 0; b < blocks_; ++b) {
            output_gate(b);
            Vec *mass = m.at(b * p.K * N), *gate = o.at(b * p.K * N), *cell = c.at(b * p.K * N);
            for (Index k = 0; k < p.K; ++k)
                for (int w = 0; w < W; ++w) {
                    const Index at = k * W + w;
                    const Vec after = mass[at] * scale.at(b * N)[w];
                    mass[at] = gate[at] * after;
                    // Where nothing moves, the first term is zero.
                    cell[at] = (p.keeps_outflow ? after : after - mass[at]) + (T(1) - live.at(b * N)[w]) * cell[at];
                }
        }
        write(m, p.K, p.h, t);
        write(c, p.K, p.c, t + 1);
    }

    // Gradients of a row's logits, in S from the shares in S; q_row on the way.
    void share_back(Index row, Index b) {
        Vec sum[W], flat[W], part[W], *A = S.at(b * p.K * N), *worth = g.at(b * p.K * N);
        Vec *value = q.at((b * (p.M + p.K) + row) * N), *down = dbase.at((row * blocks_ + b) * p.K * N);
        shares(row, b, sum, flat);
        const Index K = p.K;
        collect(row, A, worth, sum, value);
        for (int w = 0; w < W; ++w)
            part[w] = sum[w] <= T(0) ? Vec{} : u.at((b * (p.M + K) + row) * N)[w] / sum[w];
        const Index kind = row < p.M ? p.input_norm : p.cell_norm;
        if (kind == PLAIN || kind == LINEAR) {
            unshared_back(row, kind, A, worth, part, down);
        } else if (kind == RELU) {
            for (Index j = 0; j < K; ++j)
                for (int w = 0; w < W; ++w) {
                    const Vec change = part[w] * (worth[j * W + w] - value[w]);
                    down[j * W + w] += A[j * W + w] = A[j * W + w] > T(0) ? change : Vec{};
                }
        } else {
            for (Index j = 0; j < K; ++j)
                for (int w = 0; w < W; ++w) {
                    const Vec share = A[j * W + w], change = part[w] * (worth[j * W + w] - value[w]);
                    down[j * W + w] += A[j * W + w] = share * (T(1) - flat[w] * share) * change;
                }
        }
    }

    // The same of a row that is not normalised: dA = u g, and no entry weighs on another.
    void unshared_back(Index row, Index kind, Vec *A, const Vec *worth, const Vec *amount, Vec *down) {
        const uint8_t *allowed = p.mask && row >= p.M ? p.mask + (row - p.M) * p.K : nullptr;
        for (Index j = 0; j < p.K; ++j)
            for (int w = 0; w < W; ++w) {
                const Vec share = A[j * W + w], change = amount[w] * worth[j * W + w];
                const Vec slope = kind == PLAIN ? share * (T(1) - share) : Vec{} + T(!allowed || allowed[j]);
                down[j * W + w] += A[j * W + w] = slope * change;
            }
    }

    // q_row = sum_j A_j g_j / n, or what the fallback of a dead row is worth.
    void collect(Index row, const Vec *A, const Vec *worth, const Vec *sum, Vec *value) {
        const T *fallback = static_cast<const T *>(p.fallback) + row * p.K;
        Vec collected[W] = {};
        const Index K = p.K;
        for (Index j = 0; j < K; ++j)
            for (int w = 0; w < W; ++w) collected[w] += A[j * W + w] * worth[j * W + w];
        for (int w = 0; w < W; ++w) {
            const auto dead = sum[w] <= T(0);
            Vec kept{};
            for (Index j = 0; j < K && any(dead); ++j) kept += fallback[j] * worth[j * W + w];
            value[w] = dead ? kept : collected[w] / sum[w];
        }
    }

    // From the gradients of a row's logits, in S, to those of features and weights.
    void product_back(Index row) {
        for (Index b = 0; b < blocks_; ++b) {
            Vec *to = dz.at(b * p.F * N);
            product<T, W, PACKED>(p.F, 1, p.K, {weights_.back + row * p.K * p.F, 0, 0, 0}, S.at(b * p.K * N), W, to, to, W);
        }
        const Index samples = blocks_ == 1 ? count_ : N;
        outer_product<T, N>(p.K, blocks_, samples, {S, N, p.K * N, 1}, zT.at(0), columns_, dW.at(row * p.K * columns_ * V));
    }

    void transpose(const T *from, Index width, T *to, Index padded) {  // [block][width][N] -> (samples, padded)
        for (Index n = 0; n < blocks_ * N; ++n)
            for (Index f = 0; f < width; ++f) to[n * padded + f] = from[n / N * width * N + f * N + n % N];
    }

    void output_back(Index b) {
        output_gate(b);
        for (Index k = 0; k < p.K; ++k)
            for (int w = 0; w < W; ++w) {
                const Index at = b * p.K * W + k * W + w;
                const Vec gate = o.at(0)[at], out = dh.at(0)[at], stays = dc.at(0)[at] * live.at(b * N)[w];
                g.at(0)[at] = out * gate + (p.keeps_outflow ? stays : stays * (T(1) - gate));
                const Vec slope = S.at(0)[at] < Exp<T>::sigmoid_floor ? Vec{} : gate * (T(1) - gate);
                S.at(0)[at] = m.at(0)[at] * (p.keeps_outflow ? out : out - stays) * slope;
                dbase.at(((p.G - 1) * blocks_ + b) * p.K * N)[k * W + w] += S.at(0)[at];
            }
    }

    void fixed_back() {
        if (p.fixed) transpose(g, p.K, gT, cells_ * V);
        for (Index b = 0; b < blocks_; ++b) {
            Vec *to = q.at((b * (p.M + p.K) + p.M) * N);
            if (p.fixed) {
                const T *cells = u + (b * (p.M + p.K) + p.M) * N;
                std::memset(to, 0, size_t(p.K * N) * sizeof(T));
                product<T, W, 0>(p.K, 1, p.K, {of_member(p.fixed, p.K * p.K), p.K, 0, 1}, g.at(b * p.K * N), W, to, to, W);
                outer_product<T, N>(p.K, 1, N, {cells, N, 0, 1}, gT.at(b * N * cells_ * V), cells_, dfixed.at(0));
            } else {
                std::memcpy(to, g.at(b * p.K * N), size_t(p.K * N) * sizeof(T));
            }
        }
    }

    void step_back(Index t) {
        read(p.c, t, p.K, c);
        prepare(t);
        read(p.c, t + 1, p.K, m);
        read(p.h, t, p.K, dh);
        for (Index k = 0; k < blocks_ * p.K * W && !p.keeps_outflow; ++k) m.at(0)[k] += dh.at(0)[k];
        dh.clear();
        if (p.dh.data) read(p.dh, t, p.K, dh);
        if (p.valid) {
            keep_live(p.K, m, p.K * N);
            keep_live(p.K, dh, p.K * N);
        }
        transpose(z, p.F, zT, columns_ * V);
        dz.clear();
        for (Index b = 0; b < blocks_; ++b) output_back(b);
        product_back(p.G - 1);
        if (!shared_) fixed_back();
        for (Index row = 0; row < p.M + shared_; ++row) {
            for (Index b = 0; b < blocks_; ++b) {
                logits(row, b);
                share_back(row, b);
            }
            product_back(row);
        }
        for (Index b = 0; b < blocks_; ++b)
            for (int w = 0; w < W; ++w) cells_back(b, w);
        store_inputs(t);
        if (!p.dc.data) return;
        dh.clear();
        read(p.dc, t, p.K, dh);
        for (Index k = 0; k < blocks_ * p.K * W; ++k) dc.at(0)[k] += dh.at(0)[k];
    }

    // Through c / |c| to the cells before the step; where nothing moved, the gradient stays what it was.
    void cells_back(Index b, int w) {
        const Vec *cell = c.at(b * p.K * N) + w, *state = z.at((b * p.F + p.A) * N) + w, *down = dz.at((b * p.F + p.A) * N) + w;
        const Vec *value = q.at((b * (p.M + p.K) + p.M) * N) + w, sum = total.at(b * N)[w], here = live.at(b * N)[w];
        Vec *to = dc.at(b * p.K * N) + w, inner{};
        const auto stored = sum > empty();
        const Vec divisor = stored ? sum : Vec{} + T(1);
        for (Index k = 0; k < p.K && p.sees_state; ++k) inner += down[k * W] * state[k * W];
        inner = stored ? inner : Vec{};
        for (Index k = 0; k < p.K; ++k) {
            Vec found = value[k * W];
            if (p.sees_state) {
                const Vec sign = cell[k * W] > T(0) ? Vec{} + T(1) : (cell[k * W] < T(0) ? Vec{} - T(1) : Vec{});
                found += (down[k * W] - (p.is_signed ? inner * sign : inner)) / divisor;
            }
            to[k * W] = found * here + to[k * W] * (T(1) - here);
        }
    }

    void store_inputs(Index t) {
        for (Index b = 0; b < blocks_; ++b)
            for (int w = 0; w < W; ++w) {
                const Vec here = live.at(b * N)[w];
                Vec *down = dz.at(b * p.F * N) + w, *worth = q.at(b * (p.M + p.K) * N) + w;
                for (Index f = 0; f < p.A; ++f) down[f * W] *= here;
                for (Index f = 0; f < p.M; ++f) worth[f * W] = here * (p.sees_mass ? worth[f * W] + down[(p.F - p.M + f) * W] : worth[f * W]);
            }
        if (p.da.data) store<T, N>(dz, p.F * N, count_, p.A, Place<T>(p.da, member_, t, start_));
        if (p.dx.data) store<T, N>(q, (p.M + p.K) * N, count_, p.M, Place<T>(p.dx, member_, t, start_));
    }
};

}  // namespace
