"""Who else knows an object or a tensor: holders, origins, shared storage, in-place changes."""
