#include "support/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace satrap::test {

namespace {

/// pid -> parent of every process.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    std::getline(stat, text);
    // pid (name, which may hold blanks) state parent ...
    const auto close = text.rfind(')');
    if (close == std::string::npos) continue;
    std::istringstream rest(text.substr(close + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    result[std::atoi(name.c_str())] = parent;
  }
  return result;
}

bool descends(const std::map<pid_t, pid_t>& tree, pid_t pid, pid_t ancestor) {
  for (auto it = tree.find(pid); it != tree.end() && it->second > 1; it = tree.find(it->second)) {
    if (it->second == ancestor) return true;
  }
  return false;
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments)
    : started_(std::chrono::steady_clock::now()) {
  output_path_ = (std::filesystem::temp_directory_path() / "satrap-process-XXXXXX").string();
  const int out = ::mkstemp(output_path_.data());
  if (out < 0) throw std::runtime_error("no temporary file can be made");
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Process::~Process() {
  if (!reaped_) {
    kill_group();
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove(output_path_, ignored);
}

void Process::signal(int number) const {
  ::kill(pid_, number);
}

std::vector<pid_t> Process::descendants(const std::string& name) const {
  const auto tree = parents();
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : tree) {
    std::error_code gone;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", gone);
    if (!gone && program.filename() == name && descends(tree, pid, pid_)) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string Process::output() const {
  std::ifstream in(output_path_);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void Process::kill_group() noexcept {
  // mpirun gives its ranks process groups of their own.
  for (const auto& [pid, parent] : parents()) {
    if (descends(parents(), pid, pid_)) ::kill(pid, SIGKILL);
  }
  ::kill(-pid_, SIGKILL);
}

Ended Process::wait(std::chrono::seconds limit) {
  Ended ended;
  int status = 0;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (!ended.timed_out && std::chrono::steady_clock::now() > deadline) {
      ended.timed_out = true;
      kill_group();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  reaped_ = true;
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.output = output();
  ended.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  return ended;
}

Ended run(const std::vector<std::string>& arguments, std::chrono::seconds limit) {
  return Process(arguments).wait(limit);
}

}  // namespace satrap::test
