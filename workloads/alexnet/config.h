// The keys of an AlexNet configuration beyond those of every workload.
#pragma once

#include "runner/base/object_reader.h"
#include "workloads/alexnet/model.h"
#include "workloads/images/config.h"

namespace alexnet {

struct Config {
  ModelConfig model;
  images::Config images;
};

/// Parses all sections but optimizer and schedule, which nn parses.
Config parse_config(const base::ObjectReader& root);

/// Parses all sections, including optimizer and schedule, for `config` and `--dry-run`.
void check_config(const base::ObjectReader& root);

}  // namespace alexnet
