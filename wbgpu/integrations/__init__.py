"""Where other tools call wbgpu."""
