"""The graph of the object layer: nodes, their names, hooks and versions. No tensor."""
