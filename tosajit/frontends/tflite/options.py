"""The attributes of TFLite's operators: one class for each form that a table of attributes has."""

from tosajit.frontends.tflite.fields import (
    Activation,
    Bytes,
    Combiner,
    Floats,
    Ints,
    Long,
    Longs,
    LSTMKernel,
    MirrorPadMode,
    Options,
    Padding,
    ReduceFunction,
    Unsigned,
    WeightsFormat,
)
from tosajit.frontends.tflite.schema import Type


class Conv2DOptions(Options):
    """Attributes of Conv2D."""

    padding: Padding = Padding.SAME
    stride_w: int = 0
    stride_h: int = 0
    fused_activation_function: Activation = Activation.NONE
    dilation_w_factor: int = 1
    dilation_h_factor: int = 1
    quantized_bias_type: Type = Type.FLOAT32


class DepthwiseConv2DOptions(Options):
    """Attributes of DepthwiseConv2D."""

    padding: Padding = Padding.SAME
    stride_w: int = 0
    stride_h: int = 0
    depth_multiplier: int = 0
    fused_activation_function: Activation = Activation.NONE
    dilation_w_factor: int = 1
    dilation_h_factor: int = 1


class Pool2DOptions(Options):
    """Attributes of Pool2D."""

    padding: Padding = Padding.SAME
    stride_w: int = 0
    stride_h: int = 0
    filter_width: int = 0
    filter_height: int = 0
    fused_activation_function: Activation = Activation.NONE


class SVDFOptions(Options):
    """Attributes of SVDF."""

    rank: int = 0
    fused_activation_function: Activation = Activation.NONE
    asymmetric_quantize_inputs: bool = False


class RNNOptions(Options):
    """Attributes of RNN."""

    fused_activation_function: Activation = Activation.NONE
    asymmetric_quantize_inputs: bool = False


class FullyConnectedOptions(Options):
    """Attributes of FullyConnected."""

    fused_activation_function: Activation = Activation.NONE
    weights_format: WeightsFormat = WeightsFormat.DEFAULT
    keep_num_dims: bool = False
    asymmetric_quantize_inputs: bool = False
    quantized_bias_type: Type = Type.FLOAT32
    quant_spec: Bytes = ()


class SoftmaxOptions(Options):
    """Attributes of Softmax."""

    beta: float = 0.0


class ConcatenationOptions(Options):
    """Attributes of Concatenation."""

    axis: int = 0
    fused_activation_function: Activation = Activation.NONE


class AddOptions(Options):
    """Attributes of Add, Sub."""

    fused_activation_function: Activation = Activation.NONE
    pot_scale_int16: bool = True


class FusedOptions(Options):
    """Attributes of L2Norm, Mul, Div."""

    fused_activation_function: Activation = Activation.NONE


class LocalResponseNormalizationOptions(Options):
    """Attributes of LocalResponseNormalization."""

    radius: int = 0
    bias: float = 0.0
    alpha: float = 0.0
    beta: float = 0.0


class LSTMOptions(Options):
    """Attributes of LSTM."""

    fused_activation_function: Activation = Activation.NONE
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    kernel_type: LSTMKernel = LSTMKernel.FULL
    asymmetric_quantize_inputs: bool = False


class ResizeBilinearOptions(Options):
    """Attributes of ResizeBilinear."""

    _new_height: int = 0
    _new_width: int = 0
    align_corners: bool = False
    half_pixel_centers: bool = False


class CallOptions(Options):
    """Attributes of Call."""

    subgraph: Unsigned = 0


class ReshapeOptions(Options):
    """Attributes of Reshape."""

    new_shape: Ints = ()


class BlockOptions(Options):
    """Attributes of SpaceToDepth, DepthToSpace."""

    block_size: int = 0


class GatherOptions(Options):
    """Attributes of Gather."""

    axis: int = 0
    batch_dims: int = 0


class ReducerOptions(Options):
    """Attributes of Reducer."""

    keep_dims: bool = False


class SqueezeOptions(Options):
    """Attributes of Squeeze."""

    squeeze_dims: Ints = ()


class SequenceRNNOptions(Options):
    """Attributes of SequenceRNN."""

    time_major: bool = False
    fused_activation_function: Activation = Activation.NONE
    asymmetric_quantize_inputs: bool = False


class StridedSliceOptions(Options):
    """Attributes of StridedSlice."""

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0
    offset: bool = False


class SplitOptions(Options):
    """Attributes of Split, SplitV."""

    num_splits: int = 0


class CastOptions(Options):
    """Attributes of Cast."""

    in_data_type: Type = Type.FLOAT32
    out_data_type: Type = Type.FLOAT32


class ArgOptions(Options):
    """Attributes of ArgMax, ArgMin."""

    output_type: Type = Type.FLOAT32


class TransposeConvOptions(Options):
    """Attributes of TransposeConv."""

    padding: Padding = Padding.SAME
    stride_w: int = 0
    stride_h: int = 0
    fused_activation_function: Activation = Activation.NONE
    quantized_bias_type: Type = Type.FLOAT32


class SparseToDenseOptions(Options):
    """Attributes of SparseToDense."""

    validate_indices: bool = False


class ShapeOptions(Options):
    """Attributes of Shape."""

    out_type: Type = Type.FLOAT32


class FakeQuantOptions(Options):
    """Attributes of FakeQuant."""

    min: float = 0.0
    max: float = 0.0
    num_bits: int = 0
    narrow_range: bool = False


class PackOptions(Options):
    """Attributes of Pack."""

    values_count: int = 0
    axis: int = 0


class OneHotOptions(Options):
    """Attributes of OneHot."""

    axis: int = 0


class UnpackOptions(Options):
    """Attributes of Unpack."""

    num: int = 0
    axis: int = 0


class BidirectionalSequenceLSTMOptions(Options):
    """Attributes of BidirectionalSequenceLSTM."""

    fused_activation_function: Activation = Activation.NONE
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    merge_outputs: bool = False
    time_major: bool = True
    asymmetric_quantize_inputs: bool = False


class BidirectionalSequenceRNNOptions(Options):
    """Attributes of BidirectionalSequenceRNN."""

    time_major: bool = False
    fused_activation_function: Activation = Activation.NONE
    merge_outputs: bool = False
    asymmetric_quantize_inputs: bool = False


class UnidirectionalSequenceLSTMOptions(Options):
    """Attributes of UnidirectionalSequenceLSTM."""

    fused_activation_function: Activation = Activation.NONE
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    time_major: bool = False
    asymmetric_quantize_inputs: bool = False
    diagonal_recurrent_tensors: bool = False


class ResizeNearestNeighborOptions(Options):
    """Attributes of ResizeNearestNeighbor."""

    align_corners: bool = False
    half_pixel_centers: bool = False


class LeakyReluOptions(Options):
    """Attributes of LeakyRelu."""

    alpha: float = 0.0


class MirrorPadOptions(Options):
    """Attributes of MirrorPad."""

    mode: MirrorPadMode = MirrorPadMode.REFLECT


class UniqueOptions(Options):
    """Attributes of Unique."""

    idx_out_type: Type = Type.INT32


class ReverseSequenceOptions(Options):
    """Attributes of ReverseSequence."""

    seq_dim: int = 0
    batch_dim: int = 0


class IfOptions(Options):
    """Attributes of If."""

    then_subgraph_index: int = 0
    else_subgraph_index: int = 0


class WhileOptions(Options):
    """Attributes of While."""

    cond_subgraph_index: int = 0
    body_subgraph_index: int = 0


class BatchMatMulOptions(Options):
    """Attributes of BatchMatMul."""

    adj_x: bool = False
    adj_y: bool = False
    asymmetric_quantize_inputs: bool = False


class CumsumOptions(Options):
    """Attributes of Cumsum."""

    exclusive: bool = False
    reverse: bool = False


class CallOnceOptions(Options):
    """Attributes of CallOnce."""

    init_subgraph_index: int = 0


class Conv3DOptions(Options):
    """Attributes of Conv3D."""

    padding: Padding = Padding.SAME
    stride_d: int = 0
    stride_w: int = 0
    stride_h: int = 0
    fused_activation_function: Activation = Activation.NONE
    dilation_d_factor: int = 1
    dilation_w_factor: int = 1
    dilation_h_factor: int = 1


class VarHandleOptions(Options):
    """Attributes of VarHandle."""

    container: str = ""
    shared_name: str = ""


class BucketizeOptions(Options):
    """Attributes of Bucketize."""

    boundaries: Floats = ()


class EmbeddingLookupSparseOptions(Options):
    """Attributes of EmbeddingLookupSparse."""

    combiner: Combiner = Combiner.SUM


class GeluOptions(Options):
    """Attributes of Gelu."""

    approximate: bool = False


class ReduceWindowOptions(Options):
    """Attributes of ReduceWindow."""

    reduce_function: ReduceFunction = ReduceFunction.UNSUPPORTED


class StablehloPadOptions(Options):
    """Attributes of StablehloPad."""

    edge_padding_low: Longs = ()
    edge_padding_high: Longs = ()
    interior_padding: Longs = ()


class StablehloScatterOptions(Options):
    """Attributes of StablehloScatter."""

    indices_are_sorted: bool = False
    update_window_dims: Longs = ()
    inserted_window_dims: Longs = ()
    scatter_dims_to_operand_dims: Longs = ()
    index_vector_dim: Long = 0
    unique_indices: bool = False
    update_computation_subgraph_index: int = 0


class StablehloReduceWindowOptions(Options):
    """Attributes of StablehloReduceWindow."""

    window_dimensions: Longs = ()
    window_strides: Longs = ()
    base_dilations: Longs = ()
    window_dilations: Longs = ()
    padding: Longs = ()
    body_subgraph_index: int = 0


class StablehloGatherOptions(Options):
    """Attributes of StablehloGather."""

    offset_dims: Longs = ()
    collapsed_slice_dims: Longs = ()
    start_index_map: Longs = ()
    index_vector_dim: Long = 0
    slice_sizes: Longs = ()
    indices_are_sorted: bool = False


class StablehloWhileOptions(Options):
    """Attributes of StablehloWhile."""

    cond_subgraph_index: int = 0
    body_subgraph_index: int = 0


class StablehloCaseOptions(Options):
    """Attributes of StablehloCase."""

    branch_subgraph_indices: Ints = ()


class CompositeOptions(Options):
    """Attributes of StablehloComposite."""

    name: str = ""
    decomposition_subgraph_index: int = 0
    composite_attributes: Bytes = ()


OPTIONS: dict[int, type[Options]] = {
    1: Conv2DOptions, 2: DepthwiseConv2DOptions, 5: Pool2DOptions, 6: SVDFOptions, 7: RNNOptions,
    8: FullyConnectedOptions, 9: SoftmaxOptions, 10: ConcatenationOptions, 11: AddOptions, 12: FusedOptions,
    13: LocalResponseNormalizationOptions, 14: LSTMOptions, 15: ResizeBilinearOptions, 16: CallOptions,
    17: ReshapeOptions, 19: BlockOptions, 20: EmbeddingLookupSparseOptions, 21: FusedOptions,
    23: GatherOptions, 27: ReducerOptions, 28: AddOptions, 29: FusedOptions, 30: SqueezeOptions,
    31: SequenceRNNOptions, 32: StridedSliceOptions, 35: SplitOptions, 37: CastOptions, 40: ArgOptions,
    49: TransposeConvOptions, 50: SparseToDenseOptions,
    55: ShapeOptions, 57: ArgOptions, 58: FakeQuantOptions, 59: PackOptions, 61: OneHotOptions,
    64: UnpackOptions, 69: BidirectionalSequenceLSTMOptions, 70: BidirectionalSequenceRNNOptions,
    71: UnidirectionalSequenceLSTMOptions, 74: ResizeNearestNeighborOptions, 75: LeakyReluOptions,
    77: MirrorPadOptions, 79: SplitOptions, 80: UniqueOptions, 87: ReverseSequenceOptions, 92: IfOptions,
    93: WhileOptions, 94: BlockOptions, 101: BatchMatMulOptions, 102: CumsumOptions, 103: CallOnceOptions,
    106: Conv3DOptions, 111: VarHandleOptions, 115: BucketizeOptions, 116: GeluOptions,
}  # fmt: skip
"""The tables that have fields, by their place in the union of options."""

OPTIONS_2: dict[int, type[Options]] = {
    7: StablehloScatterOptions, 10: StablehloPadOptions, 13: StablehloReduceWindowOptions,
    15: StablehloWhileOptions, 16: StablehloGatherOptions, 20: ReduceWindowOptions, 21: CompositeOptions,
    23: StablehloCaseOptions,
}  # fmt: skip
"""Those of the second union."""
