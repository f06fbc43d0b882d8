// `trainmark bleu`: the score of a translation in a text file.
#pragma once

#include "runner/base/command.h"

namespace gnmt {

base::Command bleu_command();

}  // namespace gnmt
