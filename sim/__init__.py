"""A simulator of NPUs: machines, the time that programs take on them, and reports.

`machine` says what a machine is, `cost` what a unit of it takes for a tile, `events` and `analytic` what a
whole program takes, `report` shows it. Nothing here knows TOSA.
"""
