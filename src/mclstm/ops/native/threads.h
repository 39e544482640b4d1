// Runs independent jobs on several threads.

#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "lanes.h"

namespace {

// One job per thread; if no thread can be started, the calling thread does the job. Memory for all threads is reserved first: an
// exception while threads run would end the process.
template <class Job>
void in_threads(size_t count, Job job) {
    std::vector<std::thread> others;
    others.reserve(count);
    for (size_t i = 1; i < count; ++i) try {
            others.emplace_back(job, i);
        } catch (const std::exception &) {
            job(i);
        }
    job(size_t(0));
    for (auto &other : others) other.join();
}

// Calls job(part, member) for every member, the parts on threads of their own; each takes the next member that no other has taken, as
// windows differ. A member's result does not depend on the part.
template <class Part, class Call, class Job>
int each_member(const Call &call, Index members, Index threads, bool flush, Job job) {
    try {
        std::vector<std::unique_ptr<Part>> parts;
        for (Index i = 0; i < std::max<Index>(1, std::min(threads, members)); ++i) parts.push_back(std::make_unique<Part>(call));
        std::atomic<Index> next{0};
        in_threads(parts.size(), [&](size_t i) {
            FlushDenormals denormals(flush);
            for (Index member; (member = next++) < members;) job(*parts[i], member);
        });
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

}  // namespace
