// The C interface of the paper's kernels: recurrences of the baselines, training of small networks, gradients of the digits' reader,
// random numbers. Headers without a folder here are the library's.

#include "identity.h"
#include "learn.h"
#include "philox.h"
#include "pooled.h"
#include "recurrence.h"

extern "C" {

int mclstm_learn_bytes() { return int(sizeof(Learn)); }

// Every member for the given number of updates; 1 if there was no memory, and then nothing was changed.
int mclstm_learn(const Learn *learn) {
    FlushDenormals flush;
    try {
        Learner learner(*learn);
        for (int64_t member = 0; member < learn->members; ++member) learner.train(member);
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

int mclstm_recurrence_bytes() { return int(sizeof(Recurrence)); }

// A baseline's recurrence, or its way back; 1 if there was no memory.
int mclstm_recurrence(const Recurrence *call, int backward) {
    return call->wide ? recur<double>(*call, backward != 0) : recur<float>(*call, backward != 0);
}

int mclstm_pooled_bytes() { return int(sizeof(Pooled)); }

// Gradients of a convolution whose outputs are pooled and rectified; 1 if there was no memory.
int mclstm_pooled_back(const Pooled *call) { return call->wide ? pooled_back<double>(*call) : pooled_back<float>(*call); }

// U[0, 1) of every seed and item, (seeds, items, numbers) in `out`.
void mclstm_uniform(const uint64_t *seed, int64_t seeds, uint64_t first, int64_t items, uint32_t stream, int64_t numbers, float *out) {
    for (int64_t row = 0; row < seeds * items; ++row)
        uniform_item(seed[row / items], first + uint64_t(row % items), stream, numbers, out + row * numbers);
}
}
