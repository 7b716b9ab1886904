"""What has no form in TOSA, and why."""

from tosajit.frontends.nnef.operators import refuse

refuse(
    "image.max_roi_pool image.avg_roi_pool",
    "data decide its windows, and NNEF states no formula for them",
)
