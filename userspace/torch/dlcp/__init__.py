# SPDX-License-Identifier: LGPL-2.1-or-later
"""Training over DLCP with PyTorch.

Importing this package registers the backend, so that an ordinary script needs
two words:

    import dlcp
    torch.distributed.init_process_group("dlcp")

which is exact: nothing may be lost. A script without the first runs by `python3
-m dlcp script.py` or, where the package is installed, with PyTorch from 2.5 on as
it is. With bounded loss:

    model = DistributedDataParallel(model)
    model.register_comm_hook(dlcp.LossBound(0.01), dlcp.ddp_hook)

also where averages are distributed, so that replicas differ for 100 steps:

    loss = dlcp.LossBound(0.01, second=0.01, resync=100)
    model.register_comm_hook(loss, dlcp.ddp_hook)
    ...
    optimizer.step()
    loss.resync(optimizer)

or with averages that come, and updates that are made, during the next forward
pass (after DeAR):

    optimizer = dlcp.DeAR(model, torch.optim.SGD(model.parameters(), lr=0.1))

For PyTorch 1.13 and 2.x, tried with 2.6 and 2.14; CPU tensors.
"""

from .backend import register
from .group import DlcpGroup
from .hook import LossBound, Phase, ddp_hook
from .dear import DeAR
from ._lib import DlcpError

register()

__all__ = ["DeAR", "DlcpError", "DlcpGroup", "LossBound", "Phase", "ddp_hook"]
