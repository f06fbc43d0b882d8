// The report of a benchmark that runs on MPI ranks.
#pragma once

#include <initializer_list>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/base/replaced_file.h"
#include "runner/base/system_facts.h"
#include "runner/communicator.h"
#include "runner/together.h"

/// Collective. Adds what built the program, and these facts of the machine; rank 0 prints the
/// report and writes it to `output`, unless that is empty.
inline void finish_report(nlohmann::json report, std::initializer_list<const char*> facts,
                          const std::string& output, const runner::Communicator& world) {
  report["build"] = base::build_facts();
  const nlohmann::json machine = base::machine_facts();
  for (const char* const fact : facts) report["machine"][fact] = machine.at(fact);
  runner::on_rank_0(world, [&] {
    const std::string text = report.dump(2) + "\n";
    std::cout << text << std::flush;
    if (!output.empty()) base::write_file(output, text);
  });
}
