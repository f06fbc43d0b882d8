// What a DLRM configuration takes of numbers at their extremes.
#pragma once

namespace dlrm {

/// Each pointer with its accepted extremes, sorted as text.
inline constexpr char kTakenExtremes[] = R"(
/checkpoint/every_minutes: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/checkpoint/every_steps: 0 1 65537 9223372036854775807
/checkpoint/keep_last: 1 65537 9223372036854775807
/cpus/ranks_per_node: 0 1
/cpus/spare_cores: 0 1
/dataset/max_ind_range: 0 1 65537 9223372036854775807
/dataset/prefetch_batches: 1
/dataset/test_samples: 0 1 65537
/dataset/train_samples: 0 1 65537
/embeddings/epsilon: 1 1.5 18446744073709551615 65537 9223372036854775807
/embeddings/learning_rate_factor: 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/embeddings/memory_limit_gib: 0 1 1.5 65537
/embeddings/replicate_up_to_rows: 0 1 65537 9223372036854775807
/epochs: 1 65537
/evaluation/every_epochs: 1
/evaluation/offset_epochs: 0
/evaluation/per_epoch: 1 65537
/hang_timeout_s: 0 1 65537 9223372036854775807
/lost_timeout_s: 0 1 65537 9223372036854775807
/model/bottom/0: 1
/model/bottom/1:
/model/dense_features: 1
/model/embedding_width:
/model/top/0: 1
/model/top/1: 1
/optimizer/epsilon: 1 1.5 18446744073709551615 65537 9223372036854775807
/optimizer/momentum: 0 1e-308
/optimizer/weight_decay: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/decay_start_step: 65537 9223372036854775807
/schedule/decay_steps: 1 65537 9223372036854775807
/schedule/end_learning_rate: 0 1e-308
/schedule/learning_rate: 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/power: 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/schedule/warmup_epochs: 0 1 1.5 1e-308
/schedule/warmup_steps: 0 1
/seed: 0 1 18446744073709551615 65537 9223372036854775807
/staging/memory_bytes: 1 65537 9223372036854775807
/staging/rates/cache_bytes: -1 0 1 65537 9223372036854775807
/staging/rates/epoch_compute_s: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/staging/rates/local_read: 0
/staging/rates/local_write: 0
/staging/rates/network: 0
/staging/rates/source: 0
/staging/rates/source_files: 0
/staging/rates/source_of_node: 0
/staging/readers: 1
/staging/writers: 1
/target/quality: 0 1 1.5 18446744073709551615 1e+308 1e-308 65537 9223372036854775807
/threads: 0 1
/training/global_batch_size: 1 65537
/training/gradient_density: 1
/training/gradient_piece_kib: 0
)";

}  // namespace dlrm
