"""Published and closed-form values, computed again by this installation."""
