"""Helpers for comparing networks with batch norm: groups of samples, running statistics, arrays by name."""

import torch
from torch.nn import functional


class GhostBatchNorm(torch.nn.BatchNorm2d):
    """Batch norm over groups of `group` samples. Running statistics follow the mean over the groups of a batch."""

    group = 0

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        parts, means, variances = [], [], []
        for part in x.split(self.group):
            mean, variance = torch.zeros_like(self.running_mean), torch.ones_like(self.running_var)
            # With momentum 1, the running statistics become those of this group.
            parts.append(functional.batch_norm(part, mean, variance, self.weight, self.bias, True, 1.0, self.eps))
            means.append(mean)
            variances.append(variance)
        self.running_mean.lerp_(torch.stack(means).mean(0), self.momentum)
        self.running_var.lerp_(torch.stack(variances).mean(0), self.momentum)
        return torch.cat(parts)


def norm_over(group):
    """The class of batch norms over groups of `group` samples; None: over the batch."""
    return torch.nn.BatchNorm2d if group is None else type("Norm", (GhostBatchNorm,), {"group": group})


def norms(model):
    return [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]


def use_statistics_of(model, images):
    """Sets the running statistics close to, but not equal to, those of `images`, as in a trained network."""
    model.train()
    for norm in norms(model):
        norm.momentum = 1.0
    with torch.no_grad():
        model(images)
    for norm in norms(model):
        norm.momentum = 0.1
        deviation = norm.running_var.sqrt()
        norm.running_mean += 0.2 * deviation * torch.randn_like(deviation)
        norm.running_var *= torch.empty_like(deviation).uniform_(0.8, 1.25)


def state_of(model):
    """Copies of parameters and running statistics by name, in float64."""
    return {name: tensor.detach().double().numpy().copy() for name, tensor in model.state_dict().items()
            if not name.endswith("num_batches_tracked")}


def with_biased_variance(model, images, start, result):
    """`result` with running variances that lack the factor n / (n - 1) of a step on `images`, over the whole batch."""
    points, handles = {}, []

    def note(name):
        return lambda _, inputs: points.update({name: inputs[0].numel() // inputs[0].shape[1]})

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            handles.append(module.register_forward_pre_hook(note(f"{name}.running_var")))
    with torch.no_grad():
        model(images)
    for handle in handles:
        handle.remove()
    kept = {name: 0.9 * start[name] for name in points}
    return {name: kept[name] + (value - kept[name]) * (points[name] - 1) / points[name] if name in points else value
            for name, value in result.items()}
