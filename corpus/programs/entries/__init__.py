"""What can be handed to a converter: signatures, decorators, methods, lambdas."""
