"""What a tile of a nest takes on each unit of a machine.

Begin with `costs.py`: what any tile takes, by the verb of its nest. `forms.py` and `geometry.py` say what a
nest asks of units, `support.py` which types units have, `datapath.py` what costs see of a machine. `arrays`
has a module for each kind of MAC array, `ethos` what only Arm's have; `vector.py` is the vector and
reduction units, `transfer.py` the DMA, `reach.py` what a tile touches of each operand, `weights.py` the
sizes of coded weights. Costs know neither programs nor time: of `sim` only `machine` is imported.
"""
