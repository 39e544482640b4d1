// A vector of samples of one member with few cells, K known when compiled: what Small and Even have in common.

#pragma once

#include <limits>

#include "call.h"

namespace {

template <class T, int K>
class Block {
   public:
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index N = Lanes<T>::V;

   protected:
    const Call &p;
    Index first_, last_, member_ = 0, start_ = 0, count_ = 0;
    const T *weights_ = nullptr, *base_ = nullptr, *fixed_ = nullptr;
    Buffer<T> dW, dbase, dfixed;  // [row][N]; sums keep their lanes apart until the end

    Block(const Call &call, Index first, Index last, bool backward)
        : p(call), first_(first), last_(last), dW(backward ? call.G * K * call.F * N : 0), dbase(backward ? call.G * K * N : 0),
          dfixed(backward ? K * K * N : 0) {}

    // An R that does not change, a softmax input gate, the same base for all samples and steps without gaps.
    static bool fits(const Call &call) {
        return call.K == K && call.G == call.M + 1 && call.input_norm == 0 && !call.own_base && !call.sees_mass && !call.valid;
    }

    void begin(Index member) {
        member_ = member;
        weights_ = of_member<const T>(p.W, p.G * K * p.F);
        base_ = of_member<const T>(p.base, p.G * K);
        fixed_ = p.fixed ? of_member<const T>(p.fixed, K * K) : nullptr;
    }

    void begin_sums() {
        for (Buffer<T> *sums : {&dW, &dbase, &dfixed}) sums->clear();
    }

    bool next() {  // the next vector of samples
        start_ = count_ == 0 ? first_ : start_ + N;
        count_ = std::min(N, last_ - start_);
        if (count_ <= 0) count_ = 0;
        return count_ > 0;
    }

    void hand_over(bool first) {
        add(dW, p.G * K * p.F, of_member<T>(p.dW, p.G * K * p.F), first);
        add(dbase, p.G * K, of_member<T>(p.dbase, p.G * K), first);
        if (p.fixed) add(dfixed, K * K, of_member<T>(p.dfixed, K * K), first);
    }

    template <class Any, class From>
    Any *of_member(From *data, Index size) const {
        return static_cast<Any *>(data) + member_ * size;
    }

    static T sum_of(const Vec &lanes) {
        T sum = 0;
        for (Index n = 0; n < N; ++n) sum += lanes[n];
        return sum;
    }

    static void add(Buffer<T> &lanes, Index count, T *to, bool first) {
        for (Index k = 0; k < count; ++k) to[k] = (first ? T(0) : to[k]) + sum_of(*lanes.at(k * N));
    }

    Place<T> place(const View &view, Index t) const { return Place<T>(view, member_, t, start_); }

    // One entry of a view for this block; lanes without a sample are zero, so that they add nothing to any sum.
    Vec entry(const Place<T> &from, Index k) const {
        Vec value{};
        const T *source = from.data + k * from.entry;
        if (from.sample == 1 && count_ == N)
            std::memcpy(&value, source, sizeof(Vec));
        else if (from.sample == 0)
            value = Vec{} + *source;
        else
            for (Index n = 0; n < count_; ++n) value[n] = source[n * from.sample];
        return value;
    }

    void put(const Vec &value, const Place<T> &to, Index k) const {
        T *target = to.data + k * to.entry;
        if (to.sample == 1 && count_ == N)
            std::memcpy(target, &value, sizeof(Vec));
        else
            for (Index n = 0; n < count_; ++n) target[n * to.sample] = value[n];
    }

    void read(const View &view, Index t, Vec *to) const {
        const Place<T> from = place(view, t);
        for (int k = 0; k < K; ++k) to[k] = entry(from, k);
    }

    void write(const Vec *from, const View &view, Index t) const {
        const Place<T> to = place(view, t);
        for (int k = 0; k < K; ++k) put(from[k], to, k);
    }

    // Logits of a row from the features seen; F is known when compiled where that pays.
    template <class Count>
    void logits(Index row, const Vec *seen, Count F, Vec *S) const {
        const T *weight = weights_ + row * K * F, *shift = base_ + row * K;
        for (int k = 0; k < K; ++k) S[k] = Vec{} + shift[k];
        for (Index f = 0; f < F; ++f)
            for (int k = 0; k < K; ++k) S[k] += weight[k * F + f] * seen[f];
    }

    // Logits -> shares that add up to one; two cells need one exponential.
    static void softmax(Vec *S) {
        for (int k = 0; k < K; ++k) S[k] = bounded<T>(S[k]);
        if (K == 2) {
            const Vec apart = S[0] - S[1], less = exp_of<T>(apart > T(0) ? -apart : apart), most = T(1) / (T(1) + less), rest = less * most;
            S[0] = apart > T(0) ? most : rest;
            S[1] = apart > T(0) ? rest : most;
            return;
        }
        Vec top = S[0], sum{};
        for (int k = 1; k < K; ++k) top = S[k] > top ? S[k] : top;
        for (int k = 0; k < K; ++k) sum += S[k] = exp_of<T>(S[k] - top);
        const Vec part = T(1) / sum;
        for (int k = 0; k < K; ++k) S[k] *= part;
    }

    // m = c R
    void redistribute(const Vec *c, Vec *m) const {
        if (!fixed_) {
            for (int k = 0; k < K; ++k) m[k] = c[k];
            return;
        }
        for (int j = 0; j < K; ++j) m[j] = fixed_[j] * c[0];
        for (int k = 1; k < K; ++k)
            for (int j = 0; j < K; ++j) m[j] += fixed_[k * K + j] * c[k];
    }

    // Back through R: from the worth g of mass after it to the worth of mass before.
    void redistribute_back(const Vec *c, const Vec *g, Vec *dc) {
        for (int k = 0; k < K; ++k) {
            if (!fixed_) {
                dc[k] = g[k];
                continue;
            }
            Vec worth = fixed_[k * K] * g[0];
            for (int j = 1; j < K; ++j) worth += fixed_[k * K + j] * g[j];
            for (int j = 0; j < K; ++j) *dfixed.at((k * K + j) * N) += c[k] * g[j];
            dc[k] = worth;
        }
    }

    void add_gradient(const View &view, Index t, Vec *to) const {
        if (!view.data) return;
        const Place<T> from = place(view, t);
        for (int k = 0; k < K; ++k) to[k] += entry(from, k);
    }
};

}  // namespace
