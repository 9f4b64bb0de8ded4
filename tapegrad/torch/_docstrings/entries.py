"""Entries of sections Parameters that several docstrings of a room share, without the defaults.

A room is a package or module of `tapegrad.torch`; the nearest one counts. A docstring that means
something else has an entry of its own. `->` and an annotation: the section Returns of functions
with it.
"""

from __future__ import annotations

ENTRIES = {
    "_ops.create.window_functions": """
**options (object): As of `zeros`: device, layout, pin_memory, requires_grad.
-> Tensor (Tensor): A vector of `window_length` elements.
dtype (dtype): A floating dtype; the default one unless given.
""",
    "_ops.index": """
-> Value (Tensor): A copy of `input` with those elements.
""",
    "_ops.index.scatter": """
index (Tensor): Positions along the dimension, of as many dimensions as `input`.
src (Tensor): The elements, at least as many as positions along each dimension.
""",
    "_ops.index.select": """
index (Tensor): Positions along the dimension: a vector of whole numbers.
source (Tensor): The parts, one for each position, of the dtype of `input`.
value (number or Tensor): The number, or a tensor of no dimensions.
""",
    "_ops.object.memory": """
-> int (int): The number.
""",
    "autograd": """
create_graph (bool): Make the results differentiable, also with respect to tensors from which the
    inputs were computed; else they have no history.
func (callable): Takes the inputs, and returns a tensor or a tuple of tensors.
inputs (Tensor or tuple of Tensor): Where it is differentiated.
retain_graph (bool): Keep the values that the graph holds, for another pass; by default as
    `create_graph`.
strict (bool): Raise where an output does not depend on an input; else its derivative is zero.
v (Tensor or tuple of Tensor): Of the shapes of the inputs; may be left out for a single real
    number, and is 1 then.
""",
    "autograd._nvidia": """
path (path): The file, an SQLite database.
""",
    "autograd._passes": """
create_graph (bool): Make the gradients differentiable.
inputs (Tensor or sequence of Tensor): Add to the `grad` of these tensors alone; those that are no
    leaves retain it from then on.
retain_variables (bool): The old name of `retain_graph`.
""",
    "autograd.anomaly_mode": """
check_nan (bool): Raise RuntimeError in a backward pass for a NaN in a gradient.
""",
    "autograd.function": """
ctx (FunctionCtx): That of the forward.
""",
    "autograd.functional": """
vectorize (bool): All rows in one batched pass, rather than a pass for each.
""",
    "autograd.gradcheck": """
check_batched_grad (bool): Also check batched backward passes.
check_grad_dtypes (bool): Also check the dtypes of gradients.
fast_mode (bool): Check along one random direction rather than along each element.
masked (bool): Ignored.
nondet_tol (float): By how much two passes may differ.
progress (bool or type): A bar (tqdm) after two seconds in a terminal or notebook (None), at once
    (True), never (False), or a class like tqdm.
raise_exception (bool): Whether a disagreement is raised; else the result is False.
""",
    "cuda": """
device (device or int): Not looked at.
""",
    "distributions": """
cache_size ({0, 1}): 1 to keep the last pair of x and y, so that the inverse of that y is that x.
concentration (Tensor or float): The shape parameter, positive.
logits (Tensor or float): Instead of `probs`: log(probs / (1 - probs)).
lower_bound (number or Tensor): The least of them, or what they are above.
probs (Tensor or float): Probabilities, from 0 to 1.
scale (Tensor or float): The factor of draws, positive.
temperature (Tensor or float): Positive.
upper_bound (number or Tensor): The largest of them, or what they are below.
validate_args (bool): Whether parameters and values are checked; by default as
    `set_default_validate_args` says.
""",
    "distributions._gammas": """
df (Tensor or float): The degrees of freedom, positive.
""",
    "distributions._location": """
loc (Tensor or float): The mean.
""",
    "distributions._transform": """
dim (int): The dimension along which x is cut.
tseq (sequence of Transform): One for each part.
""",
    "distributions.constraints": """
cseq (sequence of Constraint): The constraints of the parts.
dim (int): The dimension along which the parts lie.
""",
    "distributions.distribution": """
sample_shape (sequence of int): The shape in front of those of the batch and the event.
""",
    "func": """
argnums (int or tuple of int): The arguments to differentiate with respect to; a tuple gives a
    tuple.
func (callable): Takes the primals.
""",
    "nn": """
**kwargs (object): None are taken.
*args (object): None are taken.
affine (bool): Whether there is a weight and a bias, a number for each channel.
align_corners (bool): Let the corners stay where they are, in the modes that are no neighbours or
    means.
alpha (float): The factor of the mean of the squares.
amount (float): A share of the parts, or, as an int, how many.
batch_first (bool): Take and return (batch, time, size) in place of (time, batch, size).
batch_sizes (Tensor or None): Those of a PackedSequence, None for a tensor.
beta (float): The power.
bias (bool): Whether there is a bias.
ceil_mode (bool): Take also the windows that reach beyond the end.
count_include_pad (bool): Count the zeros of the padding as elements.
cudnn_enabled (bool): Changes nothing: CUDA's kernels are meant.
d_model (int): The size of each step of a sequence.
default_mask (Tensor): The mask so far, of ones and zeros.
device (device or str): The device, the CPU.
dilation (int or tuple of int): The steps between the elements of a window.
dim (int): The dimension along which slices are.
dim_feedforward (int): The size between the two linear layers.
divisor_override (int): The divisor of the sums, in place of the number of elements.
dropout (float): The probability of dropout while training.
dtype (dtype): The dtype of the parameters; the default one unless given.
eps (float): Added to the variance before the root is taken.
error_if_nonfinite (bool): Raise for a norm that is inf or NaN.
foreach (bool): Without effect.
gain (float): A factor on the numbers.
generator (torch.Generator): Where the numbers come from; the default generator unless given.
groups (int): Into how many parts the channels are split, which do not see each other.
hidden_size (int): The size of the state.
ignore_index (int): A class whose elements do not count.
importance_scores (Tensor): The numbers to choose by in place of the parameter, of its shape.
in_channels (int): The channels of inputs.
indices (Tensor): Where they were, as the pooling returned with `return_indices=True`.
inplace (bool): Write into the argument.
input (Tensor): Images, (n, channels, height, width) or (channels, height, width).
input_size (int): The size of each step of inputs.
k (float): The term that is added to it.
kernel_size (int or tuple of int): The sides of a window, for all axes or for each.
key (str): The name.
layer_norm_eps (float): Added to variances in the norms.
margin (float): How far two have to be apart so that they cost nothing.
max_norm (float): The norm to which rows that are used are scaled down first, in place.
module (Module): The module.
momentum (float or None): How far the running statistics move towards those of an input.
n (float or str): The order of the norm.
name (str): The name of the parameter.
nhead (int): The heads of attention.
norm_first (bool): Normalize what is attended and mapped, not the sums.
norm_type (float): The power of that norm.
normalized_shape (int or sequence of int): The sizes of these dimensions.
num_features (int): The channels of inputs.
num_groups (int): Into how many groups the channels are split.
out_channels (int): The channels of outputs.
out_features (int): The size of the last dimension of outputs.
output_padding (int or tuple of int): Elements more at the end of each axis of the output.
output_size (int or tuple of int): The sizes of the result; None stands for that of the input.
p (float): The probability of being dropped, between 0 and 1.
padding (int or tuple of int): That of the convolution: so much is cut off at both ends of each
    axis.
parameters (Tensor or iterable of Tensor): The parameters; those without a gradient do not count.
persistent (bool): Whether `state_dict` has it.
prepend (bool): Call it before the other hooks of this kind.
recurse (bool): Also those of the modules below.
reduce (bool): An older form of `reduction`: False for "none". It warns.
remove_duplicate (bool): Each once, where it has several paths.
return_indices (bool): Return also where the maxima are.
running_mean (Tensor or None): The mean of each channel in earlier batches.
running_var (Tensor or None): The variance of each channel in earlier batches.
scale_factor (float or tuple of float): In place of `size`: what the present one is multiplied by.
scale_grad_by_freq (bool): Divide gradients by how often their row is used.
size (int or tuple of int): The size of the result, one number or one for each spatial dimension.
size_average (bool): An older form of `reduction`: False for the sum. It warns.
sparse (bool): Must be False: there are no sparse tensors.
stride (int or tuple of int): The steps between windows; `kernel_size` unless given.
swap (bool): Count the distance of positive and negative where it is the smaller one.
t (Tensor): The tensor.
target (Tensor): The values to compare with. Another shape broadcasts, with a warning.
tensor (Tensor): The tensor to fill, in place and without history.
track_running_stats (bool): Keep running statistics, by which inputs are normalized in evaluation.
training (bool): Whether a model is trained; where it is not, the input is returned as it is.
value (float): The value.
weight (Tensor): The matrix, (rows, size).
""",
    "nn.attention": """
add_zero_attn (bool): Add a key and a value of zeros.
average_attn_weights (bool): Return the mean of the heads' weights.
bias (bool): Whether linear layers and norms have biases.
dropout_p (float): The probability with which a weight is set to 0.
is_causal (bool): A hint that `attn_mask` is causal.
key_padding_mask (Tensor): Of shape (batch, s), or (s,): True where a key is hidden, or numbers
    that are added.
need_weights (bool): Return also the weights of the keys.
norm (Module): The layer that normalizes the result.
num_layers (int): How many copies of the layer.
""",
    "nn.containers": """
-> Any (object): The value.
-> KeysView[str] (dict_keys): The names, in order.
index (int): The place.
modules (iterable): The modules.
""",
    "nn.convolution": """
kernel_size (int or tuple of int): The sides of the kernel, for all axes or for each.
output_size (int or tuple of int): The height and width of the images.
stride (int or tuple of int): The steps between windows.
""",
    "nn.distance": """
dim (int): The dimension along which vectors lie.
eps (float): The least norm that vectors are divided by.
keepdim (bool): Let the last dimension stay, with the size 1.
p (float): The power of the norm.
x2 (Tensor): Others; the shapes broadcast.
""",
    "nn.dropout": """
-> Any (Tensor): Of the shape of `input`.
inplace (bool): Write into the argument, which is returned.
input (Tensor): Of any shape.
""",
    "nn.embedding": """
_weight (Tensor): The rows; drawn from a normal distribution unless given.
embedding_dim (int): The size of a row.
embeddings (Tensor): The rows, a matrix.
freeze (bool): Whether they are not trained.
include_last_offset (bool): Whether offsets end with the end of the last bag.
mode ({"mean", "sum", "max"}): How the rows of a bag become one.
num_embeddings (int): The number of rows.
padding_idx (int): A row that gets no gradient, and starts as zeros.
""",
    "nn.init": """
-> Tensor (Tensor): The tensor itself.
a (float): The least number.
mean (float): The mean.
std (float): The standard deviation.
""",
    "nn.loss": """
-> Any (Tensor): A number, or with `reduction="none"` the losses in the shape of `input`.
anchor (Tensor): Vectors along the last dimension.
blank (int): The class of no label.
eps (float): Added to each difference, so that the norm has a derivative.
full (bool): Add the constant, half of log(2 pi).
input (Tensor): Numbers of any shape.
label_smoothing (float): How much of the probability, between 0 and 1, is spread evenly over all
    classes.
negative (Tensor): Vectors that should be far from them.
p (float): The power of the norm.
positive (Tensor): Vectors that should be near to them; the shapes broadcast.
reduction ({"mean", "sum", "none"}): Whether to return the mean of the losses, their sum, or each
    of them.
weight (Tensor): A factor for each class; the mean is then divided by the sum of the factors.
zero_infinity (bool): Count an infinite loss, of a target too long for its sequence, as 0.
""",
    "nn.module": """
-> Handle (Handle): Its `remove()` ends that.
-> Self (Module): Itself.
hook (callable): The function to call; it may return other gradients for the inputs.
module (Module or None): The module, or None in the place of one.
name (str): The name.
prefix (str): How all paths begin.
target (str): The path.
""",
    "nn.module.global_hooks": """
hook (callable): The function to call.
""",
    "nn.native": """
-> Any (Tensor): Of the shape and dtype of the input.
bias (Tensor or None): The terms.
input (Tensor): The values to normalize.
momentum (float): How far they move.
training (bool): Normalize by the statistics of the input, towards which the running ones move, in
    place.
weight (Tensor or None): The factors.
""",
    "nn.normalization": """
-> Any (Tensor): Of the shape and dtype of `input`.
bias (bool): Whether there is a bias, if `affine`.
input (Tensor): Of shape (n, channels, ...).
process_group (object): Kept, and without effect.
size (int): The number of channels over which squares are summed.
weight (Tensor): A factor for each channel.
""",
    "nn.padding": """
pad (sequence of int): Widths before and after, of the last dimension first; negative ones crop.
padding (int or iterable of int): The width, or two: before and after. Negative ones crop.
""",
    "nn.parallel": """
device_ids (sequence): Without effect.
dim (int): Without effect.
output_device (object): Without effect.
""",
    "nn.parameter": """
device (device): The device, the CPU.
dtype (dtype): The dtype of its values; the default one unless given.
requires_grad (bool): Whether it is trained.
""",
    "nn.pooling": """
**kwargs (object): Those of PyTorch's function.
*args (object): Those of PyTorch's function.
input (Tensor): Signals, (n, channels, length) or (channels, length).
norm_type (float): The power p of the norm. It is not infinity: use the maxima of absolute values
    for that.
padding (int or tuple of int): How many elements, below all numbers, are put before and after each
    axis.
""",
    "nn.recurrent": """
**kwargs (object): The same by name.
-> PackedSequence (PackedSequence): The sequences.
batch_first (bool): Whether padded tensors are (batch, time, ...), in place of (time, batch, ...).
bias (bool): Whether there are biases.
enforce_sorted (bool): Require that the lengths do not grow; else they are sorted.
hx (Tensor): The state.
input (Tensor): The input.
lengths (sequence of int or Tensor): The lengths of the sequences.
permutation (Tensor or None): The order, None for the present one.
sequences (iterable of Tensor): The sequences, each (length, ...).
""",
    "nn.upsampling": """
-> Any (Tensor): Of shape `(n, channels, *size)`.
downscale_factor (int): The factor r.
groups (int): Into how many groups the channels are split.
input (Tensor): Lines, images or volumes: (n, channels, ...), with one to three spatial dimensions.
recompute_scale_factor (bool): Place elements by the size that results, not by the factor given.
upscale_factor (int): The factor r.
""",
    "nn.utils": """
-> _M (Module): The module itself.
bn (Module): The batch normalization.
bn_b (Tensor or None): Its bias.
bn_eps (float): The term that is added to that.
bn_rm (Tensor): The running mean.
bn_rv (Tensor): The running variance.
bn_w (Tensor or None): The weight of the normalization.
eps (float): The least norm that vectors are divided by.
mask (Tensor): The mask, of ones and zeros, in the shape of the parameter.
max_norm (float): The norm.
n_power_iterations (int): How many steps improve the estimate at a time.
norm_type (float): The power of the norm, which may be inf.
tensor_name (str): The name of the tensor.
transpose (bool): Whether the convolution is a transposed one.
unsafe (bool): Let the shape and the dtype change.
""",
    "nn.utils.prune": """
-> Any (Module): The module itself.
""",
    "optim": """
capturable (bool): Must be False where a step is taken: it is for other devices.
closure (callable): Clears the gradients, computes the loss anew, runs backward, and returns the
    loss.
decoupled_weight_decay (bool): Let the decay scale the parameters, not their gradients, as in
    AdamW.
differentiable (bool): Log the steps on the graph; the parameters then are no leaves.
eps (float): Added to the root.
foreach (bool): Without effect on the numbers.
fused (bool): Without effect on the numbers.
gamma (float): The factor.
hook (callable): The function to call.
last_epoch (int): The epoch before the first, -1 for a new training; another needs the "initial_lr"
    of a loaded state.
lr (float or Tensor): The learning rate: a factor on the steps.
maximize (bool): Go along the gradient, not against it.
optimizer (Optimizer): Whose groups' rates are set.
params (iterable): Leaf tensors, pairs of a name and one, or dicts with "params" and settings of
    their own.
prepend (bool): Call it before the other hooks of this kind.
state_dict (dict): The result of `state_dict`.
weight_decay (float): This times a parameter is added to its gradient.
""",
    "optim.lr_scheduler": """
base_momentum (float or list of float): The least momentum, or one for each group.
cycle_momentum (bool): Let the momentum, or the first of the betas, go the other way.
epoch (int): The epoch, with a warning; the next unless given.
eta_min (float): The least rate.
lr_lambda (callable or list of callable): The function, or one for each group.
max_lr (float or list of float): The largest rate, or one for each group.
max_momentum (float or list of float): The largest momentum, or one for each group.
""",
    "optim.optimizer": """
-> Handle (Handle): Its `remove()` ends that.
""",
    "profiler.profiler": """
key (str): Its name in the file.
use_python_export (bool): Ignored.
""",
    "utils": """
generator (torch.Generator): Draws the order, instead of the default one.
""",
    "utils.checkpoint": """
function (callable): The segment.
""",
    "utils.data": """
data_source (sized): The dataset.
indices (sequence of int): The numbers.
""",
    "signal.windows": """
-> Tensor (Tensor): A vector (M).
M (int): How many points.
device (device): The device, the CPU.
dtype (dtype): A dtype of floats; the default one unless given.
layout (object): The default layout; others are refused.
requires_grad (bool): Whether operations on the result are recorded.
sym (bool): Symmetric, as filters want it; otherwise periodic, as spectra do.
""",
}

__all__ = ["ENTRIES"]
