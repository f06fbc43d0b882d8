// Ends an mpirun that does not end by itself.
#pragma once

namespace runner {

/// Where this process is a child of mpirun, leaves one behind that ends mpirun should it be there a
/// few seconds after this process is gone: it waits for its daemon on a lost node, for minutes. To
/// be called before this process ends. Nothing else is touched.
void see_to_launchers_end() noexcept;

}  // namespace runner
