"""The recorder of a profile: events of functions, their times, memory and stacks."""
