"""PyTorch's modules of which no name does anything here: add a module by adding it to a line.

A heading says why; a line below is a package and the modules within it, and lines that are
indented go on. Importing them, and any name from them, works; to call the name raises. `SAME` has
modules that are files of PyTorch's, whose names stand in another module here.
Must not know how names are made of it.
"""

from __future__ import annotations

SAME = {
    "accelerator.graphs": "accelerator",
    "accelerator.memory": "accelerator",
    "cpu.amp.autocast_mode": "cpu.amp",
    "cpu.amp.grad_scaler": "cpu.amp",
    "cuda.graphs": "cuda",
    "distributed.fsdp.fully_sharded_data_parallel": "distributed.fsdp",
    "distributed.tensor.device_mesh": "distributed.device_mesh",
    "export.exported_program": "export",
    "multiprocessing.pool": "multiprocessing",
    "multiprocessing.queue": "multiprocessing",
    "nn.modules.linear_cross_entropy": "nn",
    "package.package_exporter": "package",
    "package.package_importer": "package",
    "utils.benchmark.utils": "utils.benchmark",
    "utils.benchmark.utils.common": "utils.benchmark",
    "utils.benchmark.utils.compare": "utils.benchmark",
    "utils.benchmark.utils.timer": "utils.benchmark",
    "xpu.memory": "xpu",
    "xpu.random": "xpu",
    "xpu.streams": "xpu",
}

PACKAGES = """\
[tensors are not quantized.]
ao.nn: intrinsic qat quantizable sparse
ao.nn.intrinsic: modules qat quantized
ao.nn.intrinsic.modules: fused
ao.nn.intrinsic.qat: modules
ao.nn.intrinsic.qat.modules: conv_fused linear_fused linear_relu
ao.nn.intrinsic.quantized: dynamic modules
ao.nn.intrinsic.quantized.dynamic: modules
ao.nn.intrinsic.quantized.dynamic.modules: linear_relu
ao.nn.intrinsic.quantized.modules: bn_relu conv_add conv_relu linear_relu
ao.nn.qat: dynamic modules
ao.nn.qat.dynamic: modules
ao.nn.qat.dynamic.modules: linear
ao.nn.qat.modules: conv embedding_ops linear
ao.nn.quantizable: modules
ao.nn.quantizable.modules: activation rnn
ao.nn.quantized: dynamic functional modules reference
ao.nn.quantized.dynamic: modules
ao.nn.quantized.dynamic.modules: conv linear rnn
ao.nn.quantized.modules: activation batchnorm conv dropout embedding_ops functional_modules
    linear normalization rnn utils
ao.nn.quantized.reference: modules
ao.nn.quantized.reference.modules: conv linear rnn sparse utils
ao.nn.sparse: quantized
ao.nn.sparse.quantized: dynamic linear utils
ao.nn.sparse.quantized.dynamic: linear
ao: ns pruning quantization
ao.ns: fx
ao.ns.fx: graph_matcher graph_passes mappings n_shadows_utils ns_types pattern_utils
    qconfig_multi_mapping utils weight_utils
ao.pruning: scheduler sparsifier
ao.pruning.scheduler: base_scheduler cubic_scheduler lambda_scheduler
ao.pruning.sparsifier: base_sparsifier nearly_diagonal_sparsifier utils weight_norm_sparsifier
ao.quantization: backend_config fake_quantize fuser_method_mappings fx observer
    qconfig qconfig_mapping quant_type quantization_mappings quantize_fx quantize_jit
    stubs utils
ao.quantization.backend_config: backend_config executorch fbgemm native onednn qnnpack tensorrt
    utils x86
ao.quantization.fx: convert custom_config fuse fuse_handler graph_module lower_to_fbgemm
    lower_to_qnnpack lstm_utils match_utils pattern_utils prepare qconfig_mapping_utils
    quantize_handler tracer utils
nn: intrinsic qat quantizable quantized
nn.intrinsic: modules qat quantized
nn.intrinsic.modules: fused
nn.intrinsic.qat: modules
nn.intrinsic.qat.modules: conv_fused linear_fused linear_relu
nn.intrinsic.quantized: dynamic modules
nn.intrinsic.quantized.dynamic: modules
nn.intrinsic.quantized.dynamic.modules: linear_relu
nn.intrinsic.quantized.modules: bn_relu conv_relu linear_relu
nn.qat: dynamic modules
nn.qat.dynamic: modules
nn.qat.dynamic.modules: linear
nn.qat.modules: conv embedding_ops linear
nn.quantizable: modules
nn.quantizable.modules: activation rnn
nn.quantized: dynamic functional modules
nn.quantized.dynamic: modules
nn.quantized.dynamic.modules: conv linear rnn
nn.quantized.modules: activation batchnorm conv dropout embedding_ops functional_modules linear
    normalization rnn utils
: quantization
quantization: fake_quantize fuser_method_mappings fx observer qconfig quant_type
    quantization_mappings quantize_fx quantize_jit stubs utils
quantization.fx: convert fuse fusion_patterns graph_module match_utils pattern_utils prepare
    quantization_patterns quantization_types utils
[programs are run, not traced into graphs.]
: _decomp _higher_order_ops _prims_common
fx: annotate config immutable_collections interpreter node operator_schemas proxy
    subgraph_rewriter tensor_type traceback
fx.experimental: accelerator_partitioner const_fold debug dynamic_spec graph_gradual_typechecker
    merge_matmul meta_tracer migrate_gradual_types normalize optimization partitioner_utils
    recording refinement_types rewriter schema_type_annotation sym_node symbolic_shapes
    unification unify_refinements validator
fx.experimental.migrate_gradual_types: constraint constraint_generator constraint_transformation
    operation transform_to_z3 util z3_types
fx.experimental.unification: core dispatch match more multipledispatch unification_tools utils
    variable
fx.experimental.unification.multipledispatch: conflict core dispatcher utils variadic
fx.passes: annotate_getitem_nodes backends dialect fake_tensor_prop graph_drawer
    graph_manipulation graph_transform_observer infra net_min_base operator_support param_fetch
    pass_manager regional_inductor regional_inductor_invoke_subgraph reinplace runtime_assert
    split_module split_utils splitter_base tests tools_common utils
fx.passes.backends: cudagraphs
fx.passes.dialect: common
fx.passes.dialect.common: cse_pass
fx.passes.infra: partitioner pass_base pass_manager
fx.passes.tests: test_pass_manager
fx.passes.utils: common fuser_utils matcher_utils matcher_with_name_node_map_utils
    source_matcher_utils
[models are not exported.]
export: custom_obj custom_ops decomp_utils dynamic_shapes experimental exported_program
    graph_signature passes pt2_archive unflatten
export.pt2_archive: constants
: nativert
nativert: backends
onnx: ops symbolic_opset10 symbolic_opset11 symbolic_opset12 symbolic_opset13 symbolic_opset14
    symbolic_opset15 symbolic_opset16 symbolic_opset17 symbolic_opset18 symbolic_opset19
    symbolic_opset20 symbolic_opset7 symbolic_opset8 symbolic_opset9 testing verification
package: analyze file_structure_representation find_file_dependencies glob_group importer
    package_exporter package_importer
package.analyze: find_first_use_of_broken_modules is_from_package trace_dependencies
utils: bundled_inputs model_dump
[there is one process.]
distributed: _tensor argparse_util c10d_logger checkpoint collective_utils config
    constants debug distributed_c10d flight_recorder fsdp launch launcher logging_handlers nn
    optim pipelining remote_device rendezvous rpc run tensor utils
distributed._tensor: device_mesh
distributed.algorithms: _checkpoint ddp_comm_hooks join model_averaging
distributed.algorithms._checkpoint: checkpoint_wrapper
distributed.algorithms.ddp_comm_hooks: ddp_zero_hook debugging_hooks default_hooks
    mixed_precision_hooks optimizer_overlap_hooks post_localSGD_hook powerSGD_hook
    quantization_hooks
distributed.algorithms.model_averaging: averagers hierarchical_model_averager utils
distributed.checkpoint: api default_planner filesystem format_utils hf_storage logger
    logging_handlers metadata optimizer planner planner_helpers quantized_hf_storage resharding
    staging state_dict state_dict_loader state_dict_saver stateful storage utils
distributed.elastic: agent control_plane events metrics rendezvous timer utils
distributed.elastic.agent: server
distributed.elastic.agent.server: api health_check_server local_elastic_agent
distributed.elastic.events: api handlers
distributed.elastic.metrics: api
distributed.elastic.multiprocessing: api errors redirects subprocess_handler tail_log
distributed.elastic.multiprocessing.errors: error_handler handlers
distributed.elastic.multiprocessing.subprocess_handler: handlers subprocess_handler
distributed.elastic.rendezvous: api c10d_rendezvous_backend dynamic_rendezvous etcd_rendezvous
    etcd_rendezvous_backend etcd_server etcd_store registry static_tcp_rendezvous utils
distributed.elastic.timer: api debug_info_logging file_based_local_timer local_timer
distributed.elastic.utils: api data distributed log_level logging process_state store
distributed.elastic.utils.data: cycling_iterator elastic_distributed_sampler
distributed.flight_recorder: components fr_trace
distributed.flight_recorder.components: builder config_manager fr_logger loader types utils
distributed.fsdp: api fully_sharded_data_parallel sharded_grad_scaler wrap
distributed.launcher: api
distributed.nn: api jit
distributed.nn.api: remote_module
distributed.nn.jit: instantiator templates
distributed.nn.jit.templates: remote_module_template
distributed.optim: apply_optimizer_in_backward functional_adadelta functional_adagrad
    functional_adam functional_adamax functional_adamw functional_rmsprop functional_rprop
    functional_sgd named_optimizer optimizer post_localSGD_optimizer utils
    zero_redundancy_optimizer
distributed.pipelining: microbatch schedules stage
distributed.rpc: backend_registry constants functions internal options rref_proxy
    server_process_global_profiler
distributed.tensor: debug device_mesh experimental parallel placement_types
distributed.tensor.experimental: _attention
distributed.tensor.parallel: api ddp fsdp input_reshard loss style
nn.parallel: _functions
: numa
numa: binding
[nothing is compiled, a model runs as it is.]
: _custom_op
_dynamo: eval_frame
_inductor: async_compile pattern_matcher utils
compiler: config
jit: frontend generate_bytecode mobile quantized supported_ops unsupported_tensor_ops
nn: cpp
utils.benchmark.utils: common compare compile cpp_jit valgrind_wrapper
utils.benchmark.utils.valgrind_wrapper: timer_interface
utils: cpp_backtrace file_baton hipify jit
utils.hipify: constants cuda_to_hip_mappings hipify_python version
utils.jit: log_extract
[there is no such device.]
accelerator: graphs memory
backends: cusparselt kleidiai mha miopen python_native xeon
backends.xeon: run_cpu
cpu.amp: autocast_mode grad_scaler
cuda: gds graphs green_contexts jiterator sparse tunable
mps: event profiler
mtia: memory mtia_graph
profiler: itt
utils: backend_registration mkldnn
xpu: graphs memory random streams
[tensors are dense.]
masked: maskedtensor
masked.maskedtensor: binary core creation passthrough reductions unary
nn.attention: experimental varlen
sparse: semi_structured
[a Dataset of one's own does it.]
utils.data: backward_compatibility datapipes graph graph_settings
utils.data.datapipes: dataframe datapipe iter map utils
utils.data.datapipes.dataframe: dataframe_wrapper dataframes datapipes structures
utils.data.datapipes.iter: callable combinatorics combining filelister fileopener grouping
    routeddecoder selecting sharding streamreader utils
utils.data.datapipes.map: callable combinatorics combining grouping utils
utils.data.datapipes.utils: common decoder snapshot
[it is not here yet.]
: contrib
multiprocessing: pool queue reductions
nn.modules: linear_cross_entropy linear_cross_entropy_options
profiler: python_tracer
utils.benchmark: examples op_fuzzers utils
utils.benchmark.examples: compare fuzzer op_benchmark simple_timeit spectral_ops_fuzz_test
utils.benchmark.op_fuzzers: binary sparse_binary sparse_unary spectral unary
utils.benchmark.utils: fuzzer sparse_fuzzer timer
utils: debug_log serialization show_pickle
    throughput_benchmark viz
utils.serialization: config
"""


def refused() -> dict[str, str]:
    """The modules, and why none of their names does anything."""
    why = ""
    found: dict[str, str] = {}
    for line in PACKAGES.replace("\n    ", " ").splitlines():
        if line.startswith("["):
            why = line[1:-1]
            continue
        package, _, names = line.partition(":")
        found |= {f"{package}.{name}".lstrip("."): why for name in names.split()}
    return found


__all__ = ["SAME", "refused"]
