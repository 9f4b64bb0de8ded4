"""The namespace `torch.optim`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from tapegrad.torch.optim import lr_scheduler as lr_scheduler
from tapegrad.torch.optim import swa_utils as swa_utils
from tapegrad.torch.optim.adadelta import Adadelta as Adadelta
from tapegrad.torch.optim.adafactor import Adafactor as Adafactor
from tapegrad.torch.optim.adagrad import Adagrad as Adagrad
from tapegrad.torch.optim.adam import Adam as Adam
from tapegrad.torch.optim.adam import Adamax as Adamax
from tapegrad.torch.optim.adam import AdamW as AdamW
from tapegrad.torch.optim.adam import NAdam as NAdam
from tapegrad.torch.optim.adam import RAdam as RAdam
from tapegrad.torch.optim.adam import SparseAdam as SparseAdam
from tapegrad.torch.optim.asgd import ASGD as ASGD
from tapegrad.torch.optim.lbfgs import LBFGS as LBFGS
from tapegrad.torch.optim.muon import Muon as Muon
from tapegrad.torch.optim.optimizer import Optimizer as Optimizer
from tapegrad.torch.optim.rmsprop import RMSprop as RMSprop
from tapegrad.torch.optim.rprop import Rprop as Rprop
from tapegrad.torch.optim.sgd import SGD as SGD
