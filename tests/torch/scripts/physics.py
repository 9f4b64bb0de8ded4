"""Burgers' equation by a net that knows the physics: derivatives of the net inside its loss.

autograd.grad with create_graph, Adam and then L-BFGS with a closure, an unknown viscosity as Parameter in log
scale, torch.func for a second opinion, softplus-weighted losses.
"""

import math
from collections import OrderedDict

import numpy as np
import torch
from torch.func import functional_call, hessian, jacrev, vmap

torch.set_default_dtype(torch.float64)
torch.manual_seed(1234)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class DNN(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        layer_list = []
        for i in range(len(layers) - 2):
            layer_list.append((f"layer_{i}", torch.nn.Linear(layers[i], layers[i + 1])))
            layer_list.append((f"activation_{i}", torch.nn.Tanh()))
        layer_list.append(("out", torch.nn.Linear(layers[-2], layers[-1])))
        self.layers = torch.nn.Sequential(OrderedDict(layer_list))

    def forward(self, x):
        return self.layers(x)


class PhysicsInformedNN:
    def __init__(self, X_u, u, X_f, layers):
        self.x_u = torch.tensor(X_u[:, 0:1], requires_grad=True).to(device)
        self.t_u = torch.tensor(X_u[:, 1:2], requires_grad=True).to(device)
        self.x_f = torch.tensor(X_f[:, 0:1], requires_grad=True).to(device)
        self.t_f = torch.tensor(X_f[:, 1:2], requires_grad=True).to(device)
        self.u = torch.tensor(u).to(device)
        self.log_nu = torch.nn.Parameter(torch.tensor([math.log(0.05)], device=device))
        self.dnn = DNN(layers).to(device)
        self.dnn.register_parameter("log_nu", self.log_nu)
        self.history = []

    def net_u(self, x, t):
        return self.dnn(torch.cat([x, t], dim=1))

    def net_f(self, x, t):
        u = self.net_u(x, t)
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_xx = torch.autograd.grad(
            u_x, x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True
        )[0]
        return u_t + u * u_x - torch.exp(self.log_nu) * u_xx

    def loss_func(self):
        loss_u = torch.mean((self.u - self.net_u(self.x_u, self.t_u)) ** 2)
        loss_f = torch.mean(self.net_f(self.x_f, self.t_f) ** 2)
        return loss_u + 0.1 * loss_f

    def train(self):
        optimizer = torch.optim.Adam(self.dnn.parameters(), lr=5e-3)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=20)
        for _ in range(60):
            optimizer.zero_grad()
            loss = self.loss_func()
            loss.backward()
            optimizer.step()
            scheduler.step()
            self.history.append(loss.item())
        self.lbfgs = torch.optim.LBFGS(
            self.dnn.parameters(),
            lr=1.0,
            max_iter=15,
            history_size=10,
            line_search_fn="strong_wolfe",
        )

        def closure():
            self.lbfgs.zero_grad()
            loss = self.loss_func()
            loss.backward()
            self.history.append(loss.item())
            return loss

        self.lbfgs.step(closure)

    def predict(self, X):
        x = torch.tensor(X[:, 0:1], requires_grad=True)
        t = torch.tensor(X[:, 1:2], requires_grad=True)
        self.dnn.eval()
        return self.net_u(x, t).detach().cpu().numpy(), self.net_f(x, t).detach().cpu().numpy()


rng = np.random.default_rng(9)
start = np.column_stack([rng.uniform(-1, 1, 40), np.zeros(40)])
edge = np.column_stack([np.where(rng.random(20) < 0.5, -1.0, 1.0), rng.uniform(0, 1, 20)])
X_u = np.vstack([start, edge])
u = -np.sin(np.pi * X_u[:, :1])
X_f = np.vstack([np.column_stack([rng.uniform(-1, 1, 120), rng.uniform(0, 1, 120)]), X_u])

model = PhysicsInformedNN(X_u, u, X_f, [2, 16, 16, 1])
model.train()
losses, metrics = model.history, {}
u_pred, f_pred = model.predict(X_f)
metrics["predicted"] = (np.abs(u_pred).mean(), np.abs(f_pred).mean())
metrics["viscosity"] = model.log_nu.exp().item()

parameters = {name: p.detach() for name, p in model.dnn.named_parameters()}


def net(point):
    return functional_call(model.dnn, parameters, (point,))[0]


points = torch.tensor(X_f[:20])
first = vmap(jacrev(net))(points)
second = vmap(hessian(net))(points)
nu = parameters["log_nu"].exp()
residual = first[:, 1] + vmap(net)(points) * first[:, 0] - nu * second[:, 0, 0]
assert np.allclose(residual.numpy(), f_pred[:20, 0])
print(f"{len(losses)} evaluations, loss {losses[-1]:.6f}, viscosity {metrics['viscosity']:.5f}")
