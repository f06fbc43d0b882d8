"""DLRM in PyTorch: click records, outputs, training steps in fp32 or float64, and the exact ROC AUC.

A result is a dictionary of float64 arrays by name. The architecture is that of Naumov et al., arXiv:1906.00091, with
the dot interaction; parameters have the published names.
"""

import numpy
import torch
from torch.nn import functional
from torch.nn.utils import skip_init

#: A model as in the section "model" of a configuration, and the rows of its tables.
MODEL = {"dense_features": 13, "embedding_width": 16, "bottom": [64, 32, 16], "top": [64, 32, 1]}
TABLES = [2000, 200, 150, 100, 120, 3, 80, 40, 20, 1800, 900, 400, 10, 100, 150, 60, 4, 50, 14, 2000, 1500, 1800, 450,
          110, 50, 30]
FIRST_ID = 1 + MODEL["dense_features"]  # in a record, after label and counts
#: For Adagrad. Of the size of gradients here: with a smaller one, steps of gradients near zero depend on rounding.
EPSILON = 1e-3


def perceptron(widths, last_relu):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*(layers if last_relu else layers[:-1]))


class PairsByHand(torch.autograd.Function):
    """Dot products of pairs of vectors. Their gradient is one matrix product, faster than autograd's."""

    @staticmethod
    def forward(context, vectors, places):
        context.save_for_backward(vectors, places)
        return torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)[:, places]

    @staticmethod
    def backward(context, gradient):
        vectors, places = context.saved_tensors
        count = vectors.shape[1]
        square = gradient.new_zeros(len(gradient), count * count)
        square[:, places] = gradient
        square = square.view(-1, count, count)
        return torch.bmm(square + square.transpose(1, 2), vectors), None


class Dlrm(torch.nn.Module):
    """Logits [N] of dense features [N, dense] and ids [tables, N, lookups]. Tables are uninitialized."""

    by_hand = False  # whether to use PairsByHand

    def __init__(self, model, tables, triangle="lower"):
        super().__init__()
        width, vectors = model["embedding_width"], len(tables) + 1
        self.emb_l = torch.nn.ModuleList(
            skip_init(torch.nn.EmbeddingBag, rows, width, mode="sum", sparse=True) for rows in tables)
        self.bot_l = perceptron([model["dense_features"], *model["bottom"]], last_relu=True)
        self.top_l = perceptron([width + vectors * (vectors - 1) // 2, *model["top"]], last_relu=False)
        indices = torch.tril_indices if triangle == "lower" else torch.triu_indices
        self.register_buffer("pairs", indices(vectors, vectors, -1 if triangle == "lower" else 1), persistent=False)

    def interact(self, bottom, rows):
        vectors = torch.stack([bottom, *(sums.to(bottom.dtype) for sums in rows)], dim=1)
        if self.by_hand:
            products = PairsByHand.apply(vectors, self.pairs[0] * vectors.shape[1] + self.pairs[1])
        else:
            products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return torch.cat([bottom, products], dim=1)

    def forward(self, dense, ids):
        return self.outputs(dense, [table(bags) for table, bags in zip(self.emb_l, ids)])

    def outputs(self, dense, rows):
        """Logits from the tables' sums of rows, [N, width] each."""
        return self.top_l(self.interact(self.bot_l(dense), rows)).squeeze(1)

    def tables(self):
        return [table.weight for table in self.emb_l]

    def layers(self):
        return [*self.bot_l.parameters(), *self.top_l.parameters()]


def random_model(model=MODEL, tables=TABLES):
    """Random weights with logits spread around 0."""
    made = Dlrm(model, tables)
    for table in made.tables():
        torch.nn.init.uniform_(table, -0.7, 0.7)
    for layer in made.layers():
        torch.nn.init.normal_(layer, 0.0, (2.0 / sum(layer.shape)) ** 0.5)
    return made


def model_of(state, dtype, model=MODEL, tables=TABLES, triangle="lower"):
    """The model with these arrays, which must be exactly its own."""
    made = Dlrm(model, tables, triangle).to(dtype)
    made.load_state_dict({name: torch.from_numpy(values) for name, values in state.items()})
    return made


def state_of(model):
    return {name: tensor.detach().double().numpy().copy() for name, tensor in model.state_dict().items()}


def read_records(path):
    """Records [N, 40]: label, counts, ids."""
    return numpy.fromfile(path, dtype="<i4").reshape(-1, FIRST_ID + len(TABLES))


def inputs_of(records, dtype, max_ind_range=0):
    """Dense features, ids and labels of records."""
    features = torch.log(torch.from_numpy(records[:, 1:FIRST_ID].copy()).to(dtype) + 1)
    ids = torch.from_numpy(records[:, FIRST_ID:].astype("int64").T.copy())
    if max_ind_range > 0:
        ids %= max_ind_range
    return features, ids.unsqueeze(2), torch.from_numpy(records[:, 0].copy()).to(dtype)


def roc_auc(scores, labels):
    """Exact share of pairs whose positive record has the higher score. Equal scores count half."""
    negatives, positives = numpy.sort(scores[labels == 0]), scores[labels == 1]
    twice = sum(int(numpy.searchsorted(negatives, positives, side).sum()) for side in ("left", "right"))
    return twice / (2 * len(positives) * len(negatives))


def mean_loss(model, records, dtype, mixed=False):
    """Mean loss. `mixed`: layers and interaction in bfloat16, by PyTorch's automatic mixed precision."""
    features, ids, labels = inputs_of(records, dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
        logits = model(features, ids)
    return functional.binary_cross_entropy_with_logits(logits.to(dtype), labels)


class RowwiseAdagrad:
    """Adagrad with one state value per row, the sum of its gradients' mean squares. PyTorch has no such optimizer."""

    def __init__(self, tables, lr, eps):
        self.tables, self.lr, self.eps = tables, lr, eps
        self.states = [torch.zeros(len(table), 1, dtype=table.dtype) for table in tables]

    def step(self):
        with torch.no_grad():
            for table, state in zip(self.tables, self.states):
                gradient = table.grad.coalesce()
                rows, values = gradient.indices()[0], gradient.values()
                state[rows] += values.square().mean(dim=1, keepdim=True)
                table[rows] -= self.lr * values / (state[rows].sqrt() + self.eps)


class HastyAdagrad(RowwiseAdagrad):
    """Wrong on purpose: squares the gradient of every lookup instead of the sum of a row's gradients."""

    def __init__(self, tables, lr, eps):
        super().__init__(tables, lr, eps)
        self.states = [torch.zeros_like(table) for table in tables]

    def step(self):
        with torch.no_grad():
            for table, state in zip(self.tables, self.states):
                for row, value in zip(table.grad._indices()[0], table.grad._values()):
                    state[row] += value.square()
                gradient = table.grad.coalesce()
                rows = gradient.indices()[0]
                table[rows] -= self.lr * gradient.values() / (state[rows].sqrt() + self.eps)


def make_optimizer(rule, tables, rate):
    if rule == "sgd":
        return torch.optim.SGD(tables, lr=rate)
    made = {"adagrad": torch.optim.Adagrad, "rowwise_adagrad": RowwiseAdagrad, "hasty_adagrad": HastyAdagrad}[rule]
    return made(tables, lr=rate, eps=EPSILON)


class Training:
    """Training steps from the arrays `start`: tables by `rule`, layers by SGD."""

    def __init__(self, start, rule, rate, dtype, triangle="lower", table_rate=None, mixed=False):
        self.model, self.dtype, self.mixed = model_of(start, dtype, triangle=triangle), dtype, mixed
        self.optimizers = [make_optimizer(rule, self.model.tables(), table_rate or rate),
                           torch.optim.SGD(self.model.layers(), lr=rate)]

    def step(self, records):
        """Updates once. Returns the mean loss before the update."""
        self.model.zero_grad(set_to_none=True)
        loss = mean_loss(self.model, records, self.dtype, self.mixed)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.item()

    def least_lead(self, records):
        """The smallest distance of a ReLU input from zero, in standard deviations of its layer's values."""
        leads, handles = [], []
        for module in self.model.modules():
            if isinstance(module, torch.nn.ReLU):
                handles.append(module.register_forward_pre_hook(
                    lambda _, inputs: leads.append((inputs[0].abs().min() / inputs[0].std()).item())))
        with torch.no_grad():
            mean_loss(self.model, records, self.dtype)
        for handle in handles:
            handle.remove()
        return min(leads)


def train(start, blocks, rule, rate, dtype, epochs=1, kind=Training, **options):
    """Weights after `epochs` epochs of steps on these blocks of records, and the mean loss of each epoch."""
    training = kind(start, rule, rate, dtype, **options)
    losses = [numpy.mean([training.step(block) for block in blocks]) for _ in range(epochs)]
    return state_of(training.model) | {"losses": numpy.array(losses)}
