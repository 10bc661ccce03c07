"""What a static loop carries from trip to trip: one carrier for each piece of the state."""
