"""Proximal policy optimisation balances a pole that is simulated here.

Categorical policies, entropy, advantages by a backward recursion, minibatches from randperm, a
clipped ratio, a value loss, one optimizer over two heads, orthogonal initialisation, frozen old policy.
"""

import math

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_default_dtype(torch.float64)
torch.manual_seed(42)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class CartPole:
    """A pole on a cart: four numbers are seen, two forces are possible."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.limit = 100

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state.copy()

    def step(self, action):
        x, x_dot, theta, theta_dot = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * theta_dot**2 * math.sin(theta)) / 1.1
        inertia = 0.5 * (4 / 3 - 0.1 * math.cos(theta) ** 2 / 1.1)
        theta_acc = (9.8 * math.sin(theta) - math.cos(theta) * temp) / inertia
        x_acc = temp - 0.05 * theta_acc * math.cos(theta) / 1.1
        change = np.array([x_dot, x_acc, theta_dot, theta_acc])
        self.state = self.state + 0.02 * change
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.209
        return self.state.copy(), 1.0, fallen or self.steps >= self.limit


def layer_init(layer, std=math.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 32)), nn.Tanh()
        )
        self.actor = layer_init(nn.Linear(32, 2), std=0.01)
        self.critic = layer_init(nn.Linear(32, 1), std=1.0)

    def get_value(self, x):
        return self.critic(self.body(x)).squeeze(-1)

    def act(self, x, action=None):
        hidden = self.body(x)
        probs = Categorical(logits=self.actor(hidden))
        if action is None:
            action = probs.sample()
        value = self.critic(hidden).squeeze(-1)
        return action, probs.log_prob(action), probs.entropy(), value


NUM_STEPS, UPDATES, GAMMA, LAMBDA, CLIP = 128, 5, 0.98, 0.95, 0.2
env = CartPole(seed=3)
agent = Agent().to(device)
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, total_iters=UPDATES)
smooth_l1 = nn.SmoothL1Loss()

obs = torch.zeros(NUM_STEPS, 4, device=device)
actions = torch.zeros(NUM_STEPS, dtype=torch.long, device=device)
logprobs, rewards, dones, values = (torch.zeros(NUM_STEPS, device=device) for _ in range(4))

losses, metrics, returns_seen = [], {}, []
state, total = env.reset(), 0.0
for update in range(UPDATES):
    for t in range(NUM_STEPS):
        obs[t] = torch.from_numpy(state)
        with torch.no_grad():
            action, logprob, _, value = agent.act(obs[t])
        actions[t], logprobs[t], values[t] = action, logprob, value
        state, reward, done = env.step(action.item())
        total += reward
        rewards[t] = reward
        dones[t] = float(done)
        if done:
            returns_seen.append(total)
            state, total = env.reset(), 0.0

    with torch.no_grad():
        next_value = agent.get_value(torch.from_numpy(state).to(device))
        advantages = torch.zeros_like(rewards)
        last = 0.0
        for t in reversed(range(NUM_STEPS)):
            following = next_value if t == NUM_STEPS - 1 else values[t + 1]
            delta = rewards[t] + GAMMA * following * (1 - dones[t]) - values[t]
            advantages[t] = last = delta + GAMMA * LAMBDA * (1 - dones[t]) * last
        returns = advantages + values

    for _ in range(3):
        for batch in torch.randperm(NUM_STEPS, device=device).split(32):
            _, new_logprob, entropy, new_value = agent.act(obs[batch], actions[batch])
            logratio = new_logprob - logprobs[batch]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
            adv = advantages[batch]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)).mean()
            v_loss = smooth_l1(new_value, returns[batch])
            loss = pg_loss - 0.01 * entropy.mean() + 0.25 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            losses.append(v_loss.item())
            losses.append(entropy.mean().item())
    scheduler.step()
    spread = returns.var()
    explained = np.nan if spread == 0 else (1 - (returns - values).var() / spread).item()
    metrics[f"update {update}"] = (approx_kl.item(), explained, scheduler.get_last_lr()[0])
    print(f"update {update}: value loss {v_loss.item():.4f}, {len(returns_seen)} falls,", end=" ")
    print(f"the last after {returns_seen[-1]:.0f} steps")
metrics["returns"] = returns_seen
