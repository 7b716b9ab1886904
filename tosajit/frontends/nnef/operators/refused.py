"""What has no form in TOSA, and why."""

from tosajit.frontends.nnef.operators import refuse

refuse(
    "algo.nonmax_suppress",
    "data decide the shape of its result, and TOSA's are known before a run",
)
refuse(
    "image.max_roi_pool image.avg_roi_pool",
    "data decide its windows, and NNEF states no formula for them",
)
