"""The paper's experiment as a tool: zoos of models, their predictions, and which metric picks the cheapest one."""
