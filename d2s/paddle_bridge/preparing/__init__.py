"""A captured program made ready to run: passes, constants, memory."""
