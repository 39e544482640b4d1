"""What tracing says of real rivers and flights, what it costs, and how its page opens: docs/trace.md."""
