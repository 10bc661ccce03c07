"""What options name: functions, as FILE.py:NAME or module:NAME, and their inputs."""
