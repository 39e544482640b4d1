// The C interface of the paper's kernels: recurrences of the baselines, training of small networks and of autoregressive models, gradients
// of a pooled convolution, random numbers, and the rate of multiply-adds that the bench compares with. Headers that are not in this folder belong to mclstm.

#include "descent.h"
#include "fma_rate.h"
#include "identity.h"
#include "learn.h"
#include "philox.h"
#include "pooled.h"
#include "predicting_lstm.h"
#include "recurrence.h"

extern "C" {

int mclstm_learn_bytes() { return int(sizeof(Learn)); }

// Trains every member for the given updates; returns 1 if there was no memory, and then nothing was changed.
int mclstm_learn(const Learn *learn) {
    FlushDenormals flush;
    try {
        if (learn->layer != GATED_MASS_LAYER) Learner<LinearLayer>(*learn).train_all();
        else if (learn->outputs == 2) Learner<GatedMass<2>>(*learn).train_all();
        else Learner<GatedMass<3>>(*learn).train_all();
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

int mclstm_descent_bytes() { return int(sizeof(Descent)); }

// Trains every autoregressive model for the given updates; returns 1 if there was no memory, and then nothing was changed.
int mclstm_descend(const Descent *call) {
    const auto train = [](auto &descender, Index member) { descender.train(member); };
    if (call->hidden) return each_member<Descender<PredictingLSTM>>(*call, call->E, call->threads, true, train);
    return each_member<Descender<MassPath>>(*call, call->E, call->threads, true, train);
}

int mclstm_recurrence_bytes() { return int(sizeof(Recurrence)); }

// Runs a recurrence forward or backward; returns 1 if there was no memory.
int mclstm_recurrence(const Recurrence *call, int backward) {
    return call->wide ? recur<double>(*call, backward != 0) : recur<float>(*call, backward != 0);
}

int mclstm_pooled_bytes() { return int(sizeof(Pooled)); }

// Computes the gradients of a pooled, rectified convolution; returns 1 if there was no memory.
int mclstm_pooled_back(const Pooled *call) { return call->wide ? pooled_back<double>(*call) : pooled_back<float>(*call); }

// Fills `out` (seeds, items, numbers) with U[0, 1).
void mclstm_uniform(const uint64_t *seed, int64_t seeds, uint64_t first, int64_t items, uint32_t stream, int64_t numbers, float *out) {
    for (int64_t row = 0; row < seeds * items; ++row)
        uniform_item(seed[row / items], first + uint64_t(row % items), stream, numbers, out + row * numbers);
}

// Multiply-adds of one number in an iteration of the loop below, on one thread.
int64_t mclstm_fma_width() { return SUMS * Lanes<float>::V; }

// Runs that loop on every thread at once; `sums` (threads) has what each of them reached.
void mclstm_fma_loop(int64_t iterations, int64_t threads, float *sums) {
    in_threads(size_t(threads), [=](size_t thread) { sums[thread] = multiply_and_add(iterations); });
}
}
