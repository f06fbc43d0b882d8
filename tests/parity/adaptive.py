"""Adam, AdamW and LAMB as in their papers and MLPerf's rules, in the precision of the parameters.

Options other than the defaults serve as negative controls in tests: each does one thing wrong. Sources: Kingma & Ba,
arXiv:1412.6980; Loshchilov & Hutter, arXiv:1711.05101; You et al., arXiv:1904.00962, with all gradients clipped to a
norm of 1 together, as MLPerf HPC prescribes.
"""

import torch

PUBLISHED_NORM = 1.0  # of all gradients together, at most


class Adaptive:
    """`settings` is a configuration's section "optimizer". `decays` selects the tensors with weight decay, and with
    LAMB's trust ratio. `clips` and `has_ratio` switch parts of LAMB. `root_of_sum` wrongly adds epsilon in the root.
    """

    def __init__(self, parameters, settings, decays=lambda _: True, clips=True, has_ratio=True, root_of_sum=False):
        self.parameters, self.name, self.updates = list(parameters), settings["name"], 0
        self.decay, self.epsilon = settings["weight_decay"], settings["epsilon"]
        self.beta1, self.beta2 = settings["beta1"], settings["beta2"]
        self.largest_norm = settings.get("max_gradient_norm", PUBLISHED_NORM)
        self.decays, self.clips, self.has_ratio, self.root_of_sum = decays, clips, has_ratio, root_of_sum
        self.first = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.second = [torch.zeros_like(parameter) for parameter in self.parameters]

    def step(self, rate):
        """One update, with the gradients stored in the parameters."""
        self.updates += 1
        with torch.no_grad():
            scale = self.gradient_scale()
            for parameter, first, second in zip(self.parameters, self.first, self.second):
                self.update(parameter, first, second, scale, rate)

    def gradient_scale(self):
        if self.name != "lamb" or not self.clips:
            return 1.0
        norm = sum(parameter.grad.square().sum() for parameter in self.parameters).sqrt()
        return 1.0 / max(1.0, norm.item() / self.largest_norm)

    def update(self, parameter, first, second, scale, rate):
        decay = self.decay if self.decays(parameter) else 0.0
        gradient = parameter.grad if scale == 1.0 else parameter.grad * scale
        if self.name == "adam":
            gradient = gradient.add(parameter, alpha=decay)
        first.mul_(self.beta1).add_(gradient, alpha=1 - self.beta1)
        second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        root = second / (1 - self.beta2 ** self.updates)
        root = root.add_(self.epsilon).sqrt_() if self.root_of_sum else root.sqrt_().add_(self.epsilon)
        step = (first / (1 - self.beta1 ** self.updates)).div_(root)
        if self.name != "adam":
            step.add_(parameter, alpha=decay)
        ratio = self.trust_ratio(parameter, step, decay) if self.name == "lamb" else 1.0
        parameter.sub_(step, alpha=rate * ratio)

    def trust_ratio(self, parameter, step, decay):
        lengths = parameter.norm().item(), step.norm().item()
        return lengths[0] / lengths[1] if self.has_ratio and decay != 0 and 0 not in lengths else 1.0
