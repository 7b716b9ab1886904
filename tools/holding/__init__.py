"""Laws that better machines keep: drawn layers and networks, drawn machines, and what is compared."""
