// Every MLPerf log key, defined once.
#pragma once

namespace mllog::keys {

inline constexpr char kSubmissionBenchmark[] = "submission_benchmark";
inline constexpr char kSubmissionDivision[] = "submission_division";
inline constexpr char kSubmissionOrg[] = "submission_org";
inline constexpr char kSubmissionPlatform[] = "submission_platform";
inline constexpr char kSubmissionStatus[] = "submission_status";
inline constexpr char kSubmissionPocName[] = "submission_poc_name";
inline constexpr char kSubmissionPocEmail[] = "submission_poc_email";
inline constexpr char kCacheClear[] = "cache_clear";
inline constexpr char kInitStart[] = "init_start";
inline constexpr char kInitStop[] = "init_stop";
inline constexpr char kRunStart[] = "run_start";
inline constexpr char kRunStop[] = "run_stop";
inline constexpr char kStagingStart[] = "staging_start";
inline constexpr char kStagingStop[] = "staging_stop";
inline constexpr char kBlockStart[] = "block_start";
inline constexpr char kBlockStop[] = "block_stop";
inline constexpr char kEpochStart[] = "epoch_start";
inline constexpr char kEpochStop[] = "epoch_stop";
inline constexpr char kEvalStart[] = "eval_start";
inline constexpr char kEvalStop[] = "eval_stop";
inline constexpr char kEvalAccuracy[] = "eval_accuracy";
inline constexpr char kEvalError[] = "eval_error";
inline constexpr char kTrainLoss[] = "train_loss";
inline constexpr char kLearningRate[] = "learning_rate";
inline constexpr char kThroughput[] = "throughput";
inline constexpr char kTrackedStats[] = "tracked_stats";
inline constexpr char kSeed[] = "seed";
inline constexpr char kGlobalBatchSize[] = "global_batch_size";
inline constexpr char kTrainSamples[] = "train_samples";
inline constexpr char kEvalSamples[] = "eval_samples";
inline constexpr char kNumberOfNodes[] = "number_of_nodes";
inline constexpr char kNumberOfRanks[] = "number_of_ranks";
inline constexpr char kAcceleratorsPerNode[] = "accelerators_per_node";
inline constexpr char kGradientAccumulationSteps[] = "gradient_accumulation_steps";
// Disclosures about the training of each system, from round 6.1 on.
inline constexpr char kPrecisionInLinear[] = "lowest_numerical_precision_in_linear";
inline constexpr char kPrecisionInAttention[] = "lowest_numerical_precision_in_attn";
inline constexpr char kPrecisionInCommunication[] = "lowest_numerical_precision_in_comm";
inline constexpr char kTensorParallelism[] = "tensor_parallelism";
inline constexpr char kPipelineParallelism[] = "pipeline_parallelism";
inline constexpr char kContextParallelism[] = "context_parallelism";
inline constexpr char kExpertParallelism[] = "expert_parallelism";
inline constexpr char kMicroBatchSize[] = "micro_batch_size";
inline constexpr char kConfigFilename[] = "config_filename";
inline constexpr char kOptName[] = "opt_name";
inline constexpr char kModelBnSpan[] = "model_bn_span";
inline constexpr char kSgdBaseLearningRate[] = "sgd_opt_base_learning_rate";
inline constexpr char kSgdEndLearningRate[] = "sgd_opt_end_learning_rate";
inline constexpr char kSgdPolyPower[] = "sgd_opt_learning_rate_decay_poly_power";
inline constexpr char kSgdDecaySteps[] = "sgd_opt_learning_rate_decay_steps";
inline constexpr char kSgdWeightDecay[] = "sgd_opt_weight_decay";
inline constexpr char kSgdMomentum[] = "sgd_opt_momentum";
inline constexpr char kBaseLearningRate[] = "opt_base_learning_rate";
inline constexpr char kWarmupSteps[] = "opt_learning_rate_warmup_steps";
inline constexpr char kDecayStartSteps[] = "lr_decay_start_steps";
inline constexpr char kWarmupEpochs[] = "opt_learning_rate_warmup_epochs";
inline constexpr char kWarmupFactor[] = "opt_learning_rate_warmup_factor";
inline constexpr char kDecayBoundaryEpochs[] = "opt_learning_rate_decay_boundary_epochs";
inline constexpr char kDecayFactor[] = "opt_learning_rate_decay_factor";
/// A key of this project: the peak of the learning rate of DLRM's tables, if they have their own.
inline constexpr char kTablesLearningRate[] = "tables_learning_rate";
/// A key of this project: how gradients travel between nodes if not in full, "top_k 0.01 with error
/// feedback".
inline constexpr char kGradientsBetweenNodes[] = "gradients_between_nodes";
/// A key of this project: the number of parts along depth and height into which ranks split a
/// sample.
inline constexpr char kSampleSplit[] = "sample_split";
inline constexpr char kDropout[] = "dropout";
inline constexpr char kOptWeightDecay[] = "opt_weight_decay";
// DeepCAM's own spellings.
inline constexpr char kBatchNormGroupSize[] = "batchnorm_group_size";
inline constexpr char kGradientAccumulationFrequency[] = "gradient_accumulation_frequency";
inline constexpr char kOptLearningRate[] = "opt_lr";
inline constexpr char kOptBetas[] = "opt_betas";
inline constexpr char kOptEpsilon[] = "opt_eps";
inline constexpr char kOptBiasCorrection[] = "opt_bias_correction";
inline constexpr char kOptGradAveraging[] = "opt_grad_averaging";
inline constexpr char kOptMaxGradNorm[] = "opt_max_grad_norm";
inline constexpr char kSchedulerType[] = "scheduler_type";
inline constexpr char kSchedulerWarmupSteps[] = "scheduler_lr_warmup_steps";
inline constexpr char kSchedulerWarmupFactor[] = "scheduler_lr_warmup_factor";
inline constexpr char kSchedulerMilestones[] = "scheduler_milestones";
inline constexpr char kSchedulerDecayRate[] = "scheduler_decay_rate";
inline constexpr char kSchedulerTMax[] = "scheduler_t_max";
inline constexpr char kSchedulerEtaMin[] = "scheduler_eta_min";
inline constexpr char kLarsBaseLearningRate[] = "lars_opt_base_learning_rate";
inline constexpr char kLarsEndLearningRate[] = "lars_opt_end_learning_rate";
inline constexpr char kLarsPolyPower[] = "lars_opt_learning_rate_decay_poly_power";
inline constexpr char kLarsDecaySteps[] = "lars_opt_learning_rate_decay_steps";
inline constexpr char kLarsWarmupEpochs[] = "lars_opt_learning_rate_warmup_epochs";
inline constexpr char kLarsEpsilon[] = "lars_epsilon";
inline constexpr char kLarsMomentum[] = "lars_opt_momentum";
inline constexpr char kLarsWeightDecay[] = "lars_opt_weight_decay";
inline constexpr char kWeightsInitialization[] = "weights_initialization";
/// Before and after writing a checkpoint.
inline constexpr char kSaveStart[] = "save_start";
inline constexpr char kSaveStop[] = "save_stop";
// Not MLPerf keys; MLPerf's checkers ignore them.
/// The run resumes from a checkpoint.
inline constexpr char kResumed[] = "resumed";
/// The target quality of a run of this program.
inline constexpr char kQualityTarget[] = "quality_target";

// In power logs that accompany results.
inline constexpr char kPowerMeasurementStart[] = "power_measurement_start";
inline constexpr char kPowerMeasurementStop[] = "power_measurement_stop";
inline constexpr char kPowerReading[] = "power_reading";
inline constexpr char kConversionEfficiency[] = "conversion_eff";
inline constexpr char kInterconnectPowerEstimate[] = "interconnect_power_est";

// Metadata members.
inline constexpr char kEpochNum[] = "epoch_num";
inline constexpr char kMetric[] = "metric";
inline constexpr char kFirstEpochNum[] = "first_epoch_num";
inline constexpr char kEpochCount[] = "epoch_count";
inline constexpr char kSamplesCount[] = "samples_count";
inline constexpr char kStepNum[] = "step_num";
inline constexpr char kDirection[] = "direction";
inline constexpr char kStatus[] = "status";
inline constexpr char kTensor[] = "tensor";
inline constexpr char kStep[] = "step";
/// Of kResumed: the path of the checkpoint.
inline constexpr char kCheckpoint[] = "checkpoint";

}  // namespace mllog::keys
