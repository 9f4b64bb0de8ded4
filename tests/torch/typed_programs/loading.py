"""Datasets, loaders, an optimizer with a scheduler, saving."""

import io
from typing import Any, assert_type

import tapegrad.torch as torch
from tapegrad.torch import Tensor, nn, optim
from tapegrad.torch.optim import lr_scheduler
from tapegrad.torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split


class Squares(Dataset[tuple[Tensor, Tensor]]):
    """Numbers and their squares."""

    def __init__(self, count: int) -> None:
        self.x = torch.arange(count, dtype=torch.float32).reshape(-1, 1)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.x[index] ** 2


data = Squares(10)
assert_type(data[0], tuple[Tensor, Tensor])
train, held_out = random_split(data, [8, 2])
assert_type(train, Subset[tuple[Tensor, Tensor]])
loader = DataLoader(train, batch_size=4, shuffle=True)
assert_type(loader, DataLoader[tuple[Tensor, Tensor]])
assert_type(len(loader), int)
other: DataLoader[tuple[Tensor, ...]] = DataLoader(TensorDataset(data.x, data.x), batch_size=2)

model = nn.Linear(1, 1)
optimizer = optim.Adam(
    [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.1}], lr=1e-3, betas=(0.9, 0.99)
)
scheduler = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
warm = lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
for x, y in loader:
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y)
    assert_type(loss, Tensor)
    loss.backward()
    optimizer.step()
scheduler.step()


def closure() -> Tensor:
    optimizer.zero_grad()
    loss = (model(data.x) ** 2).mean()
    loss.backward()
    return loss


optimizer.step(closure)
rates: list[float] = [float(rate) for rate in scheduler.get_last_lr()]
assert_type(optimizer.param_groups, list[dict[str, Any]])
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
model.load_state_dict(torch.load(file))
