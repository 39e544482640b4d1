// Vectors of float or double, their memory, and the functions of them that the kernel needs.
// GCC's vector extensions and no intrinsics: one source for every instruction set.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// For small functions: a call, which has to load all constants again, costs as much as their work.
#define ALWAYS __attribute__((always_inline)) inline

namespace {

using Index = std::ptrdiff_t;

#if defined(__AVX512F__)
constexpr Index BYTES = 64;
#else
constexpr Index BYTES = 32;
#endif

template <class T>
struct Lanes {
    typedef T Vec __attribute__((vector_size(BYTES), may_alias));
    using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    typedef Word Bits __attribute__((vector_size(BYTES), may_alias));
    static constexpr Index V = BYTES / Index(sizeof(T));
};

template <class T>
class Buffer {  // zeroed, aligned to whole vectors
   public:
    explicit Buffer(Index count) : bytes_((std::max<Index>(count, 1) * Index(sizeof(T)) + 63) / 64 * 64) {
        data_ = static_cast<T *>(std::aligned_alloc(64, size_t(bytes_)));
        if (!data_) throw std::bad_alloc();
        clear();
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { std::free(data_); }
    void clear() { std::memset(data_, 0, size_t(bytes_)); }
    void fill(T value) { std::fill(data_, data_ + bytes_ / Index(sizeof(T)), value); }
    operator T *() { return data_; }
    typename Lanes<T>::Vec *at(Index element) { return reinterpret_cast<typename Lanes<T>::Vec *>(data_ + element); }

   private:
    Index bytes_;
    T *data_;
};

// Denormals cost a hundred cycles each and do not change sums of larger numbers: they are flushed where the caller asks for it, and
// kept elsewhere. The mode of before is restored after.
class FlushDenormals {
   public:
#if defined(__x86_64__)
    explicit FlushDenormals(bool flush = true) : before_(_mm_getcsr()) { _mm_setcsr(flush ? before_ | 0x8040u : before_ & ~0x8040u); }
    ~FlushDenormals() { _mm_setcsr(before_); }

   private:
    unsigned before_;
#endif
};

// A constant whose value is hidden from the compiler, which then uses one instruction for a limit, not two. NaN stays NaN.
template <class Vec>
inline Vec opaque(Vec v) {
#if defined(__x86_64__)
    asm("" : "+x"(v));
#endif
    return v;
}

template <class T>
ALWAYS typename Lanes<T>::Vec at_least(typename Lanes<T>::Vec x, T low) {
    const typename Lanes<T>::Vec limit = opaque(low - typename Lanes<T>::Vec{});
    return limit > x ? limit : x;
}

template <class T>
ALWAYS typename Lanes<T>::Vec at_most(typename Lanes<T>::Vec x, T high) {
    const typename Lanes<T>::Vec limit = opaque(high - typename Lanes<T>::Vec{});
    return limit < x ? limit : x;
}

template <class T>
struct Exp;
template <>
struct Exp<float> {
    static constexpr int degree = 7, shift = 23;
    static constexpr float low = -87.3f, high = 88.0f, round = 12582912.0f, logit_limit = 4294967296.0f;
    static constexpr float ln2_high = 0.693359375f, ln2_rest = -2.12194440e-4f;
};
template <>
struct Exp<double> {
    static constexpr int degree = 13, shift = 52;
    static constexpr double low = -708.3, high = 709.0, round = 6755399441055744.0, logit_limit = 0x1p256;
    static constexpr double ln2_high = 0.693147180369123816490, ln2_rest = 1.90821492927058770002e-10;
};

constexpr double INVERSE_FACTORIAL[] = {1.0,          1.0,           1.0 / 2,        1.0 / 6,         1.0 / 24,
                                        1.0 / 120,    1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                        1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};

template <class T>
ALWAYS typename Lanes<T>::Vec exp_of(typename Lanes<T>::Vec x) {
    using E = Exp<T>;
    typedef typename Lanes<T>::Vec Vec;
    typedef typename Lanes<T>::Bits Bits;
    x = at_most<T>(at_least<T>(x, E::low), E::high);
    const Vec rounded = x * T(1.44269504088896340736) + E::round;  // its last bits are the exponent of the result
    const Vec n = rounded - E::round;
    const Vec r = (x - n * E::ln2_high) - n * E::ln2_rest;
    Vec p = Vec{} + T(INVERSE_FACTORIAL[E::degree]);
#pragma GCC unroll 16
    for (int d = E::degree - 1; d >= 0; --d) p = p * r + T(INVERSE_FACTORIAL[d]);
    return (Vec)((Bits)p + ((Bits)rounded << E::shift));
}

constexpr int SATURATED = 80;  // where logistic gates stop changing, as in ops/normalise.py: they have the same value everywhere

template <class T>
ALWAYS typename Lanes<T>::Vec sigmoid_of(typename Lanes<T>::Vec z) {
    return T(1) / (T(1) + exp_of<T>(-at_least<T>(z, T(-SATURATED))));
}

// NaN stays NaN; `exp_of` would turn its bits into a number.
template <class T>
ALWAYS typename Lanes<T>::Vec logistic_of(typename Lanes<T>::Vec z) {
    return z == z ? sigmoid_of<T>(z) : z;
}

// e / (e + 2), e = exp(2 z) - 1; near zero by the series of e, since the difference loses digits there.
template <class T>
ALWAYS typename Lanes<T>::Vec tanh_of(typename Lanes<T>::Vec z) {
    typedef typename Lanes<T>::Vec Vec;
    constexpr int degree = Exp<T>::degree;
    const Vec twice = z + z;
    Vec series = Vec{} + T(INVERSE_FACTORIAL[degree]);
#pragma GCC unroll 16
    for (int d = degree - 1; d > 0; --d) series = series * twice + T(INVERSE_FACTORIAL[d]);
    const Vec e = twice * series;
    return twice * twice < T(0.1156) ? e / (e + T(2)) : T(2) * logistic_of<T>(twice) - T(1);
}

// An outlet: the share of its mass that leaves and the share that stays. The second is no difference, so that a store keeps its digits
// where nearly all of it leaves.
template <class T>
struct Outlet {
    typename Lanes<T>::Vec leaves, stays;
    ALWAYS explicit Outlet(typename Lanes<T>::Vec z) {
        const typename Lanes<T>::Vec e = exp_of<T>(-at_most<T>(at_least<T>(z, T(-SATURATED)), T(SATURATED)));
        leaves = T(1) / (T(1) + e);
        stays = e * leaves;
    }
};

// The slope of a logistic gate with these two shares; zero where it is saturated.
template <class T>
ALWAYS typename Lanes<T>::Vec slope_of(typename Lanes<T>::Vec leaves, typename Lanes<T>::Vec stays) {
    const typename Lanes<T>::Vec slope = leaves * stays;
    return slope < T(1.9e-35) ? typename Lanes<T>::Vec{} : slope;  // exp(-80) is 1.8e-35; NaN stays NaN
}

// Logits limited so that their sums stay finite, as `bounded` in ops/normalise.py; NaN stays NaN.
template <class T>
ALWAYS typename Lanes<T>::Vec bounded(typename Lanes<T>::Vec z, T low = -Exp<T>::logit_limit) {
    return at_most<T>(at_least<T>(z, low), Exp<T>::logit_limit);
}

template <class T>
inline typename Lanes<T>::Vec unaligned(const T *from) {
    typename Lanes<T>::Vec lanes;
    std::memcpy(&lanes, from, sizeof(lanes));
    return lanes;
}

template <class T>
inline T total_of(const typename Lanes<T>::Vec &lanes) {
    T sum = 0;
    for (Index lane = 0; lane < Lanes<T>::V; ++lane) sum += lanes[lane];
    return sum;
}

template <class Mask>
inline bool any(const Mask &mask) {
    bool found = false;
    for (size_t lane = 0; lane < sizeof(Mask) / sizeof(mask[0]); ++lane) found |= mask[lane] != 0;
    return found;
}

}  // namespace
