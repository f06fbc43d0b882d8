// Counts MPI calls by MPI's profiling interface (PMPI).
#include "workloads/parallel/hybrid/counted_mpi.h"

#include <mpi.h>

Traffic& traffic() {
  static Traffic all;
  return all;
}

namespace {

void count_message(std::int64_t bytes) {
  traffic().bytes_sent += bytes;
  traffic().messages_sent += bytes > 0 ? 1 : 0;
}

void count_operation(const int* counts, MPI_Datatype type, MPI_Comm comm) {
  int rank = 0, size = 0, bytes = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Type_size(type, &bytes);
  ++traffic().operations;
  for (int r = 0; counts != nullptr && r < size; ++r) {
    if (r != rank) count_message(std::int64_t{counts[r]} * bytes);
  }
}

}  // namespace

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  count_message(std::int64_t{count} * bytes);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Ialltoallv(const void* send, const int* counts, const int* places, MPI_Datatype type,
                   void* receive, const int* receive_counts, const int* receive_places,
                   MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
  count_operation(counts, type, comm);
  return PMPI_Ialltoallv(send, counts, places, type, receive, receive_counts, receive_places,
                         receive_type, comm, request);
}

int MPI_Iscatterv(const void* send, const int* counts, const int* places, MPI_Datatype type,
                  void* receive, int count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  count_operation(rank == root ? counts : nullptr, type, comm);
  return PMPI_Iscatterv(send, counts, places, type, receive, count, receive_type, root, comm,
                        request);
}

int MPI_Igatherv(const void* send, int count, MPI_Datatype type, void* receive, const int* counts,
                 const int* places, MPI_Datatype receive_type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  int rank = 0, bytes = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(type, &bytes);
  count_operation(nullptr, type, comm);
  if (rank != root) count_message(std::int64_t{count} * bytes);
  return PMPI_Igatherv(send, count, type, receive, counts, places, receive_type, root, comm,
                       request);
}

}  // extern "C"
