"""What is known of figures that miss their bounds; each is printed only if its case misses."""

from __future__ import annotations

from validating.figures import Explanation

NETWORKS = (
    Explanation(
        "(ds_cnn|mobilenet_v2|resnet8), ethos-u(65|85).*dedicated",
        """for weights that are buffered, Vela adds to an operator what their transfer takes beyond
        the slack that it estimates for the operator in front, with the maps of both in DRAM. In our
        simulation such a transfer goes on while any unit works. How much of the difference that is
        was measured on fully connected layers alone, where the rule fits to two cycles.""",
    ),
    Explanation(
        "transformer_tiny, ethos-u85",
        """Vela runs ten transpositions, ten copies and a gather as separate operators: 358,340
        of its 692,322 cycles on the U85-1024, 351,441 of 1,205,224 on the U85-256. In our
        programs they are part of how products read their operands and where results are
        written.""",
    ),
    Explanation(
        "transformer_tiny, ethos-u65",
        """Vela keeps the operands of the attention in DRAM (18.5 MB over its port, and products
        wait for it); our plan keeps them in the SRAM.""",
    ),
    Explanation(
        "transformer_tiny, ethos-u55",
        """seven of Vela's operators only broadcast (`…_broadcasted`), and wait for the flash:
        917,504 of its 10,889,092 cycles. In our programs broadcasting is part of how an operand
        is read. Vela leaves GATHER to the CPU (U55, U65) and does not count it; our figure
        includes it.""",
    ),
)

TRAFFIC = (
    Explanation(
        "ds_cnn.*off-chip",
        """plans are for time here: a first layer reads its weights where they are, anew for each
        row of blocks, which its work hides; copied first, as Vela has them, they would be waited
        for. With `objective="traffic"` ds_cnn moves 29,312 bytes in place of 37,248 on the U55,
        55,224 of 77,112 on the U65 and 50,264 of 63,384 on the U85, less than with Vela's
        schedule, and takes 4, 17 and 51 % more cycles.""",
    ),
    Explanation(
        "(shared|dedicated).*scratchpad",
        """weights are loaded ahead of their layer, into buffers that Vela does without.""",
    ),
    Explanation(
        "(ds_cnn|resnet8).*sram-only, scratchpad",
        """the four tables of TOSA's decomposed softmax, of 1,026 bytes each, live in the
        scratchpad; for TFLite's operator Vela has a single table of its own.""",
    ),
    Explanation(
        "transformer_tiny, ethos-u55.*sram-only, scratchpad",
        """GATHER's table of 1 MiB lives in our scratchpad; on the U55, Vela leaves GATHER to
        the CPU and does not count its table.""",
    ),
)

CORES = (
    Explanation(
        "mobilenet_v2, 4 × dot",
        """the four cores wait 69,999 of 490,765 cycles for weights, 79,750 for each other, and 89,615 for
        activations. Weights come ahead of their layers as far as
        the memory has time beside the last tiles of those before.""",
    ),
    Explanation(
        "ResNet-50, 4 × dot",
        """the four cores wait 799,364 of 2,382,668 cycles for weights, and 250,583 for each other. The last
        layers have most weights, which come in tiles, and the memory brings nothing else meanwhile.""",
    ),
    Explanation(
        "mobilenet_v2, 4 × systolic",
        """the four cores wait 65,188 of 1,205,616 cycles for weights, and 85,330 for each other; 322,054 more
        are fills of the arrays.""",
    ),
    Explanation(
        "ResNet-50, 4 × systolic",
        """the four cores wait 594,177 of 2,642,657 cycles for weights, and 163,011 for each other; 734,704
        more are fills of the arrays.""",
    ),
)

SILICON = (
    Explanation(
        "mobilenet_v2, ethos-u85-128",
        """Vela 5.2.0, whose cycles the machine follows within 1 %, itself says 6,286,458 cycles for
        this network on this machine; the Vela of that run printed 4,942,076, for a network of as
        many MACs. The difference fits into what 5.2.0 counts for seven 1 × 1 convolutions of 16 to
        32 channels, 2,161,742 cycles at 19 to 25 % of the array. Both figures cannot be met; we
        hold to the one that can be run again.""",
    ),
    Explanation(
        "AlexNet CONV",
        """the array's mapping is within 10 % on all five layers when a layer is one tile; where it
        is not, the plan's tiles cut filters or rows so that passes over the array are not full.""",
    ),
    Explanation(
        "ResNet-50, (64|32) ",
        """the smallest have the smallest buffers, and the published rates are those of a buffer cut into
        halves, one for weights and one for images (in brackets, as said above): layers whose weights and
        image both need more than a half then read one of them several times. Our plans cut the buffer as
        suits each layer, and move some 80 MB an inference where that rule moves 117: they are better
        plans, on the same array.""",
    ),
)

EYERISS = (
    Explanation(
        "VGG-16 CONV4",
        """the published megabytes of DRAM, with the published zeros in maps and the paper's coding of
        them, are those of weights read three times and inputs sixteen times: whole maps of 28 rows, one
        image, the sums of 32 filters, four channels at a time. That mapping takes 0.95 of the published
        time and has the published accesses of the global buffer; but without the coding, which our rule
        does not know, it moves more words than the one that the rule takes.""",
    ),
)
