// Tests of messages between watching threads, on as many ranks as the launcher gives.
#include "runner/mailbox.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <vector>

namespace runner {
namespace {

/// Longer than any message takes on a busy machine.
constexpr double kPatienceS = 60.0;

Message message_of(int rank, const std::string& text) {
  return {Message::Kind::kFailure, {rank, 7, "node1", "evaluation: input", "MPI_Bcast", 1.5}, text};
}

TEST(Mailbox, BringsLettersToRankZeroAndAnswersBack) {
  const Communicator world = Communicator::world();
  Mailbox mailbox(world);
  if (world.rank() != 0) {
    mailbox.send_to_root(message_of(world.rank(), "something"));
    const auto answer = mailbox.receive(kPatienceS);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->kind, Message::Kind::kNoted);
    EXPECT_EQ(answer->text, "you are rank " + std::to_string(world.rank()));
    world.barrier();
    return;
  }
  std::set<int> heard;
  while (static_cast<int>(heard.size()) < world.size() - 1) {
    const auto message = mailbox.receive(kPatienceS);
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->kind, Message::Kind::kFailure);
    EXPECT_EQ(message->text, "something");
    EXPECT_EQ(message->from.process, 7);
    EXPECT_EQ(message->from.host, "node1");
    EXPECT_EQ(message->from.doing, "evaluation: input");
    EXPECT_EQ(message->from.call, "MPI_Bcast");
    EXPECT_EQ(message->from.idle_s, 1.5);
    heard.insert(message->from.rank);
    mailbox.send_to(
        message->from.rank,
        {Message::Kind::kNoted, {}, "you are rank " + std::to_string(message->from.rank)});
  }
  EXPECT_EQ(heard.count(0), 0U);
  world.barrier();
}

TEST(Mailbox, CutsTextsThatAreTooLong) {
  const Communicator world = Communicator::world();
  Mailbox mailbox(world);
  if (world.rank() == 1) mailbox.send_to_root(message_of(1, std::string(5000, 'x')));
  if (world.rank() == 0 && world.size() > 1) {
    const auto message = mailbox.receive(kPatienceS);
    ASSERT_TRUE(message.has_value());
    EXPECT_THAT(message->text, testing::MatchesRegex("x{700,800}"));
  }
  world.barrier();
}

TEST(Mailbox, TakesNothingFromStrangers) {
  const Communicator world = Communicator::world();
  Mailbox mailbox(world);
  if (world.rank() == 0 && world.size() > 1) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(
        std::stoi(mailbox.root().substr(mailbox.root().rfind(' ') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int stranger = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (const std::size_t size : {0U, 10U, 992U, 1000U, 1400U}) {
      const std::vector<char> bytes(size, '\1');
      EXPECT_EQ(::sendto(stranger, bytes.data(), size, 0,
                         reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
                static_cast<ssize_t>(size));
    }
    ::close(stranger);
  }
  world.barrier();
  if (world.rank() == 1) mailbox.send_to_root(message_of(1, "a friend"));
  if (world.rank() == 0 && world.size() > 1) {
    // A stranger's datagram may end one wait, but is never taken for a message.
    std::optional<Message> message;
    for (int i = 0; i < 10 && !message; ++i) message = mailbox.receive(kPatienceS / 10);
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->text, "a friend");
  }
  world.barrier();
}

TEST(Mailbox, EndsAWaitWhenItIsWoken) {
  Mailbox mailbox(Communicator::world());
  mailbox.wake();
  EXPECT_FALSE(mailbox.receive(1e6).has_value());
}

}  // namespace
}  // namespace runner
