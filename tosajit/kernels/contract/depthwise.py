"""The text of depthwise convolution kernels."""

GATHER = """
    n, y, x = load_i64(args, DEPTHWISE_N), load_i64(args, DEPTHWISE_Y), load_i64(args, DEPTHWISE_X)
    columns, channel = load_i64(args, DEPTHWISE_COLUMNS), load_i64(args, DEPTHWISE_CHANNEL)
    channels, lines = load_i64(args, DEPTHWISE_CHANNELS), load_i64(args, DEPTHWISE_LINES)
    args = load_i64(args, DEPTHWISE_ARGS)
    out, blank_byte = load_i64(args, SCRATCH), load_i64(args, BLANK_BYTE)
    blank = out + load_i64(args, BLANK)
    expand, expand_bytes = out + load_i64(args, EXPAND), load_i64(args, EXPAND_BYTES)
    I_h, I_w = load_i64(args, I_H), load_i64(args, I_W)
    K_h = load_i64(args, K_H) + lines - 1
    in_y, in_x, step_y = load_i64(args, IN_Y), load_i64(args, IN_X), load_i64(args, DILATION_Y)
    multiplier, group_bytes = load_i64(args, CHANNEL_MULTIPLIER), load_i64(args, GROUP_BYTES)
    image = load_i64(args, SOURCE) + n * load_i64(args, IN_N)
    rows, steps = local(32), local(32)
    first = min(max(-x, 0), columns)
    last = max(min(I_w - x, columns), first)
    pieces, size = last - first, channels * {bytes}
    if multiplier > 1 or size == in_x:
        size *= pieces
        pieces = min(pieces, 1)
    for top in range(0, K_h, {group}):
        for tap in range({group}):
            line = y + (top + tap) * step_y
            if top + tap >= K_h or line < 0 or line >= I_h:
                store_i64(rows, tap, blank)
                store_i64(steps, tap, 0)
            elif multiplier == 1:
                store_i64(rows, tap, image + line * in_y + (x + first) * in_x + channel * {bytes})
                store_i64(steps, tap, in_x)
            else:
                start, target = image + line * in_y, expand + tap * expand_bytes
                for column in range(last - first):
                    for i in range(channels):
                        value = load_{type}(start + (x + first + column) * in_x, (channel + i) // multiplier)
                        store_{type}(target, column * channels + i, value)
                store_i64(rows, tap, target)
                store_i64(steps, tap, 0)
        if first > 0:
            fill_run(out, blank_byte, first * channels * 4)
        for piece in range(pieces):
            interleave_{type}({taps}, size, out + (first + piece) * channels * 4)
        if last < columns:
            fill_run(out + last * channels * 4, blank_byte, (columns - last) * channels * 4)
        out += group_bytes
"""
"""The input of some pixels of an output row, as [vertical taps / group][x][channels][group]."""

TAP = "reload_i64(rows, {0}) + piece * reload_i64(steps, {0})"

KEEP = """
    n, y, x = load_i64(args, DEPTHWISE_N), load_i64(args, DEPTHWISE_Y), load_i64(args, DEPTHWISE_X)
    columns, channel = load_i64(args, DEPTHWISE_COLUMNS), load_i64(args, DEPTHWISE_CHANNEL)
    channels = load_i64(args, DEPTHWISE_CHANNELS)
    args = load_i64(args, DEPTHWISE_ARGS)
    panel = load_i64(args, SCRATCH)
    table, kept = panel + load_i64(args, TAP_TABLE), panel + load_i64(args, LINE_TABLE)
    I_h, I_w, K_h, K_w = load_i64(args, I_H), load_i64(args, I_W), load_i64(args, K_H), load_i64(args, K_W)
    in_x, step_y, step_x = load_i64(args, IN_X), load_i64(args, DILATION_Y), load_i64(args, DILATION_X)
    pixel = (channels + 15) // 16 * 64
    first = min(max(-x, 0), columns)
    last = max(min(I_w - x, columns), first)
    for ky in range(K_h):
        line = y + ky * step_y
        start = load_i64(args, BLANK)
        if line >= 0 and line < I_h:
            place = line % load_i64(args, LINES)
            start = place * load_i64(args, GROUP_BYTES)
            if reload_i64(kept, place) != n * I_h + line:
                store_i64(kept, place, n * I_h + line)
                row = load_i64(args, SOURCE) + n * load_i64(args, IN_N) + line * load_i64(args, IN_Y)
                row += x * in_x + channel * 4
                fill_run(panel + start, 0, first * pixel)
                if pixel == in_x:
                    copy_run(panel + start + first * pixel, row + first * in_x, (last - first) * pixel)
                else:
                    for column in range(first, last):
                        copy_run(panel + start + column * pixel, row + column * in_x, channels * 4)
                fill_run(panel + start + last * pixel, 0, (columns - last) * pixel)
        for kx in range(K_w):
            store_i64(table, ky * K_w + kx, start + kx * step_x * pixel)
"""
"""The input of some pixels of an output row, as lines of [x][channels] that the next rows find again."""

PROLOGUE = """
    m_lo, m_hi = load_i64(args, M_LO), load_i64(args, M_HI)
    n_lo, n_hi, block = load_i64(args, N_LO), load_i64(args, N_HI), load_i64(args, CHANNEL_BLOCK)
    weight, output, initial = load_i64(args, WEIGHT), load_i64(args, OUTPUT), load_i64(args, INITIAL)
    panel = load_i64(args, SCRATCH)
    words = panel + load_i64(args, WORDS)
    O_h, O_w, pixel_block = load_i64(args, O_H), load_i64(args, O_W), load_i64(args, PIXEL_BLOCK)
    stride_y, stride_x = load_i64(args, STRIDE_Y), load_i64(args, STRIDE_X)
    top, left = load_i64(args, PAD_TOP), load_i64(args, PAD_LEFT)
    out_n, out_y, out_x = load_i64(args, OUT_N), load_i64(args, OUT_Y), load_i64(args, OUT_X)
    reach, step_x, K_w = load_i64(args, REACH), load_i64(args, DILATION_X), load_i64(args, K_W)
    table, taps, parts = panel + load_i64(args, TAP_TABLE), load_i64(args, TAPS), load_i64(args, PARTS)
    pair_bytes = load_i64(args, PAIR_BYTES)
    group_bytes, gather = load_i64(args, GROUP_BYTES), load_i64(args, GATHER)
    job = local(64)
    store_i64(job, DEPTHWISE_ARGS, args)
    fill_run(panel + load_i64(args, BLANK), load_i64(args, BLANK_BYTE) ^ {flip}, load_i64(args, BLANK_BYTES))
"""

LOOPS = """
    for column in range(n_lo, n_hi, block):
        columns = min(block, n_hi - column)
        pixel_bytes = stride_x * columns * 4
        pitch = (columns + 15) // 16 * 16
        b = weight + column // 16 * taps * 64
        store_i64(job, DEPTHWISE_CHANNEL, column)
        store_i64(job, DEPTHWISE_CHANNELS, columns)
        for t in range(taps):
            slice = t // parts
            store_i64(table, t, slice // K_w * group_bytes + slice % K_w * step_x * columns * 4)
        m = m_lo
        while m < m_hi:
            n, y = m // O_h, m % O_h
            lines = 2 if pair_bytes > 0 and y + 1 < O_h and m + 1 < m_hi else 1
            store_i64(job, DEPTHWISE_N, n)
            store_i64(job, DEPTHWISE_Y, y * stride_y - top)
            store_i64(job, DEPTHWISE_LINES, lines)
            for x in range(0, O_w, pixel_block):
                height = min(pixel_block, O_w - x)
                store_i64(job, DEPTHWISE_X, x * stride_x - left)
                store_i64(job, DEPTHWISE_COLUMNS, (height - 1) * stride_x + reach)
                call(gather, job)
                for line in range(lines):
                    first_place = n * out_n + (y + line) * out_y + x * out_x
                    taken = b + line * pair_bytes
"""

NEXT = """
            m += lines
"""

TILE_I8 = """
                    depthwise_i8(panel, pixel_bytes, table, taps, taken, initial + column * 4, words, pitch *
                    4, height, pitch // 16)
"""

TILE_I16 = """
                    for i in range(height):
                        copy_run(words + i * pitch * 8, initial + column * 8, pitch * 8)
                    for t in range(0, taps, 255):
                        some = min(255, taps - t)
                        depthwise_i16(panel, pixel_bytes, table + t * 8, some, taken + t * 64, taps, words,
                                      pitch * 8, height, pitch // 16)
"""

RESCALE = """
                    depthwise_rescale_i8(panel, pixel_bytes, table, taps, taken, initial + column * 4,
                    {where}, height, columns, parameters + column * 16, sign, low, high)
"""

LOOPS_F32 = """
    source, in_n, in_y = load_i64(args, SOURCE), load_i64(args, IN_N), load_i64(args, IN_Y)
    in_x, I_h, I_w = load_i64(args, IN_X), load_i64(args, I_H), load_i64(args, I_W)
    span_y = (load_i64(args, K_H) - 1) * load_i64(args, DILATION_Y)
    kept, kept_lines = panel + load_i64(args, LINE_TABLE), load_i64(args, LINES)
    places = kept + kept_lines * 8
    for t in range(taps):
        store_i64(places, t, t // K_w * load_i64(args, DILATION_Y) * in_y + t % K_w * step_x * in_x)
    for column in range(n_lo, n_hi, block):
        columns = min(block, n_hi - column)
        panels = (columns + 15) // 16
        pitch = panels * 16
        store_i64(job, DEPTHWISE_CHANNEL, column)
        store_i64(job, DEPTHWISE_CHANNELS, columns)
        x = 0
        while x < O_w:
            first = x * stride_x - left
            inside = (I_w - reach - first) // stride_x + 1 if first >= 0 else 0
            height = min(pixel_block, O_w - x)
            if O_w > {short} and inside > 0:
                height = min(height, inside)
            elif O_w > {short} and first < 0:
                height = min(height, (stride_x - 1 - first) // stride_x)
            store_i64(job, DEPTHWISE_X, first)
            store_i64(job, DEPTHWISE_COLUMNS, (height - 1) * stride_x + reach)
            for line in range(kept_lines):
                store_i64(kept, line, -1)
            for m in range(m_lo, m_hi):
                n, y = m // O_h, m % O_h
                line = y * stride_y - top
                behind = (I_h - 1 - span_y - line) * in_y
                if height <= inside and line >= 0 and behind >= (0 if columns == pitch else 64):
                    input, step = source + n * in_n + line * in_y + first * in_x + column * 4, stride_x * in_x
                    offsets = places
                else:
                    store_i64(job, DEPTHWISE_N, n)
                    store_i64(job, DEPTHWISE_Y, line)
                    call(gather, job)
                    input, step, offsets = panel, stride_x * pitch * 4, table
                depthwise_f32(input, step, offsets, taps, weight + column // 16 * taps * 64, initial, words,
                              pitch * 4, height, panels)
                first_place = n * out_n + y * out_y + x * out_x
"""
"""Where no tap of a row of pixels is padding, the input is used in place, else as the kernel of KEEP has it.

Rows follow each other, so that the lines that they share are kept, or in the cache. What is left of a panel
reads up to 64 bytes of the pixel behind, so one has to be there.
"""

NEXT_F32 = """
            x += height
"""
