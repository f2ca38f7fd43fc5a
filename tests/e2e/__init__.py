"""A real browser on the real server with a real engine process: what a person does."""
