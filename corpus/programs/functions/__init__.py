"""What a program calls and how it is called: closures, lambdas, methods, recursion, generators."""
