"""What has no form in TOSA, with the reason and what can be done about it."""

from __future__ import annotations

from tosajit.frontends.tensorflow.operators import refuse

refuse(
    "AvgPoolGrad BiasAddGrad BroadcastGradientArgs Conv2DBackpropFilter Conv3DBackpropFilterV2 "
    "DepthwiseConv2dNativeBackpropFilter "
    "DepthwiseConv2dNativeBackpropInput FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 L2Loss "
    "MaxPoolGrad ReluGrad Relu6Grad ResourceApplyAdam ResourceApplyGradientDescent "
    "ResourceApplyKerasMomentum ResourceScatterUpdate RsqrtGrad SigmoidGrad SoftmaxCrossEntropyWithLogits "
    "SparseSoftmaxCrossEntropyWithLogits SqrtGrad StridedSliceGrad TanhGrad",
    "it is an operator of training",
    "export the model for inference",
)
refuse(
    "Enter Exit LoopCond Merge NextIteration RefEnter RefExit RefMerge RefNextIteration RefSwitch Switch",
    "it is control flow of TensorFlow 1, which has no structure",
    "freeze the model with convert_variables_to_constants_v2(function, lower_control_flow=False), "
    "or give the function itself",
)
refuse(
    "RandomNormal RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt StatelessRandomNormalV2 "
    "StatelessRandomUniformV2 TruncatedNormal Multinomial",
    "TOSA has no random numbers",
    "make them an input of the model",
)
refuse(
    "HashTableV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableSizeV2 StringJoin "
    "StringSplit StringSplitV2 StringToHashBucketFast AsString RegexReplace DecodeJpeg DecodePng DecodeRaw "
    "DecodeImage ParseExampleV2 ReadFile",
    "TOSA has no texts and no files",
    "do this outside of the model, and let it begin with numbers",
)
refuse(
    "Bitcast",
    "TOSA cannot see the bits of a number as another type",
    "cast the numbers, or do this outside of the model",
)
refuse(
    "QuantizeAndDequantize",
    "TensorFlow itself has no kernel for it since its version 22 of graphs",
    "use QuantizeAndDequantizeV2",
)
refuse(
    "Where Unique UniqueV2 DynamicPartition DynamicStitch BooleanMask SparseToDense ListDiff",
    "how large its result is depends on the elements of its operand",
    "use a mask, or a fixed number of results",
)
refuse(
    "CrossReplicaSum InfeedDequeueTuple OutputEnqueueTuple IteratorGetNext TPUCompilationResult "
    "TPUExecute TPUExecuteAndUpdateVariables TPUReplicateMetadata TPUReplicatedInput TPUReplicatedOutput "
    "TPUCopyWithLayout TPUGetLayoutOp TPUReshardVariables XlaSharding",
    "it moves data between devices",
    "export the model for one device",
)
