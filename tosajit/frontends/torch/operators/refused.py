"""What has no form in TOSA, with the reason and what can be done about it."""

from __future__ import annotations

from tosajit.frontends.torch.operators import refuse

refuse(
    "aten.rand.default aten.randn.default aten.rand_like.default aten.randn_like.default "
    "aten.randint.default aten.randint.low aten.randint_like.default aten.randperm.default "
    "aten.bernoulli.default aten.bernoulli.p aten.multinomial.default aten.normal.Tensor_Tensor "
    "aten.normal_functional.default aten.uniform.default aten.exponential.default aten.poisson.default",
    "TOSA has no random numbers",
    "make them an input of the module",
)
refuse(
    "aten.nonzero.default aten.nonzero_numpy.default aten.masked_select.default aten._unique2.default "
    "aten.unique_dim.default aten.unique_consecutive.default aten.repeat_interleave.Tensor "
    "aten.where.default aten.argwhere.default aten.bincount.default torchvision.nms.default",
    "how large its result is depends on the elements of its operand",
    "use a mask, or a fixed number of results",
)
refuse(
    "aten._upsample_bilinear2d_aa.vec aten._upsample_bilinear2d_aa.default "
    "aten._upsample_bicubic2d_aa.vec aten._upsample_bicubic2d_aa.default",
    "its windows grow as images shrink",
    "antialias=False, or resize outside of the module",
)
refuse(
    "aten.item.default aten._local_scalar_dense.default",
    "it makes a number of Python from an element that is computed",
    "keep it a tensor",
)
refuse(
    "aten.view.dtype",
    "TOSA cannot see the bits of a number as another type",
    "convert the numbers",
)
