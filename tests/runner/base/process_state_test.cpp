// Tests of process states.
#include "runner/base/process_state.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace base {
namespace {

/// A child that waits for signals; killed by the destructor.
class Child {
 public:
  Child() : process(::fork()) {
    if (process == 0) {
      ::prctl(PR_SET_NAME, "a ) b");  // a bracket in the name must not be taken for its end
      for (;;) ::pause();
    }
  }
  ~Child() {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Sends a signal and returns when it has had its effect, which remains waitable.
  void signal(int number, int effect) const {
    ::kill(process, number);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process), &info, effect | WNOWAIT);
  }
  const pid_t process;
};

TEST(ProcessState, TellsParentAndStart) {
  const auto own = process_state(::getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->parent, ::getppid());
  const Child child;
  const auto found = process_state(child.process);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->parent, ::getpid());
  EXPECT_GE(found->start_ticks, own->start_ticks);
  EXPECT_GT(own->start_ticks, 0U);
  constexpr double kTickS = 0.01;
  EXPECT_GE(found->age_s, 0.0);
  EXPECT_LE(found->age_s, own->age_s + kTickS);
}

TEST(ProcessState, TellsOneThatIsStopped) {
  const Child child;
  child.signal(SIGSTOP, WSTOPPED);
  EXPECT_EQ(process_state(child.process)->state, 'T');
  EXPECT_TRUE(is_alive(child.process));
}

TEST(ProcessState, TakesAZombieForDead) {
  const Child child;
  EXPECT_TRUE(is_alive(child.process));
  child.signal(SIGKILL, WEXITED);
  EXPECT_EQ(process_state(child.process)->state, 'Z');
  EXPECT_FALSE(is_alive(child.process));
}

TEST(ProcessState, IsNothingOfAProcessThatNeverWas) {
  constexpr std::int64_t kBeyondWhatTheKernelGives = 4194999;
  EXPECT_FALSE(process_state(kBeyondWhatTheKernelGives));
  EXPECT_FALSE(is_alive(kBeyondWhatTheKernelGives));
}

TEST(Life, IsThatOfTheSameProcessSeenFromItsKernel) {
  ProcessIdentity own = this_process_identity();
  ASSERT_FALSE(own.kernel.empty());
  EXPECT_EQ(life_from_here(own), Life::kAlive);
  own.start_ticks += 1;
  EXPECT_EQ(life_from_here(own), Life::kDead) << "the number was used again";
  own.kernel += "0";
  EXPECT_EQ(life_from_here(own), Life::kUnknown);
  own.kernel.clear();
  EXPECT_EQ(life_from_here(own), Life::kUnknown);
}

}  // namespace
}  // namespace base
